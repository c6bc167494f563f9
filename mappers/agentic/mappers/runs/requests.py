"""Open requests of runs, read from their checkpoints without the code of their workflows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from operator import itemgetter
from typing import Any

from pydantic import BaseModel
from sqlalchemy import ColumnElement, Row, and_, func, literal_column, or_, select
from sqlalchemy.orm import Session

from agentic.core.graph.model.progress import request_id
from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger import RunRow
from agentic.core.types import JSONValue, RunId
from agentic.mappers.checkpoints.statements import PARTS
from agentic.mappers.ledger.sql import RUNS
from agentic.mappers.runs.reading import IS_OUTERMOST


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRequest:
    """A question whose answer a run waits for.

    Attributes:
        id: Id to answer to.
        project_id: Owns the run.
        run_id: The outermost run; it receives the answer.
        workflow: Its workflow.
        path: The asking executor, with the sub-workflows around it.
        question: As stored.
        response_type: Required type of the answer.
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
    session: Session,
    *,
    project_id: str | None = None,
    run_id: RunId | None = None,
    after: RunRow | None = None,
) -> Iterator[OpenRequest]:
    """Yield the open requests of a project, or of one of its runs; without either, all.

    Requests of the oldest run come first. They are read lazily, so that a caller can stop after a few.

    Args:
        session: Sees one state of the database.
        project_id: Only of this project.
        run_id: Only of this run.
        after: Only of runs after this one in that order.
    """
    where: list[ColumnElement[bool]] = []
    if project_id is not None:
        where.append(RUNS.c.project_id == project_id)
    if run_id is not None:
        where.append(RUNS.c.run_id == run_id)
    if after is not None:
        created_at, name = RUNS.c.created_at, RUNS.c.run_id
        is_later = or_(created_at > after.created_at, name > after.run_id)
        where += [created_at >= after.created_at, is_later]
    # The index of runs by status is ordered within each status.
    of_each = [_parked(session, [*where, RUNS.c.status == status]) for status in _UNFINISHED]
    for row in merge(*of_each, key=itemgetter(_CREATED, 1)):
        if row.text is not None:  # else it has no question, or has continued since
            yield from _asked(row.text, row.project_id, row.run_id, row.workflow)


def _parked(session: Session, where: Sequence[ColumnElement[bool]]) -> Iterator[Row[*tuple[Any, ...]]]:
    options = {"yield_per": _AT_A_TIME}
    # Closed even if the caller stops early: PostgreSQL keeps the other rows until then.
    with session.execute(_PARKED.where(*where), execution_options=options) as rows:
        yield from rows


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
    """A request as :mod:`agentic.core.graph.checkpoints.state_encoder` writes it."""

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


_UNFINISHED = [status for status in RunStatus if not status.is_final]
_CREATED = 4
_AT_A_TIME = 100

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
    select(RUNS.c.project_id, RUNS.c.run_id, RUNS.c.workflow, PARTS.c.text, RUNS.c.created_at)
    .select_from(RUNS)
    # Outer, so that SQLite begins with the runs; a run without questions gives a row without text.
    .outerjoin(
        PARTS,
        and_(
            PARTS.c.project_id == RUNS.c.project_id,
            PARTS.c.run_id == RUNS.c.run_id,
            PARTS.c.part.like("parked/%"),
            PARTS.c.revision == _NEWEST,
        ),
    )
    .where(IS_OUTERMOST, RUNS.c.superstep > literal_column("0"))  # a run that asks has ended a superstep
    .order_by(RUNS.c.created_at, RUNS.c.run_id, PARTS.c.part)
)
"""The parked activations of open runs; continued ones have no text."""
