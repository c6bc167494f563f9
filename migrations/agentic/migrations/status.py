"""Reports the state of a database, and refuses to work with one that is not up to date."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.hooks import PluginRegistry
from agentic.mappers import Database, DatabaseNewerError, DatabaseNotMigratedError
from agentic.migrations.histories import HistoryStatus, SchemaState, applied_revisions, histories


def schema_status(database: Database, registry: PluginRegistry) -> list[HistoryStatus]:
    """Return the state of the database in each history, the core's first, without changing it.

    Raises:
        DatabaseUnavailableError: The database cannot be opened.
        MigrationError: A migration cannot be read.
    """
    wanted = histories(registry)
    if database.is_missing:
        return [history.status(()) for history in wanted]
    with database.reading() as session:
        applied = applied_revisions(session.connection(), wanted)
    return [history.status(applied[history.name]) for history in wanted]


def require_current(database: Database, registry: PluginRegistry) -> None:
    """Check that the database has exactly the tables of this installation.

    Raises:
        DatabaseNotMigratedError: It lacks migrations.
        DatabaseNewerError: A newer version created its tables.
        DatabaseUnavailableError: It cannot be opened.
        MigrationError: A migration cannot be read.
    """
    refuse_other_than_current(database.url, schema_status(database, registry))


def refuse_other_than_current(url: str, statuses: Sequence[HistoryStatus]) -> None:
    """Check that every status is current; raises like :func:`require_current`."""
    for status in statuses:
        if status.unknown:
            raise DatabaseNewerError(url, status.history, ", ".join(status.unknown))
    if all(status.state is SchemaState.EMPTY for status in statuses):
        raise DatabaseNotMigratedError(url)
    behind = [_lack(status) for status in statuses if status.state is not SchemaState.CURRENT]
    if behind:
        raise DatabaseNotMigratedError(url, behind)


def _lack(status: HistoryStatus) -> str:
    if status.state is SchemaState.EMPTY:
        return f"{status.history} has no tables yet"
    return f"{status.history} is at {', '.join(status.database)} and should be at {', '.join(status.newest)}"
