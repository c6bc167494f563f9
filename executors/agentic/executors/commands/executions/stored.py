"""The rows an execution stored in the tables of its platform."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import func, inspect, select
from sqlalchemy.orm import Session

from agentic.core.hooks import Platform
from agentic.executors.exports.rows import ITEM
from agentic.mappers import ExecutionModel, SourceColumns

_OF_ITEMS = frozenset({ITEM, "pipeline", "attempts"})
_KEYS = frozenset({"key"})
_ADDRESS = ("http://", "https://")
_HASH_CHARS = 32
_HEX = frozenset("0123456789abcdef")

_SHARED = frozenset(name for name in vars(SourceColumns) if not name.startswith("_"))


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Some rows of a table, in the columns of interest.

    Attributes:
        table: Its name.
        columns: The columns of interest.
        rows: The rows, also with other columns.
        total: The number of all rows of the execution.
        empty_fields: Fields of items without a value in any of ``rows``.
    """

    table: str
    columns: list[str]
    rows: list[dict[str, object]]
    total: int
    empty_fields: Sequence[str] = ()


def stored_rows(
    session: Session, platform: Platform, execution: ExecutionModel, limit: int
) -> list[StoredRows]:
    """Return up to ``limit`` rows that ``execution`` was the last to store, for each table that has some."""
    models = [model for model in platform.models if issubclass(model, SourceColumns)]
    found = [_rows_of(session, model, execution, limit) for model in models]
    return [rows for rows in found if rows.total]


def samples_for_people(tables: Sequence[StoredRows]) -> list[StoredRows]:
    """Return the tables for people: a column for each field, and no pages where there are items.

    The entries of a mapping become columns. Empty columns, columns equal to another one, and the pipeline's
    name are omitted; hashes and addresses come last, because they are long.
    """
    items = [table for table in tables if ITEM in table.columns]
    return [_for_people(table) for table in items or tables]


def folder_of_files(tables: Sequence[StoredRows]) -> str | None:
    """Return the folder of the downloaded files, below the folder for files; None without such files."""
    rows = [_flat(row) for table in tables for row in table.rows]
    paths = [str(row["path"]) for row in rows if row.get("path") and row.get("sha256")]
    folders = [os.path.dirname(path) for path in paths if "://" not in path]  # noqa: PTH120 - not of this machine's files
    return os.path.commonpath(folders) if folders else None


def _for_people(table: StoredRows) -> StoredRows:
    rows = [_flat(row) for row in table.rows]
    names = list(dict.fromkeys(name for row in rows for name in row))
    filled = [name for name in names if any(row.get(name) not in (None, "") for row in rows)]
    values = {name: [str(row.get(name)) for row in rows] for name in filled}
    shown = [name for name in filled if not (name in _KEYS and _is_repeated(name, values))]
    shown.sort(key=lambda name: _is_hash(values[name]))
    if ITEM in table.columns:
        shown.sort(key=lambda name: all(value.startswith(_ADDRESS) for value in values[name]))
    fields = {name for row in table.rows if isinstance(data := row.get(ITEM), Mapping) for name in data}
    empty = [name for name in names if name in fields and name not in filled]
    return StoredRows(table.table, shown or filled, rows, table.total, empty)


def _flat(row: Mapping[str, object]) -> dict[str, object]:
    data = row.get(ITEM)
    if not isinstance(data, Mapping):
        return dict(row)
    others = {name: value for name, value in row.items() if name not in _OF_ITEMS}
    return {**data, **{name: value for name, value in others.items() if name not in data}}


def _is_hash(values: Sequence[str]) -> bool:
    """Whether a column has hashes, which mean nothing to a person."""
    return all(len(value) >= _HASH_CHARS and set(value) <= _HEX for value in values)


def _is_repeated(name: str, values: Mapping[str, list[str]]) -> bool:
    return any(found == values[name] for other, found in values.items() if other != name)


def _rows_of(
    session: Session, model: type[SourceColumns], execution: ExecutionModel, limit: int
) -> StoredRows:
    own = (model.project_id == execution.project_id, model.execution_id == execution.id)
    total = session.scalar(select(func.count()).select_from(model).where(*own)) or 0
    columns = [column.key for column in inspect(model).columns if _is_telling(column.key)]
    rows = [
        {name: getattr(row, name) for name in columns}
        for row in session.scalars(
            select(model).where(*own).order_by(*inspect(model).primary_key).limit(limit)
        )
    ]
    return StoredRows(str(inspect(model).local_table), columns, rows, total)


def _is_telling(column: str) -> bool:
    """Whether a column is useful to people: neither common to all such tables nor a hash used as key."""
    return column not in _SHARED and not column.endswith("_key")
