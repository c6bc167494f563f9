"""Records as rows of a table of the user's own: typed columns, one row for each key."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from sqlalchemy import (
    URL,
    BigInteger,
    Boolean,
    Connection,
    Date,
    DateTime,
    Double,
    Engine,
    MetaData,
    String,
    Table,
    Text,
    and_,
    create_engine,
    delete,
    event,
    inspect,
    make_url,
    or_,
    types,
)
from sqlalchemy import Column as SqlColumn
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.schema import CreateColumn

from agentic.executors.exports.columns import Column, ColumnType
from agentic.executors.exports.errors import ExportError
from agentic.executors.exports.rows import Record, in_groups

SOURCE = "_source"
"""Column with the name of the pipeline or table that a row comes from."""

KEY = "_key"
"""Column with the key of a row; unique for its source."""

BATCH_ROWS = 500
MAX_KEY = 400
"""Characters of a key; a longer one is shortened and gets its hash."""

_SCHEMES = frozenset({"postgresql", "postgres", "sqlite", "mysql", "mariadb", "mssql", "oracle", "duckdb"})
_URL = re.compile(r"([a-z]+)(\+[a-z0-9_]+)?://.*", re.IGNORECASE | re.DOTALL)
_TYPES: Mapping[ColumnType, types.TypeEngine[Any]] = {
    ColumnType.BOOLEAN: Boolean(),
    ColumnType.INTEGER: BigInteger(),
    ColumnType.NUMBER: Double(),
    ColumnType.DATE: Date(),
    ColumnType.DATETIME: DateTime(),
    ColumnType.UTC_DATETIME: DateTime(timezone=True),
    ColumnType.TEXT: Text(),
}
_FITS: Mapping[ColumnType, tuple[type[types.TypeEngine[Any]], ...]] = {
    ColumnType.BOOLEAN: (types.Boolean, types.String),
    ColumnType.INTEGER: (types.Integer, types.Numeric, types.Float, types.String),
    ColumnType.NUMBER: (types.Numeric, types.Float, types.String),
    ColumnType.DATE: (types.Date, types.String),
    ColumnType.DATETIME: (types.DateTime, types.String),
    ColumnType.UTC_DATETIME: (types.DateTime, types.String),
    ColumnType.TEXT: (types.String,),
}
KeyedRecord = tuple[str, str, Record]
"""Source, key and fields of a row."""


def is_database(name: str) -> bool:
    """Whether a name is the URL of a database."""
    found = _URL.fullmatch(name)
    return found is not None and found[1].lower() in _SCHEMES


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlTarget:
    """A table of a database.

    Attributes:
        url: Of the database.
        table: Name of the table.
        schema: Its schema; None is the default of the database.
    """

    url: URL = field(repr=False)
    table: str
    schema: str | None = None

    @classmethod
    def parse(cls, name: str) -> SqlTarget:
        """Parse ``postgresql://user@host/db#shop.items``: the table, perhaps with a schema, after the ``#``.

        Raises:
            ExportError: It names no table, or is not a URL of a database.
        """
        address, _, place = name.partition("#")
        scheme, rest = address.split("://", 1)
        scheme = {"postgres": "postgresql+psycopg", "postgresql": "postgresql+psycopg"}.get(
            scheme.lower(), scheme
        )
        try:
            url = make_url(f"{scheme}://{rest}")
        except (ArgumentError, ValueError):
            raise ExportError(f"{scheme}://... is not the URL of a database") from None
        schema, _, table = place.rpartition(".")
        if not table:
            shown = url.render_as_string()
            raise ExportError(f"{shown} names no table; add it after a #, such as '{shown}#items'")
        return cls(url=url, table=table, schema=schema or None)

    @property
    def is_stdout(self) -> bool:
        """Whether it is standard output."""
        return False

    def __str__(self) -> str:
        return f"{self.url.render_as_string()}#{self._name}"

    @property
    def _name(self) -> str:
        return f"{self.schema}.{self.table}" if self.schema else self.table

    def check(self) -> None:
        """Make sure that the database answers, and that a table of that name was made by an export.

        Raises:
            ExportError: It does not, or the table is another one.
        """
        with self._connected() as connection:
            self._existing(connection)

    def write(self, columns: Sequence[Column], records: Iterable[KeyedRecord]) -> int:
        """Insert rows, or update those with the same key, all in one transaction; return how many.

        A missing table is made, and so are missing columns. Rows of other keys stay.

        Raises:
            ExportError: The database cannot be reached, or a column has a type that does not fit.
        """
        with self._connected() as connection:
            table = self._prepared(connection, columns)
            texts = {c.name for c in columns if isinstance(table.c[c.name].type, types.String)}
            count = 0
            for group in in_groups(records, BATCH_ROWS):
                rows = {
                    (source, key): {
                        SOURCE: source,
                        KEY: key,
                        **{c.name: _cell(c, record, as_text=c.name in texts) for c in columns},
                    }
                    for source, key, record in ((one[0], short_key(one[1]), one[2]) for one in group)
                }
                _upsert(connection, table, list(rows.values()))
                count += len(group)
            return count

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """Give a transaction. Errors name the database without its password."""
        shown = self.url.render_as_string()
        failed = f"{shown} cannot be reached"
        try:
            engine = create_engine(self.url)
            if engine.dialect.name == "sqlite":
                _begin_before_tables(engine)
            try:
                with engine.begin() as connection:
                    failed = f"{self} cannot be written"
                    yield connection
            finally:
                engine.dispose()
        except (NoSuchModuleError, ImportError) as exc:
            driver = getattr(exc, "name", None) or self.url.drivername
            raise ExportError(f"{shown} needs a driver that is not installed: {driver}") from None
        except SQLAlchemyError as exc:
            raise ExportError(f"{failed}: {_reason(exc)}") from None

    def _existing(self, connection: Connection) -> Mapping[str, types.TypeEngine[Any]] | None:
        """Return the columns of the table; None if it does not exist."""
        inspector = inspect(connection)
        if not inspector.has_table(self.table, schema=self.schema):
            return None
        known = {
            str(one["name"]): one["type"] for one in inspector.get_columns(self.table, schema=self.schema)
        }
        if not {SOURCE, KEY} <= known.keys():
            raise ExportError(
                f"the table {self._name} was not made by an export (it has no {SOURCE} and {KEY}); "
                "name another one after the #"
            )
        return known

    def _prepared(self, connection: Connection, columns: Sequence[Column]) -> Table:
        known = self._existing(connection)
        if known is None:
            table = self._table({column.name: _TYPES[column.type] for column in columns})
            table.create(connection)
            return table
        for column in columns:
            present = known.get(column.name)
            if present is not None and not isinstance(present, _FITS[column.type]):
                raise ExportError(
                    f"{self._name}.{column.name} is {present}, and the rows have {column.type} there; "
                    "change the column, or name another table after the #"
                )
        missing = {c.name: _TYPES[c.type] for c in columns if c.name not in known}
        table = self._table({**{n: t for n, t in known.items() if n not in (SOURCE, KEY)}, **missing})
        for name in missing:
            added = CreateColumn(table.c[name]).compile(dialect=connection.dialect)
            whole = connection.dialect.identifier_preparer.format_table(table)
            connection.exec_driver_sql(f"ALTER TABLE {whole} ADD COLUMN {added}")
        return table

    def _table(self, columns: Mapping[str, types.TypeEngine[Any]]) -> Table:
        return Table(
            self.table,
            MetaData(),
            SqlColumn(SOURCE, String(100), primary_key=True),
            SqlColumn(KEY, String(MAX_KEY + 50), primary_key=True),
            *(SqlColumn(name, kind, nullable=True) for name, kind in columns.items()),
            schema=self.schema,
        )


def _begin_before_tables(engine: Engine) -> None:
    """Make new tables and columns part of the transaction: Python's sqlite3 begins it at the first row."""

    @event.listens_for(engine, "connect")
    def connect(connection: Any, _record: object) -> None:  # noqa: ANN401 - of the driver
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def short_key(key: str) -> str:
    """Return a key that fits into an index: a long one is cut, and gets its hash."""
    if len(key) <= MAX_KEY:
        return key
    return f"{key[:MAX_KEY]}#{hashlib.blake2b(key.encode(), digest_size=16).hexdigest()}"


