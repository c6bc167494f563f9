"""The table of an upsert: converts rows of a source to rows of the table, and builds the statements."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, cast

from pydantic_core import PydanticSerializationError, to_json
from sqlalchemy import (
    ARRAY,
    JSON,
    Column,
    ColumnElement,
    Dialect,
    Enum,
    String,
    Table,
    bindparam,
    collate,
    func,
    inspect,
    select,
    tuple_,
)
from sqlalchemy.exc import StatementError
from sqlalchemy.sql.schema import CallableColumnDefault, ScalarElementColumnDefault

from agentic.core.records import record
from agentic.mappers.content import clean, clean_text, content_hash
from agentic.mappers.database.driver import CompiledStatement, Converter, DriverCursor, binders, readers
from agentic.mappers.database.expressions import OneOf
from agentic.mappers.database.inserts import insert_into
from agentic.mappers.errors import UnknownColumnError
from agentic.mappers.tables.core import SourceColumns
from agentic.mappers.upserts.sentinels import CLEARED

if TYPE_CHECKING:
    from sqlalchemy.dialects.postgresql import Insert as PostgresqlInsert
    from sqlalchemy.dialects.sqlite import Insert as SqliteInsert

Key = tuple[object, ...]
Row = Mapping[str, object]

SEEN = ("content_hash", "last_seen_at", "execution_id", "agent_id")
"""Columns about the newest observation of a row: always written, never part of the content."""

SHORT = 4_000
"""Bytes of JSON that cannot contain a number with too many digits for Python (4,300)."""


@record
class Entry:
    """A row to store in the table. ``removed`` has a sentence for each part that was not JSON."""

    key: Key
    values: Row
    removed: tuple[str, ...]

    def followed_by(self, later: Entry) -> Entry:
        """Merge both: values of ``later`` win where it has any."""
        given = {name: value for name, value in later.values.items() if value is not None}
        return Entry(self.key, {**self.values, **given}, ())


class UpsertTable:
    """A table with :class:`SourceColumns`, and the role of each column in an upsert.

    Raises:
        UnknownColumnError: ``key`` or ``volatile`` names a column the table does not have.
    """

    def __init__(
        self, model: type[SourceColumns], key: Sequence[str], volatile: Collection[str], dialect: str
    ) -> None:
        self._is_postgresql = dialect == "postgresql"
        self.table = cast(Table, inspect(model).local_table)
        self._names = frozenset(self.table.c.keys())
        self.refuse_unknown({*key, *volatile})
        self.key: tuple[Column[object], ...] = tuple(self.table.c[name] for name in key)
        self._key_kinds = tuple((column.key, column.type.python_type) for column in self.key)
        self._is_key_plain = all(kind in (int, str) for _, kind in self._key_kinds)
        ours = {*key, *SEEN, "first_seen_at", "raw"}
        self._data = tuple(name for name in self.table.c.keys() if name not in ours)  # noqa: SIM118
        self._content = frozenset(self._data) - frozenset(volatile)
        self._defaults = tuple((name, _default(self.table.c[name])) for name in self._data)
        self._read_names = (*(column.key for column in self.key), *self._data, "content_hash")
        self._made_binders: Mapping[str, Converter] | None = None
        self._made_readers: Mapping[str, Converter] | None = None
        self._json = frozenset(column.key for column in self.table.c if isinstance(column.type, JSON))
        self._texts = frozenset(column.key for column in self.table.c if isinstance(column.type, String))

    def entry(self, row: Row) -> Entry:
        """Return ``row`` with its key and with storable values.

        Raises:
            UnknownColumnError: It names a column the table does not have.
            ValueError: A part of its key is missing or cannot be read.
        """
        self.refuse_unknown(row)
        removed: list[str] = []
        values = {
            # Texts that clean_text would not change, without a call for each.
            name: value
            if value is None or (type(value) is str and value.isascii() and "\0" not in value)
            else self._fit(name, value, removed)
            for name, value in row.items()
        }
        for name, kind in self._key_kinds:
            values[name] = _key_value(name, kind, values.get(name))
        return Entry(tuple([values[name] for name, _ in self._key_kinds]), values, tuple(removed))

    def order(self, entry: Entry) -> tuple[int | str, ...]:
        """Return the sort key of an entry, in the order of the query's row locks."""
        if self._is_key_plain:
            return cast("tuple[int | str, ...]", entry.key)
        return tuple(
            cast("int | str", value) if kind in (int, str) else str(value)
            for (_, kind), value in zip(self._key_kinds, entry.key, strict=True)
        )

    def record(self, values: Row, stored: Row | None, now: datetime) -> dict[str, object]:
        """Return all columns for ``values``.

        Omitted columns keep the stored value, or else the default; cleared columns get the default.
        """
        data: dict[str, object] = {}
        for name, default in self._defaults:
            value = values.get(name)
            if value is None and stored is not None:
                value = stored[name]
            elif value is None or value is CLEARED:
                value = default()
            data[name] = value
        content = {name: value for name, value in data.items() if name in self._content}
        content["content_hash"] = values.get("content_hash")
        for name, _ in self._key_kinds:
            data[name] = values[name]
        data["raw"] = values.get("raw")
        data["execution_id"] = values.get("execution_id")
        data["agent_id"] = values.get("agent_id")
        data["content_hash"] = content_hash(content)
        data["first_seen_at"] = data["last_seen_at"] = now
        return data

    def refuse_unknown(self, names: Collection[str]) -> None:
        """Check that the table has those columns.

        Raises:
            UnknownColumnError: One of them is missing.
        """
        if not self._names.issuperset(names):
            unknown = sorted(set(names) - self._names)
            raise UnknownColumnError(self.table.name, unknown, sorted(self._names))

    def bound(self, record: Row, dialect: Dialect) -> Row:
        """Return a record in the form that the driver of ``dialect`` accepts.

        Raises:
            StatementError: A value does not have its column's type.
        """
        try:
            return _converted(record, self._binders(dialect))
        except (TypeError, ValueError, ArithmeticError) as exc:  # as SQLAlchemy has it
            raise StatementError(str(exc), None, None, exc) from exc

    def read(self, cursor: DriverCursor, keys: Sequence[Key]) -> list[Row]:
        """Return the stored rows with those keys, by column name; perhaps others, too."""
        found = cursor.rows(self.stored, self.wanted(keys, cursor.dialect))
        if self._made_readers is None:
            columns = (self.table.c[name] for name in self._read_names)
            self._made_readers = readers(columns, cursor.dialect, cursor.type_codes)
        converters = self._made_readers
        return [_converted(dict(zip(self._read_names, row, strict=True)), converters) for row in found]

    def key_of(self, row: Row) -> Key:
        """Return the key of a row that :meth:`stored` found."""
        return tuple(row[column.key] for column in self.key)

    def named(self, key: Key) -> str:
        """Describe the row with that key in words, without the project."""
        parts = (str(part) for column, part in zip(self.key, key, strict=True) if column.key != "project_id")
        return f"{self.table.name} {' '.join(parts)}"

    @cached_property
    def stored(self) -> CompiledStatement:
        """The query for rows by keys from :meth:`wanted`; each row has its key, its data and its hash.

        On SQLite it may find more: other combinations of the same parts.
        """
        columns = [self.table.c[name] for name in self._read_names]
        # On PostgreSQL the rows stay unchanged until the upsert, and all writers lock them in one order;
        # SQLite has only one writer anyway.
        order = [
            collate(cast("Column[str]", column), "C") if self._is_collated(column) else column
            for column in self.key
        ]
        return CompiledStatement(select(*columns).where(*self._are()).order_by(*order).with_for_update())

    def _is_collated(self, column: Column[object]) -> bool:
        return self._is_postgresql and isinstance(column.type, String) and not isinstance(column.type, Enum)

    def wanted(self, keys: Sequence[Key], dialect: Dialect) -> Row:
        """Return the values of the query for rows with those keys."""
        convert = self._binders(dialect)
        parts = {
            column.key: [convert[column.key](value) for value in values] if column.key in convert else values
            for column, values in zip(self.key, zip(*keys, strict=True), strict=True)
        }
        if self._is_postgresql:
            return {f"keys_{name}": list(values) for name, values in parts.items()}
        return {f"keys_{name}": json.dumps(list(dict.fromkeys(values))) for name, values in parts.items()}

    def _are(self) -> list[ColumnElement[bool]]:
        if not self._is_postgresql:
            # It scans the whole table for `(a, b) IN ((1, 2), ...)`, not for `a IN (1) AND b IN (2, ...)`.
            return [
                column.bool_op("IN")(OneOf(bindparam(f"keys_{column.key}", type_=String)))
                for column in self.key
            ]
        # Given as values they may be compared with each row of the project: 300 ms a batch, 10,000 rows in.
        lists = [bindparam(f"keys_{column.key}", type_=ARRAY(column.type)) for column in self.key]
        wanted = func.unnest(*lists).table_valued(*(column.key for column in self.key)).render_derived()
        return [tuple_(*self.key).in_(select(*wanted.c))]

    @cached_property
    def adding(self) -> CompiledStatement:
        """The statement for rows that are not stored; existing rows stay unchanged."""
        return CompiledStatement(self._insert().on_conflict_do_nothing(index_elements=self.key))

    @cached_property
    def changing(self) -> CompiledStatement:
        """The statement for rows that are stored."""
        insert = self._insert()
        new = insert.excluded
        # `record` filled in omitted columns from the row read under a lock; `raw` is not read.
        kept = {"raw": func.coalesce(new["raw"], self.table.c["raw"])}
        changes = {**kept, **{name: new[name] for name in (*self._data, *SEEN)}}
        return CompiledStatement(insert.on_conflict_do_update(index_elements=self.key, set_=changes))

    def _insert(self) -> PostgresqlInsert | SqliteInsert:
        insert = insert_into(self.table, is_postgresql=self._is_postgresql)
        return insert.values({c.key: bindparam(c.key, type_=c.type) for c in self.table.c})

    def _binders(self, dialect: Dialect) -> Mapping[str, Converter]:
        if self._made_binders is None:
            made = binders(self.table.c, dialect)
            if not self._is_postgresql:  # whose driver creates the text itself
                made |= {name: _to_json(made[name]) for name in self._json}
            seen_at = _remembering(made["last_seen_at"])  # the same for a whole batch
            self._made_binders = {**made, "first_seen_at": seen_at, "last_seen_at": seen_at}
        return self._made_binders

    def _fit(self, name: str, value: object, removed: list[str]) -> object:
        if value is CLEARED:
            if name not in self._data:
                raise ValueError(f"its {name} cannot be cleared")
            return value
        if isinstance(value, str):
            return clean_text(value)
        if name in self._texts and isinstance(value, list | dict):  # PostgreSQL would write a list out
            raise ValueError(f"its {name} is a {type(value).__name__}")
        if name not in self._json:
            return value
        plain, lost = clean(value)
        removed += [f"in {name}: {sentence}" for sentence in lost]
        return plain


