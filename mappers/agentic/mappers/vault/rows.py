"""One way to write a row whose key may exist."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import cast

from sqlalchemy import Table
from sqlalchemy.orm import Session

from agentic.mappers.database.inserts import insert_into
from agentic.mappers.tables.columns import Base


def put_row(
    session: Session, model: type[Base], row: Mapping[str, object], *, keep: Collection[str] = ()
) -> None:
    """Insert a row, or change the existing row with its key.

    Args:
        session: In a transaction.
        model: Its table.
        row: Column name -> value.
        keep: Columns that stay unchanged if the row exists.
    """
    table = cast(Table, model.__table__)
    is_postgresql = session.get_bind().dialect.name == "postgresql"
    insert = insert_into(table, is_postgresql=is_postgresql).values(**row)
    keys = [column.name for column in table.primary_key]
    changes = {name: insert.excluded[name] for name in row if name not in {*keys, *keep}}
    session.execute(insert.on_conflict_do_update(index_elements=keys, set_=changes))
