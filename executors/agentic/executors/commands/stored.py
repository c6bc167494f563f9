"""The rows an execution left in the tables of its platform."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import func, inspect, select
from sqlalchemy.orm import Session

from agentic.core.hooks import Platform
from agentic.mappers import ExecutionModel, SourceColumns

_SHARED = frozenset(name for name in vars(SourceColumns) if not name.startswith("_"))


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Some rows of a table, in the columns of interest; ``total`` counts all of the execution's."""

    table: str
    columns: list[str]
    rows: list[dict[str, object]]
    total: int


def stored_rows(
    session: Session, platform: Platform, execution: ExecutionModel, limit: int
) -> list[StoredRows]:
    """Return up to ``limit`` rows that ``execution`` was the last to give, for each table that has some."""
    models = [model for model in platform.models if issubclass(model, SourceColumns)]
    found = [_rows_of(session, model, execution, limit) for model in models]
    return [rows for rows in found if rows.total]


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
    """Leave out what every such table has, and hashes that serve as keys: they tell people nothing."""
    return column not in _SHARED and not column.endswith("_key")
