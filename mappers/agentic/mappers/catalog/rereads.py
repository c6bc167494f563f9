"""Read the stored pages of a crawl again: a new execution reads them with the rules of its agent."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Select, and_, not_, or_
from sqlalchemy.orm import Session

from agentic.core.audit import DecisionKind
from agentic.mappers.audit import audit
from agentic.mappers.catalog.dead_letter_retries import IS_FAILED, move_letters
from agentic.mappers.catalog.executions import create_execution
from agentic.mappers.crawl.copying import PagesAgain, copy_crawl, count_pages
from agentic.mappers.tables.core import AgentModel, CrawlModel, ExecutionModel, FrontierModel, FrontierState

_WAS_FETCHED = and_(
    FrontierModel.page_key.is_not(None), or_(FrontierModel.state != FrontierState.FAILED, IS_FAILED)
)
"""Fetched pages; those that are not done wait to be read again, or could not be read from storage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCount:
    """How many fetched pages of a crawl are stored, and how many are not."""

    stored: int
    unstored: int


def count_stored_pages(
    session: Session, execution: ExecutionModel, bodies: Select[str] | None
) -> StoredCount:
    """Return how many pages of a crawl can be read again from storage.

    Args:
        session: The session to read with.
        execution: Of the crawl.
        bodies: The query for the keys of stored pages; None if the platform stores none.
    """
    fetched = count_pages(session, execution, FrontierModel.state == FrontierState.DONE)
    if bodies is None:
        return StoredCount(stored=0, unstored=fetched)
    is_stored = _is_stored(bodies)
    done = FrontierModel.state == FrontierState.DONE
    return StoredCount(
        stored=count_pages(session, execution, is_stored),
        unstored=count_pages(session, execution, done, not_(is_stored)),
    )


def reread_pages(
    session: Session,
    execution: ExecutionModel,
    agent: AgentModel,
    bodies: Select[str],
    *,
    fetches: bool,
) -> ExecutionModel:
    """Create an execution that reads the stored pages of another again, and return it.

    It knows all pages of that crawl. Pages that are not stored stay as they are.

    Args:
        session: In a transaction.
        execution: Whose crawl fetched the pages; it has ended.
        agent: Of the execution, in its current state: its configuration says what to read from the pages.
        bodies: The query for the keys of stored pages.
        fetches: Whether it also fetches failed pages, pages that were never fetched, and new ones. It takes
            over the dead letters of the pages that it reads or fetches.
    """
    count = count_stored_pages(session, execution, bodies)
    stored = _is_stored(bodies)
    made = create_execution(session, agent)
    again = PagesAgain(
        read=stored,
        fetch=and_(IS_FAILED, not_(stored)) if fetches else None,
        unstored=count.unstored,
        is_offline=not fetches,
    )
    copy_crawl(session, execution, made, again)
    move_letters(session, execution, made, None if fetches else stored)
    what = f"{count.stored} stored pages of execution {execution.id} are read again by {made.id}"
    audit(
        session,
        execution.project_id,
        DecisionKind.PAGES_REREAD,
        execution.id,
        what,
        execution_id=made.id,
        pages=count.stored,
        unstored=count.unstored,
    )
    return made


def is_reread(session: Session, execution: ExecutionModel) -> bool:
    """Whether an execution reads stored pages again."""
    crawl = session.get(CrawlModel, (execution.project_id, execution.id))
    return crawl is not None and crawl.to_reread > 0


def _is_stored(bodies: Select[str]) -> ColumnElement[bool]:
    return and_(_WAS_FETCHED, FrontierModel.page_key.in_(bodies))
