"""What runs wait to be told, read from their checkpoints: no code of their workflows is needed for that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import BaseModel
from sqlalchemy import ColumnElement, and_, func, select
from sqlalchemy.orm import Session

from agentic.core.graph.progress import request_id
from agentic.core.types import JSONValue, RunId
from agentic.mappers.checkpoint_statements import PARTS
from agentic.mappers.ledger_reading import IS_OUTERMOST
from agentic.mappers.ledger_sql import RUNS


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRequest:
    """A question that a run waits to be answered.

    Attributes:
        id: What an answer is given to.
        project_id: Owns the run.
        run_id: The outermost run; it is given the answer.
        workflow: Its workflow.
        path: Who asks: the executor, with the sub-workflows around it.
        question: As it is stored.
        response_type: What the answer must be.
        raised_at: In seconds since the epoch.
        deadline: When it expires, in seconds since the epoch; None for never.
    """

    id: str
    project_id: str
    run_id: RunId
    workflow: str
    path: str
    question: JSONValue
    response_type: str
    raised_at: float
    deadline: float | None


def open_requests(
    session: Session, *, project_id: str | None = None, run_id: RunId | None = None
) -> Iterator[OpenRequest]:
    """Yield the open requests of a project, or of one of its runs; without either, all there are."""
    where: list[ColumnElement[bool]] = []
    if project_id is not None:
        where.append(RUNS.c.project_id == project_id)
    if run_id is not None:
        where.append(RUNS.c.run_id == run_id)
    for *run, text in session.execute(_PARKED.where(*where)):
        if text is not None:  # an activation that has gone on since
            yield from _asked(text, *run)


def _asked(text: str, project_id: str, run_id: str, workflow: str) -> Iterator[OpenRequest]:
    progress = _Parked.model_validate_json(text).progress
    for asked in (*progress.asked, *progress.surfaced):
        if asked.answer is None and not asked.has_expired:
            yield OpenRequest(
                id=request_id(RunId(run_id), asked.name),
                project_id=project_id,
                run_id=RunId(run_id),
                workflow=workflow,
                path=asked.path,
                question=asked.question,
                response_type=asked.response_type,
                raised_at=asked.raised_at,
                deadline=asked.deadline,
            )


class _Asked(BaseModel):
    """As :mod:`agentic.core.graph.writing` writes a request."""

    name: str
    path: str
    question: JSONValue
    response_type: str
    raised_at: float
    deadline: float | None
    answer: list[JSONValue] | None
    has_expired: bool


class _Progress(BaseModel):
    asked: list[_Asked]
    surfaced: list[_Asked]


class _Parked(BaseModel):
    progress: _Progress


_NEWER = PARTS.alias("newer")
_NEWEST = (
    select(func.max(_NEWER.c.revision))
    .where(
        _NEWER.c.project_id == PARTS.c.project_id,
        _NEWER.c.run_id == PARTS.c.run_id,
        _NEWER.c.part == PARTS.c.part,
    )
    .scalar_subquery()
)

_PARKED = (
    select(RUNS.c.project_id, RUNS.c.run_id, RUNS.c.workflow, PARTS.c.text)
    .join(PARTS, and_(PARTS.c.project_id == RUNS.c.project_id, PARTS.c.run_id == RUNS.c.run_id))
    .where(
        RUNS.c.finished_at.is_(None),
        IS_OUTERMOST,
        PARTS.c.part.like("parked/%"),
        PARTS.c.revision == _NEWEST,
    )
    .order_by(RUNS.c.created_at, RUNS.c.run_id, PARTS.c.part)
)
"""The activations that are parked in runs that have not ended; those that went on have no text any more."""
