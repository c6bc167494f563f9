"""Retry failed pages: a new execution continues where their crawl ended."""

from __future__ import annotations

import json
from collections.abc import Iterable

from sqlalchemy import ColumnElement, Insert, and_, case, false, func, insert, literal, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from agentic.core.audit import DecisionKind
from agentic.core.types import EXCLUDED_CLASSES
from agentic.mappers.audit import audit
from agentic.mappers.catalog.dead_letters import CRAWL, dead_letter_id, page_key
from agentic.mappers.catalog.executions import create_execution
from agentic.mappers.database.expressions import OneOf
from agentic.mappers.tables.core import (
    AgentModel,
    CrawlModel,
    DeadLetterModel,
    ExecutionModel,
    FrontierModel,
    FrontierState,
)

MAX_NAMED = 100
"""Maximum number of letters named in one decision."""

_PAGE = ("project_id", "url_key", "url", "depth")
_IS_FAILED = and_(
    FrontierModel.state == FrontierState.FAILED, FrontierModel.failure_class.not_in(EXCLUDED_CLASSES)
)
_RESULT = ("attempts", "failure_class", "message", "content_hash", "tries")


def retry_dead_letters(
    session: Session, execution: ExecutionModel, agent: AgentModel, item_keys: Iterable[str]
) -> tuple[ExecutionModel, int]:
    """Create an execution that fetches the pages of letters; return it, and its number of letters.

    It knows all pages of the crawl where these failed, so that it fetches only these and pages that were
    never fetched. It takes over the letters: they are dropped when it ends and has fetched their pages.

    Args:
        session: In a transaction.
        execution: Where the pages failed; it has succeeded.
        agent: The agent of the execution.
        item_keys: Of the letters, each a page of the crawl; letters that no longer exist are ignored.
    """
    wanted = (
        DeadLetterModel.project_id == execution.project_id,
        DeadLetterModel.execution_id == execution.id,
        DeadLetterModel.step == CRAWL,
        _one_of(DeadLetterModel.item_key, item_keys),
    )
    letters = session.scalars(select(DeadLetterModel).where(*wanted).with_for_update()).all()
    made = create_execution(session, agent)
    keys = [page_key(letter) for letter in letters]
    _copy_pages(session, execution, made, _one_of(FrontierModel.url_key, keys), len(keys))
    named = [dead_letter_id(letter) for letter in letters[:MAX_NAMED]]
    # By statement, because it changes a key.
    session.execute(update(DeadLetterModel).where(*wanted).values(execution_id=made.id))
    what = f"{len(letters)} dead letters of execution {execution.id} are retried by {made.id}"
    audit(
        session,
        execution.project_id,
        DecisionKind.LETTERS_RETRIED,
        execution.id,
        what,
        execution_id=made.id,
        letters=[*named],
    )
    return made, len(letters)


def count_failed_pages(session: Session, execution: ExecutionModel) -> int:
    """Return how many pages of a crawl failed; pages that the site excludes do not count."""
    of_crawl = (FrontierModel.project_id == execution.project_id, FrontierModel.run == execution.id)
    return session.scalar(select(func.count()).select_from(FrontierModel).where(*of_crawl, _IS_FAILED)) or 0


def retry_failed_pages(
    session: Session, execution: ExecutionModel, agent: AgentModel
) -> tuple[ExecutionModel, int]:
    """Create an execution that fetches all failed pages of another; return it, and their number.

    It knows all pages of that crawl, so that it fetches only these and pages that were never fetched. Pages
    that the site excludes are not retried. It takes over the dead letters of these pages.

    Args:
        session: In a transaction.
        execution: Where the pages failed; it has ended.
        agent: Of the execution, in its current state: its configuration says what to read from the pages.
    """
    count = count_failed_pages(session, execution)
    made = create_execution(session, agent)
    _copy_pages(session, execution, made, _IS_FAILED, count)
    session.execute(
        update(DeadLetterModel)
        .where(
            DeadLetterModel.project_id == execution.project_id,
            DeadLetterModel.execution_id == execution.id,
            DeadLetterModel.step == CRAWL,
        )
        .values(execution_id=made.id)
    )
    what = f"{count} failed pages of execution {execution.id} are fetched again by {made.id}"
    audit(
        session,
        execution.project_id,
        DecisionKind.PAGES_RETRIED,
        execution.id,
        what,
        execution_id=made.id,
        pages=count,
    )
    return made, count


def _copy_pages(
    session: Session,
    execution: ExecutionModel,
    made: ExecutionModel,
    is_again: ColumnElement[bool],
    again_count: int,
) -> None:
    """Copy the pages of ``execution`` to ``made``: pages to fetch again as new, the others unchanged."""
    new = literal(FrontierState.NEW, FrontierModel.state.type)
    state = case((FrontierModel.state == FrontierState.TAKEN, new), else_=FrontierModel.state)
    for names, row_state, condition in (
        (_PAGE, new, is_again),  # first, because a crawl claims the oldest pages first
        ((*_PAGE, *_RESULT), state, ~is_again),
    ):
        rows = select(
            *(getattr(FrontierModel, name) for name in names), literal(made.id), row_state, false()
        ).where(FrontierModel.project_id == execution.project_id, FrontierModel.run == execution.id)
        session.execute(
            insert(FrontierModel).from_select(
                [*names, "run", "state", "is_letter"], rows.where(condition).order_by(FrontierModel.id)
            )
        )
    session.execute(_counts(execution, made, again_count))


def _counts(execution: ExecutionModel, made: ExecutionModel, again_count: int) -> Insert:
    """Return the statement that stores the counts of the crawl of ``made``."""
    names = ["project_id", "run", "total", "done", "failed", "excluded", "items"]
    crawl = CrawlModel
    counted = select(
        crawl.project_id,
        literal(made.id),
        crawl.total,
        crawl.done,
        crawl.failed - again_count,
        crawl.excluded,
        crawl.items,
    ).where(crawl.project_id == execution.project_id, crawl.run == execution.id)
    return insert(CrawlModel).from_select(names, counted)


def _one_of(column: InstrumentedAttribute[str], values: Iterable[str]) -> ColumnElement[bool]:
    """Return a condition without a bind parameter for each value, because there may be very many."""
    return column.bool_op("IN")(OneOf(literal(json.dumps(list(values)))))
