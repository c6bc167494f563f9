"""The statements that remove runs from the ledger, each built once per kind of database.

Names of runs are bound as a JSON list, ``names``, and ranges of names as a JSON object, ``ranges``, from the
first of each to the end after it: one value for any number of them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal, TypeAlias

from sqlalchemy import (
    ColumnElement,
    Float,
    Integer,
    Table,
    Text,
    and_,
    bindparam,
    delete,
    literal_column,
    null,
    or_,
    select,
)

from agentic.mappers.database.driver import CompiledStatement
from agentic.mappers.database.prefixes import as_pairs, is_among, is_any
from agentic.mappers.ledger.sql import EVENTS, NOW, RUNS, of_project

IS_OLD = RUNS.c.finished_at <= NOW - bindparam("older_than_s", type_=Float)

Fact: TypeAlias = Literal["runs within", "events within", "unpublished"]
"""Queries for runs by ranges of names; for ``runs within`` the second column says whether one is active."""

_LIMIT = bindparam("limit", type_=Integer)
_FACTS: dict[Fact, tuple[Table, ColumnElement[Any]]] = {
    "runs within": (RUNS, RUNS.c.finished_at.is_(None)),
    "events within": (EVENTS, null()),
    "unpublished": (EVENTS, null()),
}


@lru_cache
def in_ranges(fact: Fact, *, is_sqlite: bool, is_ranged: bool) -> CompiledStatement:
    """Return a query for the rows of runs and of the runs within them; it may find others, too.

    Args:
        fact: The fact to read.
        is_sqlite: True for SQLite, False for PostgreSQL.
        is_ranged: False for all rows of the project.
    """
    table, found = _FACTS[fact]
    is_unpublished = EVENTS.c.published_at.is_(None)
    where = [of_project(table), *([is_unpublished] if fact == "unpublished" else [])]
    query = select(table.c.run_id, found.label("fact")).distinct()
    if fact != "unpublished":
        # Not the runs themselves, but the empty rows: see below.
        query = query.where(or_(table.c.run_id.is_(None), table.c.run_id.contains("/", autoescape=True)))
    if not is_ranged:
        return CompiledStatement(query.where(*where))
    ranges = as_pairs(bindparam("ranges", type_=Text), "low", "high", is_sqlite=is_sqlite)
    is_there = and_(*where, table.c.run_id >= ranges.c.low, table.c.run_id < ranges.c.high)
    # An outer join, so that SQLite begins with the ranges and not with all rows of the project. A range
    # without rows gives an empty row: a condition that excludes it would undo that.
    return CompiledStatement(query.select_from(ranges.outerjoin(table, is_there)))


@lru_cache
def named(*, is_sqlite: bool) -> CompiledStatement:
    """Return a query for the existing runs among some."""
    return CompiledStatement(select(RUNS.c.run_id).where(*_of_runs(RUNS, is_sqlite=is_sqlite)))


@lru_cache
def still_old(*, is_sqlite: bool) -> CompiledStatement:
    """Return a query for the runs among some that are still old, and lock them."""
    query = select(RUNS.c.run_id).where(*_of_runs(RUNS, is_sqlite=is_sqlite), IS_OLD)
    return CompiledStatement(query.with_for_update())


@lru_cache
def deciding_events(*, is_sqlite: bool) -> CompiledStatement:
    """Return a query for the batches with decisions that :func:`removal` of events would remove."""
    some = select(EVENTS).where(*_of_runs(EVENTS, is_sqlite=is_sqlite))
    found = some.order_by(*EVENTS.primary_key.columns).limit(_LIMIT).subquery("some").c
    query = select(found.run_id, found.first, found.last, found.text, found.published_at)
    return CompiledStatement(query.where(found.decided_at.is_not(None)))


@lru_cache
def removal(table: Table, *, is_sqlite: bool) -> CompiledStatement:
    """Return a statement that removes up to ``limit`` rows of some runs, the first by key."""
    place: ColumnElement[Any] = literal_column("rowid" if is_sqlite else "ctid")
    some = select(place).select_from(table).where(*_of_runs(table, is_sqlite=is_sqlite))
    some = some.order_by(*table.primary_key.columns).limit(_LIMIT)
    is_one = place.in_(some) if is_sqlite else is_any(place, some)
    return CompiledStatement(delete(table).where(is_one))


def _of_runs(table: Table, *, is_sqlite: bool) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    names = bindparam("names", type_=Text)
    return of_project(table), is_among(table.c.run_id, names, is_sqlite=is_sqlite)
