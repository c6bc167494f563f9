"""The statements behind :mod:`agentic.mappers.checkpoints.rows`, each built once."""

from __future__ import annotations

from typing import Any, cast

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    CompoundSelect,
    Delete,
    FromClause,
    Insert,
    Integer,
    Select,
    String,
    Subquery,
    Table,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal,
    null,
    select,
    tuple_,
    type_coerce,
    union_all,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from agentic.mappers.database.driver import CompiledStatement
from agentic.mappers.tables.core import RunCheckpointModel, RunPartModel

CHECKPOINTS = cast("Table", RunCheckpointModel.__table__)
PARTS = cast("Table", RunPartModel.__table__)

METADATA = (
    CHECKPOINTS.c.run_id,
    CHECKPOINTS.c.revision,
    CHECKPOINTS.c.superstep,
    # As text: an unknown word from a newer version breaks one checkpoint, not the whole statement.
    type_coerce(CHECKPOINTS.c.status, String).label("status"),
    CHECKPOINTS.c.workflow_id,
    CHECKPOINTS.c.version,
    CHECKPOINTS.c.schema_version,
    CHECKPOINTS.c.saved_at,
    CHECKPOINTS.c.forked_from,
    CHECKPOINTS.c.size_bytes,
)
"""The columns of a checkpoint's metadata, by the names of its fields."""

REVISION = bindparam("revision", type_=Integer)
FIRST = bindparam("first", type_=Integer)
OLDEST = bindparam("oldest", type_=Integer)


class ByteCount(FunctionElement[int]):
    """Length of a text in UTF-8."""

    type = BigInteger()
    inherit_cache = True


@compiles(ByteCount)
def _byte_count(element: ByteCount, compiler: SQLCompiler, **kw: object) -> str:
    return f"octet_length({compiler.process(element.clauses, **kw)})"


@compiles(ByteCount, "sqlite")
def _byte_count_sqlite(element: ByteCount, compiler: SQLCompiler, **kw: object) -> str:
    return f"length(CAST({compiler.process(element.clauses, **kw)} AS BLOB))"


class JoinByHash(FunctionElement[str]):
    """Select this before the joins of a transaction.

    PostgreSQL counts new rows only after a minute or two. Until then it expects one row per run and compares
    each row with each in a join: with 2,000 parts, this takes minutes.
    """

    type = String()
    inherit_cache = True


compiles(JoinByHash)(lambda *_, **__: "set_config('enable_nestloop', 'off', true)")
compiles(JoinByHash, "sqlite")(lambda *_, **__: "NULL")


def _of_run(table: FromClause) -> ColumnElement[bool]:
    return and_(table.c.project_id == bindparam("project_id"), table.c.run_id == bindparam("run_id"))


def _parts_at(revision: ColumnElement[int]) -> Subquery:
    """Return the parts at a revision: the newest row of each, unless it marks the part as removed."""
    seen = (
        select(PARTS.c.part, func.max(PARTS.c.revision).label("revision"))
        .where(_of_run(PARTS), PARTS.c.revision <= revision)
        .group_by(PARTS.c.part)
        .subquery("seen")
    )
    return (
        select(PARTS.c.part, PARTS.c.text)
        .join(seen, and_(PARTS.c.part == seen.c.part, PARTS.c.revision == seen.c.revision))
        .where(_of_run(PARTS), PARTS.c.text.is_not(None))
        .subquery("parts")
    )


def _whole(revision: ColumnElement[int]) -> CompoundSelect[*tuple[object, ...]]:
    """Return one row without ``part`` with the head as ``text``, and one row per part.

    One statement sees one state of the database at any isolation level.
    """
    head = select(null().label("part"), CHECKPOINTS.c.head.label("text"), *METADATA)
    parts = _parts_at(revision)
    return union_all(
        head.where(_of_run(CHECKPOINTS), CHECKPOINTS.c.revision == revision),
        select(parts.c.part, parts.c.text, *(null().label(column.name) for column in METADATA)),
    )


def _end_of_run(order: ColumnElement[int]) -> Select[int]:
    return select(CHECKPOINTS.c.revision).where(_of_run(CHECKPOINTS)).order_by(order).limit(1)


def _add_checkpoint() -> Insert:
    # Locked, so that a removal of the run waits until the new one can be removed too.
    newest = _end_of_run(CHECKPOINTS.c.revision.desc()).with_for_update(read=True, key_share=True)
    values = [bindparam(column.name, type_=column.type) for column in CHECKPOINTS.c]
    is_next = func.coalesce(newest.scalar_subquery(), 0) == REVISION - 1
    return insert(CHECKPOINTS).from_select(CHECKPOINTS.c.keys(), select(*values).where(is_next))


