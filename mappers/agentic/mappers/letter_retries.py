"""Dead letters tried again: a new execution goes on where the crawl that gave their pages up had ended."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from sqlalchemy import ColumnElement, Insert, case, false, insert, literal, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from agentic.core.audit import DecisionKind
from agentic.mappers.audit import audit
from agentic.mappers.dead_letters import CRAWL, letter_id, page_key
from agentic.mappers.executions import create_execution
from agentic.mappers.models import (
    AgentModel,
    CrawlModel,
    DeadLetterModel,
    ExecutionModel,
    FrontierModel,
    FrontierState,
)
from agentic.mappers.one_of import OneOf

MAX_NAMED = 100
"""Letters that one decision names."""

_PAGE = ("project_id", "url_key", "url", "depth")
_RESULT = ("attempts", "failure_class", "message", "content_hash", "tries")


def retry_letters(
    session: Session, execution: ExecutionModel, agent: AgentModel, item_keys: Iterable[str]
) -> tuple[ExecutionModel, int]:
    """Make an execution that is to fetch the pages of letters; return it, and how many letters it has.

    It knows all pages of the crawl that gave these up, so that only they, and what nobody has fetched, are
    left to it. The letters become its own: they are dropped when it ends and has fetched their pages.

    Args:
        session: In a transaction.
        execution: Gave the pages up, and has succeeded.
        agent: Of the execution.
        item_keys: Of the letters, each a page of the crawl; those that are gone by now are left out.
    """
    wanted = (
        DeadLetterModel.project_id == execution.project_id,
        DeadLetterModel.execution_id == execution.id,
        DeadLetterModel.step == CRAWL,
        _one_of(DeadLetterModel.item_key, item_keys),
    )
    letters = session.scalars(select(DeadLetterModel).where(*wanted).with_for_update()).all()
    made = create_execution(session, agent)
    _copy_pages(session, execution, made, [page_key(letter) for letter in letters])
    named = [letter_id(letter) for letter in letters[:MAX_NAMED]]
    # By statement, as it changes a key.
    session.execute(update(DeadLetterModel).where(*wanted).values(execution_id=made.id))
    what = f"{len(letters)} dead letters of execution {execution.id} are tried again by {made.id}"
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


def _copy_pages(
    session: Session, execution: ExecutionModel, made: ExecutionModel, again: Sequence[str]
) -> None:
    """Let ``made`` know the pages of ``execution``: those in ``again`` as new, the others as they stand."""
    is_again = _one_of(FrontierModel.url_key, again)
    new = literal(FrontierState.NEW, FrontierModel.state.type)
    state = case((FrontierModel.state == FrontierState.TAKEN, new), else_=FrontierModel.state)
    for names, row_state, condition in (
        (_PAGE, new, is_again),  # first, as a crawl takes the oldest pages first
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
    session.execute(_counts(execution, made, len(again)))


def _counts(execution: ExecutionModel, made: ExecutionModel, again_count: int) -> Insert:
    """Return what writes down how the crawl of ``made`` stands."""
    names = ["project_id", "run", "total", "done", "failed"]
    crawl = CrawlModel
    counted = select(
        crawl.project_id, literal(made.id), crawl.total, crawl.done, crawl.failed - again_count
    ).where(crawl.project_id == execution.project_id, crawl.run == execution.id)
    return insert(CrawlModel).from_select(names, counted)


def _one_of(column: InstrumentedAttribute[str], values: Iterable[str]) -> ColumnElement[bool]:
    """Return a condition without a bind parameter for each value: there may be a great many."""
    return column.bool_op("IN")(OneOf(literal(json.dumps(list(values)))))
