"""The database of the commands: created when missing, refused when old."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agentic.core.hooks import get_registry
from agentic.core.settings import Settings

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from agentic.mappers import Database, ProjectModel


def ready_database(settings: Settings) -> Database:
    """Return the database of ``settings``, up to date; a missing SQLite file is created first.

    Raises:
        DatabaseNotMigratedError: It exists, but lacks tables; nothing is changed.
        DatabaseUnavailableError: It cannot be reached.
    """
    from agentic.mappers import Database

    if Database.configured(settings).is_missing:
        from agentic.migrations import upgrade

        upgrade(settings.database, get_registry())
    return current_database(settings)


def current_database(settings: Settings) -> Database:
    """Return the database of ``settings``, which must exist and be up to date.

    Raises:
        DatabaseNotMigratedError: It lacks tables, or does not exist yet.
        DatabaseUnavailableError: It cannot be reached.
    """
    from agentic.mappers import Database
    from agentic.migrations import require_current

    database = Database.configured(settings)
    try:
        require_current(database, get_registry())
    except BaseException:
        database.dispose()
        raise
    return database


@contextmanager
def opened(database: Database) -> Iterator[Database]:
    """Close the connections of ``database`` at the end of the block."""
    try:
        yield database
    finally:
        database.dispose()


def ensured_project(session: Session, name: str | None, settings: Settings) -> ProjectModel:
    """Return the project called ``name``; without a name, the project of the settings, created if missing.

    Raises:
        UnknownProjectError: No project is called ``name``.
    """
    from agentic.mappers import find_project
    from agentic.mappers.catalog.projects import ensure_project

    return ensure_project(session, settings.project) if name is None else find_project(session, name)
