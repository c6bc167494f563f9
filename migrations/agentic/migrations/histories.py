"""The migrations of the core and of each platform, and the state of a database."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, String, column, inspect, literal, select, table, union_all

from agentic.core.hooks import PluginRegistry
from agentic.mappers.errors import MigrationError
from agentic.migrations.revisions import Revisions, read_revisions

if TYPE_CHECKING:  # a tenth of a second, and only migrating needs it
    from alembic.config import Config

CORE = "core"
PACKAGE = "agentic.migrations"


class SchemaState(StrEnum):
    """State of a database, compared to the migrations of this installation."""

    CURRENT = "current"
    EMPTY = "empty"
    BEHIND = "behind"
    NEWER = "newer"


@dataclass(frozen=True, slots=True)
class HistoryStatus:
    """State of a database in one history. Only a newer version knows the ``unknown`` revisions."""

    history: str
    state: SchemaState
    database: tuple[str, ...]
    newest: tuple[str, ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class History:
    """A line of migrations with its own version table, so that histories do not depend on other plugins.

    Attributes:
        name: ``core``, or the platform's.
        package: Contains the folder ``versions``.
    """

    name: str
    package: str

    @property
    def version_table(self) -> str:
        """Table with the current revision of the database."""
        return "agentic_version" if self.name == CORE else f"agentic_version_{self.name}"

    def config(self, attributes: Mapping[str, object] | None = None) -> Config:
        """Return the configuration for Alembic.

        Args:
            attributes: Passed to ``env.py``: the connection, and a callback for each step.

        Raises:
            MigrationError: The package or its folder ``versions`` cannot be found.
        """
        from alembic.config import Config

        config = Config(attributes={"version_table": self.version_table, **(attributes or {})})
        config.set_main_option("script_location", _escaped(Path(__file__).parent))
        config.set_main_option("version_locations", _escaped(self._versions()))
        config.set_main_option("path_separator", "newline")  # a path may contain a space or a colon
        return config

    def status(self, database: tuple[str, ...]) -> HistoryStatus:
        """Return the state of a database that has these revisions: see :func:`applied_revisions`.

        Raises:
            MigrationError: A migration can be neither read nor loaded.
        """
        revisions = self._revisions()
        newest = revisions.newest
        unknown = tuple(revision for revision in database if revision not in revisions.known)
        return HistoryStatus(self.name, _state(database, newest, unknown), database, newest, unknown)

    def _versions(self) -> Path:
        try:
            spec = importlib.util.find_spec(self.package)
        except Exception as exc:  # imports the packages above it, which may be foreign code
            raise MigrationError(self.name, f"{type(exc).__name__}: {exc}") from exc
        folders = list(spec.submodule_search_locations or ()) if spec else []
        if not folders or not (Path(folders[0]) / "versions").is_dir():
            raise MigrationError(self.name, f"{self.package!r} is not a package with a folder `versions`")
        return Path(folders[0]) / "versions"

    def _revisions(self) -> Revisions:
        try:
            return read_revisions(self._versions())
        except (SyntaxError, ValueError):  # Alembic can load migrations with another form
            return self._revisions_by_alembic()
        except OSError as exc:
            raise MigrationError(self.name, f"{type(exc).__name__}: {exc}") from exc

    def _revisions_by_alembic(self) -> Revisions:
        from alembic.script import ScriptDirectory

        config = self.config()
        try:
            script = ScriptDirectory.from_config(config)
            known = frozenset(revision.revision for revision in script.walk_revisions())
            return Revisions(known, tuple(sorted(script.get_heads())))
        except Exception as exc:  # a migration is foreign code, run here
            raise MigrationError(self.name, f"{type(exc).__name__}: {exc}") from exc


def histories(registry: PluginRegistry) -> list[History]:
    """Return the core's history, then the histories of platforms with tables, by name."""
    platforms = sorted(registry.platforms.values(), key=lambda platform: platform.name)
    brought = [History(platform.name, platform.migrations) for platform in platforms if platform.migrations]
    return [History(CORE, PACKAGE), *brought]


def applied_revisions(connection: Connection, wanted: Sequence[History]) -> dict[str, tuple[str, ...]]:
    """Return the current revisions of the database in each history, as recorded by Alembic.

    Every command asks for them, so two statements have to be enough for any number of histories.
    """
    tables = set(inspect(connection).get_table_names())
    number = column("version_num", String)
    parts = [
        select(literal(history.name), number).select_from(table(history.version_table))
        for history in wanted
        if history.version_table in tables
    ]
    rows = connection.execute(union_all(*parts)).all() if parts else []
    return {
        history.name: tuple(sorted(revision for name, revision in rows if name == history.name))
        for history in wanted
    }


def _state(database: tuple[str, ...], newest: tuple[str, ...], unknown: tuple[str, ...]) -> SchemaState:
    if unknown:
        return SchemaState.NEWER
    if set(database) == set(newest):
        return SchemaState.CURRENT
    return SchemaState.BEHIND if database else SchemaState.EMPTY


def _escaped(path: Path) -> str:
    """Return ``path`` escaped for a Config, where a percent sign would begin a substitution."""
    return str(path).replace("%", "%%")