def _converted(row: Row, converters: Mapping[str, Converter]) -> Row:
    return {**row, **{name: convert(row[name]) for name, convert in converters.items()}}


def _to_json(usual: Converter) -> Converter:
    """Return a converter that is three times as fast as ``usual`` for most values, and uses it for others.

    Others are long values, which may contain numbers that Python refuses to read again, and values of an
    earlier version that are not Unicode.
    """
    absent = usual(None)

    def text_of(value: object) -> object:
        if value is None:
            return absent
        try:
            text = to_json(value)
        except PydanticSerializationError:
            return usual(value)
        return text.decode() if len(text) <= SHORT else usual(value)

    return text_of


def _remembering(convert: Converter) -> Converter:
    """Return a converter that remembers its last result."""
    last: tuple[object, object] = (None, None)

    def remembered(value: object) -> object:
        nonlocal last
        known, converted = last
        if value is not known:
            converted = convert(value)
            last = (value, converted)
        return converted

    return remembered


def _default(column: Column[object]) -> Callable[[], object]:
    match column.default:
        case ScalarElementColumnDefault(arg=value):
            return lambda: value
        case CallableColumnDefault(arg=make):
            return lambda: make(None)  # type: ignore[arg-type] # SQLAlchemy made it take a context
        case _:
            return lambda: None


def _key_value(name: str, kind: type, value: object) -> object:
    """Return ``value`` as the column returns it, so that it is found again."""
    if value is None or value == "":
        raise ValueError(f"it has no {name}")
    if type(value) is kind or kind not in (int, str):
        return value
    if not isinstance(value, int | str):
        raise ValueError(f"its {name} is a {type(value).__name__}")  # noqa: TRY004 - a bad row
    return int(value) if kind is int else str(value)
