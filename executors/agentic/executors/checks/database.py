"""Checks the database, beyond its tables."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from sqlalchemy import Engine, select

from agentic.core.hooks import Finding, warning
from agentic.executors.checks.clocks import clock_findings
from agentic.executors.checks.host import room_findings
from agentic.mappers import Database
from agentic.mappers.catalog.schedules import active_schedules
from agentic.mappers.tables.columns import StoreNow


def database_findings(database: Database) -> Iterator[Finding]:
    """Report a wrong clock, and obstacles to the use of SQLite by several processes.

    Raises:
        DatabaseUnavailableError: It cannot be opened.
    """
    yield from clock_findings("the database", lambda: _now(database).timestamp())
    if database.engine.dialect.name == "sqlite":
        yield from journal_findings(database.engine)
        yield from room_findings(Path(str(database.engine.url.database)).parent)


def journal_findings(engine: Engine) -> Iterator[Finding]:
    """Report a SQLite file that cannot have a write-ahead log, for example on a network drive."""
    with engine.connect() as connection:
        mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar_one()
    if mode != "wal":
        yield warning(
            f"SQLite uses journal_mode={mode} on {engine.url.database}, so readers and writers wait for "
            "each other: the disk does not support a write-ahead log; move AGENTIC_HOME to a local disk, "
            "or use PostgreSQL"
        )


def has_active_schedules(database: Database) -> bool:
    """Whether there are schedules that beat should fire.

    Raises:
        DatabaseUnavailableError: It cannot be opened.
    """
    with database.reading() as session:
        return bool(active_schedules(session))


def _now(database: Database) -> datetime:
    with database.reading() as session:
        return session.execute(select(StoreNow())).scalar_one()
