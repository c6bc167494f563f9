"""Retry failed pages: a new execution continues where their crawl ended."""

from __future__ import annotations

import json
from collections.abc import Iterable

from sqlalchemy import ColumnElement, and_, literal, or_, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from agentic.core.audit import DecisionKind
from agentic.core.pipeline.drift.crawls import load_crawl_watch
from agentic.core.types import EXCLUDED_CLASSES
from agentic.mappers.audit import audit
from agentic.mappers.catalog.dead_letters import CRAWL, dead_letter_id, letter_key, page_key
from agentic.mappers.catalog.executions import create_execution
from agentic.mappers.crawl.copying import PagesAgain, copy_crawl, count_pages
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

IS_FAILED = and_(
    FrontierModel.state == FrontierState.FAILED, FrontierModel.failure_class.not_in(EXCLUDED_CLASSES)
)
"""Failed pages, without those that the site excludes."""


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
    copy_crawl(session, execution, made, PagesAgain(fetch=_one_of(FrontierModel.url_key, keys)))
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
    """Return how many pages of a crawl failed, or were held; pages that the site excludes do not count."""
    return count_pages(session, execution, _to_retry(session, execution))


def retry_failed_pages(
    session: Session, execution: ExecutionModel, agent: AgentModel
) -> tuple[ExecutionModel, int]:
    """Create an execution that fetches all failed and held pages of another; return it, and their number.

    It knows all pages of that crawl, so that it fetches only these and pages that were never fetched. Pages
    that the site excludes are not retried; pages that raised an alarm of drift are. It takes over the dead
    letters of these pages.

    Args:
        session: In a transaction.
        execution: Where the pages failed; it has ended.
        agent: Of the execution, in its current state: its configuration says what to read from the pages.
    """
    count = count_failed_pages(session, execution)
    made = create_execution(session, agent)
    copy_crawl(session, execution, made, PagesAgain(fetch=_to_retry(session, execution)))
    move_letters(session, execution, made)
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


def move_letters(
    session: Session,
    execution: ExecutionModel,
    made: ExecutionModel,
    which: ColumnElement[bool] | None = None,
) -> None:
    """Give the dead letters of pages of ``execution`` to ``made``, which works on these pages again.

    Args:
        session: In a transaction.
        execution: Where the pages failed.
        made: The other execution.
        which: The pages; all of them if omitted.
    """
    wanted = [
        DeadLetterModel.project_id == execution.project_id,
        DeadLetterModel.execution_id == execution.id,
        DeadLetterModel.step == CRAWL,
    ]
    if which is not None:
        mine = (FrontierModel.project_id == execution.project_id, FrontierModel.run == execution.id)
        urls = session.scalars(select(FrontierModel.url).where(*mine, IS_FAILED, which))
        wanted.append(_one_of(DeadLetterModel.item_key, map(letter_key, urls)))
    session.execute(update(DeadLetterModel).where(*wanted).values(execution_id=made.id))


def _to_retry(session: Session, execution: ExecutionModel) -> ColumnElement[bool]:
    """Return the condition for failed pages, held pages, and pages that raised the alarm."""
    crawl = session.get(CrawlModel, (execution.project_id, execution.id))
    suspects = load_crawl_watch(crawl.watch).suspects if crawl is not None and crawl.holds else ()
    is_held = FrontierModel.state == FrontierState.HELD
    return or_(IS_FAILED, is_held, _one_of(FrontierModel.url_key, suspects))


def _one_of(column: InstrumentedAttribute[str], values: Iterable[str]) -> ColumnElement[bool]:
    """Return a condition without a bind parameter for each value, because there may be very many."""
    return column.bool_op("IN")(OneOf(literal(json.dumps(list(values)))))
