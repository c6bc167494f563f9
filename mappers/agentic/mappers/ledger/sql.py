"""Building blocks of the statements of the ledger."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, cast

from sqlalchemy import ColumnElement, Float, FromClause, String, Table, and_, bindparam, literal_column
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from agentic.mappers.tables.core import ProjectModel
from agentic.mappers.tables.ledger import ActivationModel, EffectModel, RunEventModel, RunModel

PROJECTS = cast("Table", ProjectModel.__table__)
RUNS = cast("Table", RunModel.__table__)
ACTIVATIONS = cast("Table", ActivationModel.__table__)
EFFECTS = cast("Table", EffectModel.__table__)
EVENTS = cast("Table", RunEventModel.__table__)


class StoreTime(FunctionElement[float]):
    """The database's own clock, in seconds since the epoch, as SQL; the same within a statement."""

    type = Float()
    inherit_cache = True


@compiles(StoreTime, "sqlite")
def _store_time_sqlite(element: StoreTime, compiler: SQLCompiler, **kw: object) -> str:  # noqa: ARG001 - SQLAlchemy's signature
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(StoreTime)
def _store_time(element: StoreTime, compiler: SQLCompiler, **kw: object) -> str:  # noqa: ARG001 - SQLAlchemy's signature
    # Not clock_timestamp(): it changes from row to row, so comparisons with it could not use an index.
    return "CAST(EXTRACT(EPOCH FROM statement_timestamp()) AS DOUBLE PRECISION)"


NOW = StoreTime()


def word(state: StrEnum) -> ColumnElement[str]:
    """Return a state as a constant: partial indexes are only used if the statement names their rows."""
    return literal_column(f"'{state.value}'", String())


def bound(table: Table) -> dict[str, ColumnElement[Any]]:
    """Return a bind parameter for each column, with its name."""
    return {column.name: bindparam(column.name, type_=column.type) for column in table.c}


def of_project(table: FromClause) -> ColumnElement[bool]:
    """Return the condition that a row belongs to ``project_id``."""
    return table.c.project_id == bindparam("project_id")


def of_run(table: FromClause) -> ColumnElement[bool]:
    """Return the condition that a row belongs to ``run_id``."""
    return and_(of_project(table), table.c.run_id == bindparam("run_id"))


def of_superstep(table: FromClause) -> ColumnElement[bool]:
    """Return the condition that an activation belongs to ``superstep`` of a run."""
    return and_(of_run(table), table.c.superstep == bindparam("superstep"))


def of_executor(table: FromClause) -> ColumnElement[bool]:
    """Return the condition that an activation belongs to ``executor_id`` in a superstep."""
    return and_(of_superstep(table), table.c.executor_id == bindparam("executor_id"))


def of_activation(table: FromClause) -> ColumnElement[bool]:
    """Return the condition that an activation is the named one."""
    return and_(of_executor(table), table.c.shard == bindparam("shard"))
