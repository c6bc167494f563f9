"""Inserts that decide about rows with a key that is taken: each database has its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy.dialects.sqlite import insert

if TYPE_CHECKING:
    from sqlalchemy import Table
    from sqlalchemy.dialects.postgresql import Insert as PostgresqlInsert
    from sqlalchemy.dialects.sqlite import Insert as SqliteInsert
    from sqlalchemy.orm import DeclarativeBase


def insert_into(
    table: Table | type[DeclarativeBase], *, is_postgresql: bool
) -> SqliteInsert | PostgresqlInsert:
    """Return an insert with ``on_conflict_do_nothing`` and ``on_conflict_do_update``."""
    if not is_postgresql:
        return insert(table)
    # Its dialect, with its drivers, takes a twentieth of the start of a command that uses SQLite.
    from sqlalchemy.dialects.postgresql import insert as postgresql_insert

    return postgresql_insert(table)
