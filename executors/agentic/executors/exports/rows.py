"""Reads an execution's rows in batches: a million need the same memory as a thousand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import islice
from typing import TypeVar, cast

from sqlalchemy import ColumnElement, Table, exists, inspect, select
from sqlalchemy.orm import Session

from agentic.core.hooks import Platform
from agentic.executors.exports.errors import UnknownTableError
from agentic.mappers import ExecutionModel, SourceColumns

T = TypeVar("T")

BATCH_ROWS = 1_000
META = "_meta"
"""Key of facts about a row that are not from the source."""

ITEM = "data"
"""Column of a table of items: its mapping is the row."""

_SHARED = frozenset(name for name in vars(SourceColumns) if not name.startswith("_"))

Record = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportTable:
    """A table of a platform, for the export of its rows.

    Attributes:
        name: Its name in the database.
        columns: The columns that become fields, in order.
        meta: The other columns.
        is_items: Whether the fields come from the mapping in :data:`ITEM`.
    """

    name: str
    model: type[SourceColumns]
    columns: tuple[str, ...]
    meta: tuple[str, ...]
    is_items: bool

    @classmethod
    def of(cls, model: type[SourceColumns]) -> ExportTable:
        """Return the export table of a platform's model."""
        names = [column.key for column in inspect(model).columns if column.key != "project_id"]
        is_items = ITEM in names
        fields = [ITEM] if is_items else [name for name in names if _is_telling(name)]
        return cls(
            name=str(inspect(model).local_table),
            model=model,
            columns=tuple(fields),
            meta=tuple(name for name in names if name not in fields),
            is_items=is_items,
        )


def export_tables(platform: Platform) -> list[ExportTable]:
    """Return the tables of a platform that hold source data."""
    return [ExportTable.of(model) for model in platform.models if issubclass(model, SourceColumns)]


def check_table(platform: Platform, wanted: str | None) -> list[ExportTable]:
    """Return a platform's wanted table, or all its tables if none is wanted.

    Raises:
        UnknownTableError: The platform lacks this table, or has none.
    """
    known = export_tables(platform)
    found = known if wanted is None else [table for table in known if table.name == wanted]
    if not found:
        raise UnknownTableError(wanted, platform.name, [table.name for table in known])
    return found


def choose_table(
    session: Session, platform: Platform, execution: ExecutionModel, wanted: str | None
) -> ExportTable:
    """Return the wanted table; else the platform's last one with rows of ``execution``.

    A platform names intermediate tables first: the items of a pipeline come after its pages.

    Raises:
        UnknownTableError: The platform lacks this table, or has none.
    """
    tables = check_table(platform, wanted)
    return next((table for table in reversed(tables) if _is_filled(session, table, execution)), tables[-1])


def read_records(
    session: Session, table: ExportTable, execution: ExecutionModel, *, with_meta: bool = False
) -> Iterator[Record]:
    """Yield the rows that ``execution`` was the last to store, by key.

    Args:
        session: The session to read with; it must stay open during the iteration.
        table: The table of the rows.
        execution: The execution that stored them.
        with_meta: Add the other columns under :data:`META`.
    """
    names = (*table.columns, *(table.meta if with_meta else ()))
    for values in _rows(session, table, execution, names):
        yield _record(table, dict(zip(names, values, strict=True)))


def read_keyed(
    session: Session, table: ExportTable, execution: ExecutionModel, *, with_meta: bool = False
) -> Iterator[tuple[str, str, Record]]:
    """Yield the same rows, each with its source (the pipeline of an item, or the table) and its key there."""
    keys = [column.key for column in inspect(table.model).primary_key if column.key != "project_id"]
    names = (*table.columns, *(table.meta if with_meta else ()))
    for values in _rows(session, table, execution, (*keys, *names)):
        identity = [str(value) for value in values[: len(keys)]]
        source = identity.pop(0) if table.is_items and len(identity) > 1 else table.name
        yield source, ":".join(identity), _record(table, dict(zip(names, values[len(keys) :], strict=True)))


def read_fields(session: Session, table: ExportTable, execution: ExecutionModel) -> list[str]:
    """Return the fields of all rows, in order of first use; for items this reads every row."""
    if not table.is_items:
        return list(table.columns)
    found: dict[str, None] = {}
    for (data,) in _rows(session, table, execution, [ITEM]):
        found.update(dict.fromkeys(data if isinstance(data, Mapping) else ()))
    return list(found)


def in_groups(rows: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield rows in lists of ``size``, the last one shorter."""
    iterator = iter(rows)
    while group := list(islice(iterator, size)):
        yield group


def _is_filled(session: Session, table: ExportTable, execution: ExecutionModel) -> bool:
    return bool(session.scalar(select(exists().where(*_own(table, execution)))))


def _rows(
    session: Session, table: ExportTable, execution: ExecutionModel, names: Sequence[str]
) -> Iterator[Sequence[object]]:
    # An attribute's name may differ from its column's, because SQLAlchemy reserves `metadata`.
    found = cast("Table", inspect(table.model).local_table).c
    columns = [found[name] for name in names]
    query = select(*columns).where(*_own(table, execution)).order_by(*inspect(table.model).primary_key)
    yield from session.execute(query).yield_per(BATCH_ROWS)


def _own(table: ExportTable, execution: ExecutionModel) -> tuple[ColumnElement[bool], ...]:
    model = table.model
    return (model.project_id == execution.project_id, model.execution_id == execution.id)


def _record(table: ExportTable, values: dict[str, object]) -> Record:
    fields = {name: _plain(values[name]) for name in table.columns}
    if table.is_items:
        data = fields[ITEM]
        fields = dict(data) if isinstance(data, Mapping) else {}
    meta = {name: _plain(values[name]) for name in table.meta if name in values}
    return {**fields, META: meta} if meta else fields


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, (datetime, date)) else value


def _is_telling(column: str) -> bool:
    """Whether a column is neither common to all such tables nor a hash used as key."""
    return column not in _SHARED and not column.endswith("_key")
