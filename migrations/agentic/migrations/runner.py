"""Brings a database up to date."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import cast

from alembic import command
from alembic.runtime.migration import MigrationInfo
from alembic.script import Script
from sqlalchemy import URL, Connection, Engine, func, select

from agentic.core.hooks import PluginRegistry, get_registry
from agentic.core.private import make_private_folder
from agentic.core.settings import safe_url
from agentic.mappers import DatabaseNewerError, DatabaseUnavailableError, MigrationError
from agentic.mappers.database.engine import begun, make_engine, parse_url, reason_of, sqlite_path
from agentic.migrations.histories import History, SchemaState, applied_revisions, histories

# Alembic logs each step at INFO; callers get the steps as a list.
logging.getLogger("alembic").setLevel(logging.WARNING)

LOCK_KEY = 0x61_67_65_6E_74_69_63
"""Name of the PostgreSQL lock that allows one process at a time to migrate ("agentic")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedRevision:
    """A migration that was applied: its history (``core`` or a platform), id and first line."""

    history: str
    revision: str
    description: str


def upgrade(url: str, registry: PluginRegistry | None = None) -> list[AppliedRevision]:
    """Apply every missing migration: the core's, then each platform's.

    Each history is one transaction and takes the writer's lock first, so two processes may do this at once:
    the second waits and finds nothing to do. A failed history is undone completely; the histories before it
    stay. A missing SQLite file and its folder are created.

    Args:
        url: Of the database, such as ``sqlite:///runs.db``.
        registry: Knows the platforms; by default all installed ones.

    Returns:
        The applied migrations, in order; empty if the database was up to date.

    Raises:
        DatabaseUrlError: ``url`` does not name a supported database.
        DatabaseUnavailableError: The database cannot be opened.
        DatabaseNewerError: A newer version created the tables; nothing was changed.
        MigrationError: A migration cannot be loaded or does not run.
    """
    parsed = parse_url(url)
    wanted = histories(registry or get_registry())
    _make_folder(parsed)
    engine = make_engine(parsed, foreign_keys=False)
    try:
        return [applied for history in wanted for applied in _upgrade(engine, history)]
    finally:
        engine.dispose()


def _make_folder(url: URL) -> None:
    path = sqlite_path(url)
    if path is None:
        return
    try:
        make_private_folder(path.parent)
    except OSError as exc:
        raise DatabaseUnavailableError(safe_url(str(url)), f"its folder cannot be created: {exc}") from exc


def _upgrade(engine: Engine, history: History) -> list[AppliedRevision]:
    with begun(engine, "IMMEDIATE") as connection:
        if connection.dialect.name == "postgresql":
            _take_turn(connection)
        status = history.status(applied_revisions(connection, [history])[history.name])
        if status.unknown:
            raise DatabaseNewerError(safe_url(str(engine.url)), history.name, ", ".join(status.unknown))
        if status.state is SchemaState.CURRENT:
            return []
        applied = _apply(connection, history)
        connection.commit()
    return applied


def _take_turn(connection: Connection) -> None:
    """Wait until no other process migrates: by polling, because a blocking lock request has a time limit."""
    while not connection.scalar(select(func.pg_try_advisory_xact_lock(LOCK_KEY))):
        time.sleep(0.1)


def _apply(connection: Connection, history: History) -> list[AppliedRevision]:
    applied: list[AppliedRevision] = []

    def note(*, step: MigrationInfo, **_: object) -> None:
        script = cast(Script, step.up_revision)
        applied.append(
            AppliedRevision(history=history.name, revision=script.revision, description=script.doc)
        )

    try:
        command.upgrade(history.config({"connection": connection, "on_version_apply": note}), "heads")
    except Exception as exc:  # a migration of a plugin may raise anything
        raise MigrationError(history.name, f"{type(exc).__name__}: {reason_of(exc)}") from exc
    return applied
