"""Typed columns for formats that have types: Parquet, Excel, tables of a database."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any

from agentic.executors.exports.rows import Record

MAX_PARTS = 50
"""Keys of a mapping that become columns; a mapping with more is JSON text."""

MAX_DEPTH = 3
"""Nested mappings that become columns."""

EXACT = 2**53
"""Integers up to this are exact as floating-point numbers."""

_LARGEST = 2**63 - 1
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)?")

Path = tuple[str, ...]
Cell = bool | int | float | str | date | datetime | None


class ColumnType(StrEnum):
    """The type of a column."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    NUMBER = "number"
    DATE = "date"
    DATETIME = "datetime"
    UTC_DATETIME = "utc_datetime"
    TEXT = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of an export.

    Attributes:
        name: Unique among the columns: ``price_amount``.
        path: Keys that lead to its value in a record: ``("price", "amount")``.
        type: The type that fits all its values; a list, or values of several types, are text.
    """

    name: str
    path: Path
    type: ColumnType

    def cell(self, record: Record) -> Cell:
        """Return its value in a record, in the type of the column; None if the record has none."""
        value: object = record
        for key in self.path:
            value = value.get(key) if isinstance(value, Mapping) else None
        return None if value is None else _CELLS[self.type](value)


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


_CELLS: Mapping[ColumnType, Callable[[Any], Cell]] = {
    ColumnType.BOOLEAN: bool,
    ColumnType.INTEGER: int,
    ColumnType.NUMBER: float,
    ColumnType.DATE: date.fromisoformat,
    ColumnType.DATETIME: datetime.fromisoformat,
    ColumnType.UTC_DATETIME: lambda text: datetime.fromisoformat(text).astimezone(UTC),
    ColumnType.TEXT: _as_text,
}


@dataclass(slots=True)
class _Seen:
    """The types of the values at one place, and the places in its mappings."""

    types: set[ColumnType] = field(default_factory=set)
    parts: dict[str, _Seen] = field(default_factory=dict)
    has_mapping: bool = False
    is_exact: bool = True

    def add(self, value: object, depth: int) -> None:
        if value is None:
            return
        if isinstance(value, Mapping):
            self.has_mapping = True
            if depth < MAX_DEPTH and len(self.parts) <= MAX_PARTS:
                for key, part in value.items():
                    self.parts.setdefault(str(key), _Seen()).add(part, depth + 1)
            return
        self.types.add(_type_of(value))
        self.is_exact = self.is_exact and not (isinstance(value, int) and abs(value) > EXACT)

    def columns(self, name: str, path: Path) -> Iterator[tuple[str, Path, ColumnType]]:
        is_split = self.has_mapping and not self.types and 0 < len(self.parts) <= MAX_PARTS
        if not is_split:
            yield name, path, ColumnType.TEXT if self.has_mapping else self._type()
            return
        for key, part in self.parts.items():
            yield from part.columns(f"{name}_{key}", (*path, key))

    def _type(self) -> ColumnType:
        if len(self.types) == 1:
            return next(iter(self.types))
        if self.types == {ColumnType.INTEGER, ColumnType.NUMBER} and self.is_exact:
            return ColumnType.NUMBER
        return ColumnType.TEXT


def columns_of(records: Iterable[Record], taken: Collection[str] = ()) -> Sequence[Column]:
    """Return the columns for all of ``records``, in order of first use. It reads every record.

    A mapping such as a price becomes a column for each of its keys. A column without any value is text. Names
    that differ only in case get a ``_`` at the end: for databases they are the same.

    Args:
        records: The rows.
        taken: Names that no column may have.
    """
    seen: dict[str, _Seen] = {}
    for record in records:
        for name, value in record.items():
            seen.setdefault(name, _Seen()).add(value, 0)
    found = [column for name, one in seen.items() for column in one.columns(name, (name,))]
    names = {name.casefold() for name in taken}
    columns = []
    for name, path, kind in found:
        unique = name
        while unique.casefold() in names:
            unique += "_"
        names.add(unique.casefold())
        columns.append(Column(name=unique, path=path, type=kind))
    return columns


def _type_of(value: object) -> ColumnType:
    if isinstance(value, bool):
        return ColumnType.BOOLEAN
    if isinstance(value, int):
        return ColumnType.INTEGER if abs(value) <= _LARGEST else ColumnType.TEXT
    if isinstance(value, float):
        return ColumnType.NUMBER
    return _type_of_text(value) if isinstance(value, str) else ColumnType.TEXT


def _type_of_text(text: str) -> ColumnType:
    try:
        if _DATE.fullmatch(text):
            date.fromisoformat(text)
            return ColumnType.DATE
        if _MOMENT.fullmatch(text):
            moment = datetime.fromisoformat(text)
            return ColumnType.DATETIME if moment.tzinfo is None else ColumnType.UTC_DATETIME
    except ValueError:  # the 30th of February
        pass
    return ColumnType.TEXT