def _cell(column: Column, record: Record, *, as_text: bool) -> object:
    value = column.cell(record)
    if value is None or isinstance(value, str) or not as_text:
        return value
    return value.isoformat() if isinstance(value, date) else str(value)


def _upsert(connection: Connection, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
    keys = [table.c[SOURCE], table.c[KEY]]
    names = [name for name in rows[0] if name not in (SOURCE, KEY)]
    match connection.dialect.name:
        case "postgresql" | "sqlite" as name:
            insert = postgresql.insert(table) if name == "postgresql" else sqlite.insert(table)
            if names:
                insert = insert.on_conflict_do_update(
                    index_elements=keys, set_={one: insert.excluded[one] for one in names}
                )
            else:
                insert = insert.on_conflict_do_nothing(index_elements=keys)
            connection.execute(insert, rows)
        case "mysql" | "mariadb":
            adding = mysql.insert(table)
            same = {SOURCE: adding.inserted[SOURCE]}
            connection.execute(
                adding.on_duplicate_key_update({**same, **{one: adding.inserted[one] for one in names}}), rows
            )
        case _:
            found = [and_(table.c[SOURCE] == row[SOURCE], table.c[KEY] == row[KEY]) for row in rows]
            connection.execute(delete(table).where(or_(*found)))
            connection.execute(table.insert(), rows)


def _reason(exc: SQLAlchemyError) -> str:
    """Return the first line of the database's own message: SQLAlchemy's adds the statement and its values."""
    cause = getattr(exc, "orig", None) or exc
    return str(cause).strip().splitlines()[0][:200] if str(cause).strip() else type(cause).__name__
