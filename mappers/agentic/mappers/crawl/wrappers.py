"""Wrappers of fields in SQL: learnt in the transaction that ends an execution, shared by the versions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from sqlalchemy import Table, delete, func, select
from sqlalchemy.orm import Session

from agentic.core.pipeline.drift.crawls import load_crawl_watch
from agentic.core.pipeline.drift.learning import load_learnt
from agentic.core.wrappers import Wrapper, WrapperVersionError, decode, encode, merge
from agentic.mappers.content import clean_text
from agentic.mappers.database.inserts import insert_into
from agentic.mappers.tables.columns import utc_now
from agentic.mappers.tables.core import CrawlModel, ExecutionModel, FieldWrapperModel

# Of the table: for its class, each statement takes twice as long to build.
_TABLE = cast("Table", FieldWrapperModel.__table__)
_KEY = ("project_id", "pipeline", "key")

KEPT_WRAPPERS = 500
"""Wrappers of a pipeline that are remembered: each changed rule makes a new one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredWrapper:
    """A wrapper with its place in the store.

    Attributes:
        pipeline: Name of the pipeline.
        key: See :func:`agentic.core.pipeline.drift.learning.wrapper_keys`.
        wrapper: The wrapper.
    """

    pipeline: str
    key: str
    wrapper: Wrapper


def load_wrappers(
    session: Session, project_id: str, pipeline: str, keys: Mapping[str, str]
) -> dict[str, Wrapper]:
    """Return the wrappers of fields that are known, by the name of the field.

    Args:
        session: To read with.
        project_id: Owns the pipeline.
        pipeline: Its name; its versions share the wrappers of fields that they have in common.
        keys: Field -> key, of :func:`agentic.core.pipeline.drift.learning.wrapper_keys`.
    """
    found = _load(session, project_id, pipeline, [*keys.values()])
    return {name: found[key] for name, key in keys.items() if key in found}


def save_wrappers(session: Session, project_id: str, pipeline: str, wrappers: Mapping[str, Wrapper]) -> None:
    """Store wrappers by their keys in place of those that are known; see :func:`load_wrappers`."""
    _write(session, project_id, pipeline, wrappers)
    _forget_oldest(session, project_id, pipeline)


def merge_wrappers(
    session: Session,
    project_id: str,
    pipeline: str,
    wrappers: Mapping[str, Wrapper],
    *,
    replaced: Collection[str] = (),
) -> None:
    """Add to the wrappers that are known, by their keys; see :func:`load_wrappers`.

    Of two transactions that add to one wrapper, the second waits for the first. All rows are locked first, in
    one order.

    Args:
        session: In a transaction.
        project_id: Owns the pipeline.
        pipeline: Its name.
        wrappers: By their keys.
        replaced: Keys of those that take the place of the known ones instead.
    """
    known = _load(session, project_id, pipeline, [*wrappers], is_for_update=True)
    missing = wrappers.keys() - known.keys()
    if missing:
        _begin(session, project_id, pipeline, missing)
        known = _load(session, project_id, pipeline, [*wrappers], is_for_update=True)
    both = {
        key: merge(known[key], one) if key in known and key not in replaced else one
        for key, one in wrappers.items()
    }
    _write(session, project_id, pipeline, both)
    if missing:
        _forget_oldest(session, project_id, pipeline)


def learn_wrappers(session: Session, execution: ExecutionModel, pipeline: str) -> None:
    """Add the lessons of an execution to the wrappers of its pipeline; a second call adds nothing.

    Kinds of pages with an incident are left out. If it was accepted, its pages replace all that
    was known.

    Args:
        session: In the transaction that ends the execution.
        execution: It has ended well, wholly or in part.
        pipeline: Name of its pipeline.
    """
    crawl = session.get(CrawlModel, (execution.project_id, execution.id))
    if crawl is None or crawl.wrappers is None:
        return
    summaries = load_crawl_watch(crawl.watch).summaries()
    learnt = {kind: found for kind, found in load_learnt(crawl.wrappers).items() if kind in summaries}
    wrappers = {key: wrapper for found in learnt.values() for key, wrapper in found.items()}
    replaced = {key for kind, found in learnt.items() if summaries[kind].starts_over for key in found}
    merge_wrappers(session, execution.project_id, pipeline, wrappers, replaced=replaced)
    crawl.wrappers = None


def list_wrappers(session: Session, project_id: str) -> Sequence[StoredWrapper]:
    """Return all wrappers of a project, by pipeline and field."""
    row = _TABLE.c
    query = select(row.pipeline, row.key, row.wrapper).where(row.project_id == project_id)
    found = [
        StoredWrapper(pipeline=pipeline, key=key, wrapper=wrapper)
        for pipeline, key, text in session.execute(query)
        if (wrapper := _read(text)) is not None
    ]
    return sorted(found, key=lambda one: (one.pipeline, one.wrapper.name, one.key))


def _load(
    session: Session, project_id: str, pipeline: str, keys: Sequence[str], *, is_for_update: bool = False
) -> dict[str, Wrapper]:
    row = _TABLE.c
    query = (
        select(row.key, row.wrapper)
        .where(row.project_id == project_id, row.pipeline == pipeline, row.key.in_(keys))
        .order_by(row.key)
    )
    if is_for_update:
        query = query.with_for_update()
    found = {key: _read(text) for key, text in session.execute(query)}
    return {key: wrapper for key, wrapper in found.items() if wrapper is not None}


def _write(session: Session, project_id: str, pipeline: str, wrappers: Mapping[str, Wrapper]) -> None:
    is_postgresql = session.get_bind().dialect.name == "postgresql"
    insert = insert_into(_TABLE, is_postgresql=is_postgresql)
    learned = {"wrapper": insert.excluded.wrapper, "updated_at": insert.excluded.updated_at}
    now = utc_now()
    rows = [
        {
            "project_id": project_id,
            "pipeline": pipeline,
            "key": key,
            "wrapper": clean_text(encode(wrapper).decode()),
            "updated_at": now,
        }
        for key, wrapper in sorted(wrappers.items())  # in one order, so that two that write wait in turn
    ]
    if rows:
        session.execute(insert.on_conflict_do_update(index_elements=_KEY, set_=learned), rows)


def _begin(session: Session, project_id: str, pipeline: str, keys: Iterable[str]) -> None:
    """Add rows without a wrapper; wait for another transaction that adds the same ones."""
    is_postgresql = session.get_bind().dialect.name == "postgresql"
    insert = insert_into(_TABLE, is_postgresql=is_postgresql).on_conflict_do_nothing()
    mine = {"project_id": project_id, "pipeline": pipeline, "wrapper": "", "updated_at": utc_now()}
    session.execute(insert, [{**mine, "key": key} for key in sorted(keys)])


def _read(text: str) -> Wrapper | None:
    """Return a wrapper; None for a new row, and for one of another release: the crawl learns it again."""
    try:
        return decode(text.encode())
    except (WrapperVersionError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _forget_oldest(session: Session, project_id: str, pipeline: str) -> None:
    row = _TABLE.c
    mine = (row.project_id == project_id, row.pipeline == pipeline)
    count = session.scalar(select(func.count()).select_from(_TABLE).where(*mine)) or 0
    if count <= KEPT_WRAPPERS:
        return
    newest = select(row.key).where(*mine).order_by(row.updated_at.desc(), row.key).limit(KEPT_WRAPPERS)
    session.execute(delete(_TABLE).where(*mine, row.key.not_in(session.scalars(newest).all())))
