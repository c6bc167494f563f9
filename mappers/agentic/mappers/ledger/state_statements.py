"""The statements on checkpoints and events of the ledger, each built once."""

from __future__ import annotations

from sqlalchemy import CompoundSelect, Integer, and_, bindparam, func, insert, null, select, union_all, update

from agentic.mappers.checkpoints.statements import CHECKPOINTS, METADATA, PARTS
from agentic.mappers.database.driver import CompiledStatement
from agentic.mappers.ledger.sql import EVENTS, NOW, bound, of_project, of_run

_LIMIT = bindparam("limit", type_=Integer)
_BATCH = (EVENTS.c.run_id, EVENTS.c.first, EVENTS.c.last, EVENTS.c.text)


def _changes() -> CompoundSelect[*tuple[object, ...]]:
    """Return a row without ``part`` for the newest checkpoint, and a row for each newer part.

    The first row also has the oldest checkpoint.
    """
    newest, oldest = (
        select(of(CHECKPOINTS.c.revision)).where(of_run(CHECKPOINTS)).scalar_subquery()
        for of in (func.max, func.min)
    )
    changed = (
        select(PARTS.c.part, func.max(PARTS.c.revision).label("revision"))
        .where(of_run(PARTS), PARTS.c.revision > bindparam("revision", type_=Integer))
        .group_by(PARTS.c.part)
        .subquery("changed")
    )
    head = select(
        null().label("part"), CHECKPOINTS.c.head.label("text"), oldest.label("oldest"), *METADATA
    ).where(of_run(CHECKPOINTS), CHECKPOINTS.c.revision == newest)
    parts = (
        select(PARTS.c.part, PARTS.c.text, null(), *(null().label(column.name) for column in METADATA))
        .join(changed, and_(PARTS.c.part == changed.c.part, PARTS.c.revision == changed.c.revision))
        .where(of_run(PARTS))
    )
    return union_all(head, parts)


CHANGES = _changes()

ADD_EVENTS = CompiledStatement(insert(EVENTS).values({**bound(EVENTS), "published_at": null()}))
"""Binds its columns by name."""

EVENTS_OF_RUN = CompiledStatement(
    select(*_BATCH)
    .where(of_run(EVENTS), EVENTS.c.last > bindparam("after", type_=Integer))
    .order_by(EVENTS.c.last)
    .limit(_LIMIT)
)

UNPUBLISHED = CompiledStatement(
    select(*_BATCH)
    .where(of_project(EVENTS), EVENTS.c.published_at.is_(None))
    .order_by(EVENTS.c.run_id, EVENTS.c.last)
    .limit(_LIMIT)
)

MARK_PUBLISHED = CompiledStatement(
    update(EVENTS)
    .where(of_run(EVENTS), EVENTS.c.last == bindparam("last"), EVENTS.c.published_at.is_(None))
    .values(published_at=NOW)
)
