"""Databases for tests: the same test on SQLite and on PostgreSQL."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentic.core.hooks import PluginRegistry

# Imported where they are used: 1.1 s that tests without a database need not wait.
if TYPE_CHECKING:
    from tests.postgres import PostgresServer

    from agentic.mappers import Database

POSTGRESQL = pytest.param("postgresql", marks=pytest.mark.integration)

only_sqlite = pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
only_postgresql = pytest.mark.parametrize("backend", [POSTGRESQL], indirect=True)

EMPTY = "new database 100%"
MIGRATED = "migrated"
TEST = "test"


def core_revisions() -> list[str]:
    """Return the migrations of the core, oldest first."""
    import agentic.migrations

    folder = Path(str(agentic.migrations.__file__)).parent / "versions"
    return sorted(path.name.partition("_")[0] for path in folder.glob("[0-9]*.py"))


@pytest.fixture(params=["sqlite", POSTGRESQL])
def backend(request: pytest.FixtureRequest) -> str:
    """Which database a test works with; whatever asks for it is tested on each."""
    return str(request.param)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """The server of all tests: stop and start it, but leave it running. It holds a migrated database."""
    from tests.postgres import PostgresServer

    from agentic.migrations import upgrade

    server = PostgresServer()
    try:
        server.make()
        server.start()
        upgrade(server.create(MIGRATED), PluginRegistry([]))
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="session")
def _agentic_postgres(postgres: PostgresServer) -> PostgresServer:
    """Lend the server to the fixtures for plugins, which would start another one."""
    return postgres


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with the tables of the core, to be copied."""
    from agentic.migrations import upgrade

    path = tmp_path_factory.mktemp("migrated") / "data.db"
    upgrade(f"sqlite:///{path}", PluginRegistry([]))
    return path


@pytest.fixture(scope="session")
def first_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file as the first command of a home makes it, to be copied."""
    from agentic.core.hooks import get_registry
    from agentic.migrations import upgrade

    path = tmp_path_factory.mktemp("first") / "agentic.db"
    upgrade(f"sqlite:///{path}", get_registry())
    return path


@pytest.fixture
def empty_url(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """A database without tables; on SQLite neither the file nor its folder is there."""
    if backend == "sqlite":
        yield f"sqlite:///{tmp_path / 'new folder 100%' / 'data.db'}"
    else:
        yield from _on_postgres(request, EMPTY, "template0")


@pytest.fixture
def migrated_url(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """A database with the tables of the core and no row."""
    if backend == "sqlite":
        migrated: Path = request.getfixturevalue("migrated_file")
        yield f"sqlite:///{shutil.copy(migrated, tmp_path / 'data.db')}"
    else:
        yield from _on_postgres(request, TEST, MIGRATED)


@pytest.fixture
def migrated_database(migrated_url: str) -> Iterator[Database]:
    """The object for :func:`migrated_url`."""
    from agentic.mappers import Database

    database = Database(migrated_url)
    yield database
    database.dispose()


def _on_postgres(request: pytest.FixtureRequest, name: str, template: str) -> Iterator[str]:
    server: PostgresServer = request.getfixturevalue("postgres")
    yield server.create(name, template)
    server.drop(name)
