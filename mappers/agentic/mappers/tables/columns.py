"""Building blocks of every table: ids, times, constraint names, indexes of some rows."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import (
    ColumnElement,
    Connection,
    DateTime,
    Dialect,
    Float,
    Index,
    MetaData,
    TextClause,
    event,
    literal,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator

ID_LENGTH = 32

# Alembic can only alter or drop named constraints, so the database never chooses a name.
NAMING_CONVENTION = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


class Base(DeclarativeBase):
    """Base of every mapped class, also of plugins: one metadata, one naming convention."""

    metadata = MetaData(naming_convention=NAMING_CONVENTION)


def index_of(rows: TextClause, name: str, *columns: str | ColumnElement[int]) -> Index:
    """Return an index of the rows that match a condition."""
    # With postgresql_where, SQLAlchemy loads that dialect: a twentieth of the start of a command.
    return Index(name, *columns, sqlite_where=rows, info={_ROWS: rows})


_ROWS = "rows"


@event.listens_for(Base.metadata, "before_create")
def _name_rows(metadata: MetaData, connection: Connection, **_: object) -> None:
    if connection.dialect.name != "postgresql":
        return
    for index in (index for table in metadata.tables.values() for index in table.indexes):
        if _ROWS in index.info:
            index.dialect_options["postgresql"]["where"] = index.info[_ROWS]


class UTCDateTime(TypeDecorator[datetime]):
    """An aware datetime, stored and returned in UTC on every database.

    A naive datetime is refused, because its time zone would be unknown later.
    """

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(
        self,
        value: object,
        dialect: Dialect,  # noqa: ARG002 - SQLAlchemy's signature
    ) -> datetime | None:
        """Convert to UTC."""
        if value is None:
            return None
        if not isinstance(value, datetime):
            raise TypeError(f"{type(value).__name__} is not a time; give a datetime")
        if value.tzinfo is None:
            raise ValueError(f"the time {value.isoformat()} has no time zone; use datetime.now(UTC)")
        return value.astimezone(UTC)

    def process_result_value(
        self,
        value: datetime | None,
        dialect: Dialect,  # noqa: ARG002 - SQLAlchemy's signature
    ) -> datetime | None:
        """Add the time zone, which SQLite does not store."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class StoreNow(FunctionElement[datetime]):
    """The database's own clock plus ``offset_s`` seconds, as SQL.

    Leases and heartbeats use only this clock, so the clocks of workers may differ.
    """

    type = UTCDateTime()
    inherit_cache = True

    def __init__(self, offset_s: float | ColumnElement[float] = 0.0) -> None:
        super().__init__(offset_s if isinstance(offset_s, ColumnElement) else literal(offset_s, Float()))


@compiles(StoreNow, "sqlite")
def _store_now_sqlite(element: StoreNow, compiler: SQLCompiler, **kw: object) -> str:
    # In the text form of SQLAlchemy's DateTime (microseconds), so that texts compare like times.
    offset = compiler.process(element.clauses, **kw)
    return f"strftime('%Y-%m-%d %H:%M:%f000', 'now', {offset} || ' seconds')"


@compiles(StoreNow)
def _store_now(element: StoreNow, compiler: SQLCompiler, **kw: object) -> str:
    # Not clock_timestamp(): it changes from row to row, so comparisons with it could not use an index.
    return f"(statement_timestamp() + {compiler.process(element.clauses, **kw)} * interval '1 second')"


def utc_now() -> datetime:
    """Return this machine's time, aware, in UTC."""
    return datetime.now(UTC)
