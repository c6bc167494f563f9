"""Failed items that need attention: keep, list, drop. Pages can be retried."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence

from sqlalchemy import Executable, delete, select
from sqlalchemy.orm import Session

from agentic.core.audit import DecisionKind
from agentic.core.http import url_key
from agentic.core.ids import SHORT_CHARS
from agentic.core.pipeline import FailedItem, PipelineResult
from agentic.core.types import JSONValue
from agentic.mappers.audit import audit
from agentic.mappers.content import clean, clean_text
from agentic.mappers.database.inserts import insert_into
from agentic.mappers.database.prefixes import begins_with, follows
from agentic.mappers.errors import UnknownDeadLetterError
from agentic.mappers.tables.columns import utc_now
from agentic.mappers.tables.core import DeadLetterModel, ExecutionModel, FrontierModel, FrontierState

BATCH_SIZE = 500
CRAWL = "crawl"
"""Step of the letters of crawled pages."""


def store_dead_letters(session: Session, execution: ExecutionModel, result: PipelineResult) -> int:
    """Keep the dead letters of an execution, of its steps and of its crawl; return how many there are.

    An existing letter gets the newest tries; a letter is dropped if its page was fetched this time.

    Args:
        session: In a transaction.
        execution: Where the items failed.
        result: The result of its pipeline.
    """
    _drop_fetched(session, execution)
    owner = {"project_id": execution.project_id, "execution_id": execution.id, "pipeline": result.pipeline}
    items = (_of_item(item) for item in result.failed_items if item.is_letter)
    count = 0
    for letter in (*items, *_of_pages(session, execution)):
        row = {**owner, **letter, "created_at": utc_now()}
        session.execute(_put(session, row))
        count += 1
    return count


def list_dead_letters(
    session: Session,
    project_id: str,
    limit: int | None = None,
    *,
    execution_id: str | None = None,
    after: DeadLetterModel | None = None,
) -> Sequence[DeadLetterModel]:
    """Return the dead letters of a project, or of one of its executions, the newest first.

    Args:
        session: In a transaction.
        project_id: Owns them.
        limit: Maximum number; None for all.
        execution_id: Only of this execution.
        after: Only letters after this one in that order: the last one of the previous page.
    """
    of = DeadLetterModel
    name = of.execution_id.concat(of.item_key)
    query = select(of).where(of.project_id == project_id)
    if execution_id is not None:
        query = query.where(of.execution_id == execution_id)
    if after is not None:
        last = f"{after.execution_id}{after.item_key}"
        query = query.where(follows(of.created_at, after.created_at, name, last))
    return session.scalars(query.order_by(of.created_at.desc(), name).limit(limit)).all()


def find_dead_letter(session: Session, project_id: str, letter_id: str) -> DeadLetterModel:
    """Return the dead letter with that id, see :func:`dead_letter_id`.

    Raises:
        UnknownDeadLetterError: The project has none, or several with this prefix.
    """
    execution_id, _, item_key = letter_id.partition("-")
    query = select(DeadLetterModel).where(
        DeadLetterModel.project_id == project_id,
        begins_with(DeadLetterModel.execution_id, execution_id),
        DeadLetterModel.item_key.startswith(item_key, autoescape=True),
    )
    found = session.scalars(query.limit(2)).all()
    if len(found) != 1:
        raise UnknownDeadLetterError(letter_id, len(found))
    return found[0]


def dead_letter_id(letter: DeadLetterModel) -> str:
    """Return the id of a letter: the beginnings of its execution's id and its item's key."""
    return f"{letter.execution_id[:SHORT_CHARS]}-{letter.item_key[:8]}"


def page_key(letter: DeadLetterModel) -> str:
    """Return the key of a letter's page in the frontier."""
    return url_key(str(letter.item))


def letter_key(item: JSONValue) -> str:
    """Return the key of a letter by its item; for a page, by its address."""
    return hashlib.sha256(json.dumps(item, sort_keys=True).encode()).hexdigest()


def drop_dead_letters(session: Session, project_id: str, execution_id: str) -> int:
    """Drop the dead letters of an execution; return their number."""
    own = (DeadLetterModel.project_id == project_id, DeadLetterModel.execution_id == execution_id)
    count = len(session.scalars(delete(DeadLetterModel).where(*own).returning(DeadLetterModel.step)).all())
    what = f"{count} dead letters of execution {execution_id} are dropped"
    audit(session, project_id, DecisionKind.LETTERS_DROPPED, execution_id, what, letters=count)
    return count


def _drop_fetched(session: Session, execution: ExecutionModel) -> None:
    """Drop the letters that this execution retried, if it has fetched their pages."""
    letters = [
        letter
        for letter in list_dead_letters(session, execution.project_id, execution_id=execution.id)
        if letter.step == CRAWL
    ]
    for first in range(0, len(letters), BATCH_SIZE):
        some = {page_key(letter): letter for letter in letters[first : first + BATCH_SIZE]}
        fetched = select(FrontierModel.url_key).where(
            FrontierModel.project_id == execution.project_id,
            FrontierModel.run == execution.id,
            FrontierModel.url_key.in_(some),
            FrontierModel.state == FrontierState.DONE,
        )
        for key in session.scalars(fetched).all():
            session.delete(some[key])
    session.flush()


def _of_item(item: FailedItem) -> dict[str, object]:
    return {
        "step": item.step,
        "item_key": letter_key(item.item),
        "item": clean(item.item)[0],
        "failure_class": item.failure_class,
        "message": clean_text(item.message),
        "tries": [record.model_dump(mode="json", exclude_defaults=True) for record in item.attempts],
    }


def _of_pages(session: Session, execution: ExecutionModel) -> Iterator[Mapping[str, object]]:
    query = select(
        FrontierModel.url, FrontierModel.failure_class, FrontierModel.message, FrontierModel.tries
    ).where(
        FrontierModel.project_id == execution.project_id,
        FrontierModel.run == execution.id,
        FrontierModel.state == FrontierState.FAILED,
        FrontierModel.is_letter.is_(True),
    )
    for url, failure_class, message, tries in session.execute(query).yield_per(BATCH_SIZE):
        yield {
            "step": CRAWL,
            "item_key": letter_key(url),
            "item": url,
            "failure_class": failure_class,
            "message": message,
            "tries": tries or [],
        }


def _put(session: Session, row: Mapping[str, object]) -> Executable:
    is_postgresql = session.get_bind().dialect.name == "postgresql"
    insert = insert_into(DeadLetterModel, is_postgresql=is_postgresql).values(row)
    return insert.on_conflict_do_update(
        index_elements=["project_id", "execution_id", "step", "item_key"],
        set_={name: insert.excluded[name] for name in ("failure_class", "message", "tries")},
    )
