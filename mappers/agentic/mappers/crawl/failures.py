"""The failed pages of a crawl, by reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from agentic.core.pipeline.steps.state import FailureTally
from agentic.mappers.tables.core import FrontierModel, FrontierState


@dataclass(frozen=True, slots=True)
class GivenUpPage:
    """A failed page, with a readable reason."""

    url: str
    message: str


def failure_tallies(session: Session, project_id: str, run: str, examples: int) -> list[FailureTally]:
    """Return the failure classes of a crawl, by name, each with up to ``examples`` messages of its pages."""
    given_up, word = _given_up(project_id, run), FrontierModel.failure_class
    counted = session.execute(select(word, func.count()).where(*given_up).group_by(word).order_by(word)).all()
    return [
        FailureTally(
            failure_class=name or "error",
            count=count,
            examples=tuple(page.message for page in failed_pages(session, project_id, run, name, examples)),
        )
        for name, count in counted
    ]


def failed_pages(
    session: Session, project_id: str, run: str, failure_class: str | None, limit: int | None = None
) -> Sequence[GivenUpPage]:
    """Return up to ``limit`` pages that failed for one reason, in the order they were found."""
    of_class = FrontierModel.failure_class == failure_class
    query = select(FrontierModel.url, FrontierModel.message).where(*_given_up(project_id, run), of_class)
    found = session.execute(query.order_by(FrontierModel.id).limit(limit)).all()
    return [GivenUpPage(url, message or "") for url, message in found]


def _given_up(project_id: str, run: str) -> tuple[ColumnElement[bool], ...]:
    return (
        FrontierModel.project_id == project_id,
        FrontierModel.run == run,
        FrontierModel.state == FrontierState.FAILED,
    )
