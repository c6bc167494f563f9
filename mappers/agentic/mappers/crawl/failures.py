"""The failed pages of a crawl, by reason."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from agentic.core.pipeline.steps.state import FailureTally
from agentic.mappers.crawl.warnings import sentences_in
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


@dataclass(frozen=True, slots=True)
class KnownPage:
    """A page that a crawl knows.

    Attributes:
        url: As it was first found.
        state: Its state in the frontier.
        depth: Number of links from the start.
        failure_class: Why it failed; None for other pages.
        message: The same as a sentence; of a page that was read, the warnings about it.
    """

    url: str
    state: FrontierState
    depth: int
    failure_class: str | None
    message: str | None


def known_pages(
    session: Session,
    project_id: str,
    run: str,
    *,
    states: Collection[FrontierState] = (),
    failure_class: str | None = None,
    limit: int | None = None,
) -> Sequence[KnownPage]:
    """Return pages of a crawl, in the order they were found.

    Args:
        session: The session to read with.
        project_id: Owns the crawl.
        run: The crawl: the id of its execution.
        states: The states to choose; empty for all.
        failure_class: The reason to choose; None for all.
        limit: Maximum number of pages; None for all.
    """
    columns = (
        FrontierModel.url,
        FrontierModel.state,
        FrontierModel.depth,
        FrontierModel.failure_class,
        FrontierModel.message,
    )
    query = select(*columns).where(FrontierModel.project_id == project_id, FrontierModel.run == run)
    if states:
        query = query.where(FrontierModel.state.in_(states))
    if failure_class is not None:
        query = query.where(FrontierModel.failure_class == failure_class)
    rows = session.execute(query.order_by(FrontierModel.id).limit(limit))
    return [
        KnownPage(url, state, depth, failed_with, _message(state, message))
        for url, state, depth, failed_with, message in rows
    ]


def _message(state: FrontierState, message: str | None) -> str | None:
    return "; ".join(sentences_in(message)) or None if state is FrontierState.DONE else message


def _given_up(project_id: str, run: str) -> tuple[ColumnElement[bool], ...]:
    return (
        FrontierModel.project_id == project_id,
        FrontierModel.run == run,
        FrontierModel.state == FrontierState.FAILED,
    )
