"""Checks the database beyond its tables: rows, secrets and agents."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from sqlalchemy import Engine, select

from agentic.core.hooks import Finding, Platform, get_registry, warning
from agentic.core.hooks.findings import Check
from agentic.executors.agents.doctor import AgentsDoctor
from agentic.executors.checks.clocks import clock_findings
from agentic.executors.checks.host import room_findings
from agentic.mappers import AgentModel, Database
from agentic.mappers.catalog.schedules import active_schedules
from agentic.mappers.tables.columns import StoreNow
from agentic.mappers.vault.environment import stray_variables
from agentic.mappers.vault.errors import VaultError
from agentic.mappers.vault.keys import SecretKeys
from agentic.mappers.vault.rotation import unreadable


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


def secret_findings(database: Database, keys: SecretKeys) -> Iterator[Finding]:
    """Report missing or invalid keys, secrets that no key decrypts, and variables that no project can read.

    Raises:
        DatabaseUnavailableError: It cannot be opened.
    """
    try:
        yield from map(Finding, unreadable(database, keys))
    except VaultError as exc:
        yield Finding(str(exc))
    with database.reading() as session:
        stray = stray_variables(session, os.environ)
    for variable in stray:
        yield warning(
            f"the environment sets {variable}, which belongs to no project, or to several; name it "
            f"AGENTIC_SECRET_<PROJECT>__<NAME>"
        )


def agent_findings(database: Database, keys: SecretKeys) -> Iterator[Finding]:
    """Check the agents that no platform's doctor checks.

    Raises:
        DatabaseUnavailableError: It cannot be opened.
    """
    with database.reading() as session:
        names = session.scalars(select(AgentModel.agent_platform).distinct()).all()
    known = get_registry().platforms
    for name in sorted(names):
        platform = known.get(name)
        if platform is None or platform.doctor is None:
            settings = None if platform is None else platform.settings
            yield from AgentsDoctor(platform=name, settings=settings).findings_in(database, keys)


def doctor_of(platform: Platform) -> Check:
    """Return the check of a platform: its own, or a general check of its agents."""
    return platform.doctor or AgentsDoctor(platform=platform.name, settings=platform.settings)
