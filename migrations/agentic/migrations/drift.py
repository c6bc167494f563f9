"""Compares the tables of a database with the models of this installation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, MetaData, Table, inspect

from agentic.core.hooks import PluginRegistry
from agentic.mappers import Base, Database
from agentic.mappers.tables import (  # noqa: F401 - they are compared
    audit,
    http_cache,
    ledger,
    memories,
    notifications,
    threads,
    vault,
)
from agentic.mappers.upserts import snapshots  # noqa: F401 - likewise


def differences(database: Database, registry: PluginRegistry) -> list[str]:
    """Return the missing changes, in a few words each; empty if models and tables agree.

    This compares the models of the core and of the platforms; it ignores other tables.

    Raises:
        DatabaseUnavailableError: The database cannot be opened.
    """
    tables = _tables(registry)
    with database.reading() as session:
        return [
            _in_words(difference)
            for metadata in {table.metadata for table in tables}
            for difference in _compare(session.connection(), metadata, tables)
        ]


def _tables(registry: PluginRegistry) -> frozenset[Table]:
    core = [m.class_ for m in Base.registry.mappers if m.class_.__module__.startswith("agentic.mappers.")]
    brought = [model for platform in registry.platforms.values() for model in platform.models]
    return frozenset(cast(Table, inspect(model).local_table) for model in (*core, *brought))


def _compare(
    connection: Connection, metadata: MetaData, tables: frozenset[Table]
) -> Iterator[tuple[object, ...]]:
    names = {table.name for table in tables}

    def is_ours(_thing: object, name: str | None, kind: str, *_: object) -> bool:
        return kind != "table" or name in names

    context = MigrationContext.configure(connection, opts={"include_object": is_ours})
    return _flat(compare_metadata(context, metadata))


def _flat(differences: Iterable[object]) -> Iterator[tuple[object, ...]]:
    """Alembic groups the changes of one column in a list of their own."""
    for difference in differences:
        if isinstance(difference, list):
            yield from _flat(difference)
        elif isinstance(difference, tuple):
            yield difference


def _in_words(difference: tuple[object, ...]) -> str:
    kind, *parts = difference
    names = [str(getattr(part, "name", part)) for part in parts[:3] if part is not None]
    owner = getattr(getattr(parts[0], "table", None), "name", None) if parts else None
    return f"{str(kind).replace('_', ' ')} {'.'.join([*([owner] if owner else []), *names])}"