def _copy_checkpoint() -> Insert:
    parts = _parts_at(REVISION)
    parts_size = select(func.coalesce(func.sum(ByteCount(parts.c.text)), 0)).scalar_subquery()
    changed: dict[str, ColumnElement[Any]] = {
        "run_id": bindparam("new_run_id", type_=CHECKPOINTS.c.run_id.type),
        "revision": literal(1),
        "forked_from": bindparam("origin", type_=CHECKPOINTS.c.forked_from.type),
        "size_bytes": ByteCount(CHECKPOINTS.c.head) + parts_size,
    }
    values = [changed.get(column.name, column) for column in CHECKPOINTS.c]
    taken = CHECKPOINTS.alias("taken")
    is_taken = exists().where(
        taken.c.project_id == bindparam("project_id"), taken.c.run_id == bindparam("new_run_id")
    )
    origin = select(*values).where(_of_run(CHECKPOINTS), CHECKPOINTS.c.revision == REVISION, ~is_taken)
    return insert(CHECKPOINTS).from_select(CHECKPOINTS.c.keys(), origin)


def _copy_parts() -> Insert:
    parts = _parts_at(REVISION)
    values = {
        "project_id": bindparam("project_id", type_=PARTS.c.project_id.type),
        "run_id": bindparam("new_run_id", type_=PARTS.c.run_id.type),
        "part": parts.c.part,
        "revision": literal(1),
        "text": parts.c.text,
    }
    return insert(PARTS).from_select(list(values), select(*values.values()))


def _remove_replaced() -> Delete:
    old, new = PARTS.alias("old"), PARTS.alias("new")
    changed = select(new.c.part).where(_of_run(new), new.c.revision > OLDEST, new.c.revision <= FIRST)
    later = func.lead(old.c.revision).over(partition_by=old.c.part, order_by=old.c.revision)
    rows = (
        select(old.c.part, old.c.revision, later.label("later"))
        .where(_of_run(old), old.c.revision <= FIRST, old.c.part.in_(changed))
        .subquery("rows")
    )
    replaced = select(rows.c.part, rows.c.revision).where(rows.c.later.is_not(None))
    return delete(PARTS).where(_of_run(PARTS), tuple_(PARTS.c.part, PARTS.c.revision).in_(replaced))


_newest = select(func.max(CHECKPOINTS.c.revision)).where(_of_run(CHECKPOINTS))

PREPARE_JOINS = select(JoinByHash())
PREPARE_HOT_JOINS = CompiledStatement(PREPARE_JOINS)

NEWEST_REVISION = CompiledStatement(_newest)

OLDEST_REVISION = CompiledStatement(_end_of_run(CHECKPOINTS.c.revision).with_for_update(key_share=True))
"""Removals lock it first: they run one by one, and saves never wait for them."""

ADD_CHECKPOINT = CompiledStatement(_add_checkpoint())
"""Binds its columns by name; adds nothing unless ``revision`` is the next one."""

ADD_NEXT_CHECKPOINT = CompiledStatement(insert(CHECKPOINTS))
"""Binds its columns by name."""

ADD_PART = CompiledStatement(insert(PARTS))
"""Binds its columns by name."""

AT_REVISION = _whole(REVISION)
LATEST = _whole(_newest.scalar_subquery())
READ_LATEST = CompiledStatement(LATEST)

LOCK_CHECKPOINT = (
    select(*METADATA)
    .where(_of_run(CHECKPOINTS), CHECKPOINTS.c.revision == REVISION)
    .with_for_update(read=True)
)
"""Protects a checkpoint and its parts from removal while it is copied."""

COPY_CHECKPOINT = _copy_checkpoint()
"""Copies ``origin`` to its fork ``new_run_id``; copies nothing if the fork has checkpoints."""

COPY_PARTS = _copy_parts()

REMOVE_OLDER = CompiledStatement(
    delete(CHECKPOINTS).where(_of_run(CHECKPOINTS), CHECKPOINTS.c.revision < FIRST)
)

REMOVE_REPLACED = CompiledStatement(_remove_replaced())
"""Parts hidden from all checkpoints from ``first`` on by a later row at or below ``first``.

At or below ``oldest`` each part has only one row already, so only parts that changed later are checked.
"""

REMOVE_GONE = CompiledStatement(
    delete(PARTS).where(
        _of_run(PARTS), PARTS.c.revision >= OLDEST, PARTS.c.revision <= FIRST, PARTS.c.text.is_(None)
    )
)
"""Marks of removed parts. Remove the hidden parts first: they would reappear otherwise."""

REMOVE_RUN = CompiledStatement(delete(CHECKPOINTS).where(_of_run(CHECKPOINTS)))
REMOVE_PARTS = CompiledStatement(delete(PARTS).where(_of_run(PARTS)))
