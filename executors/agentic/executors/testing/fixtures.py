"""The fixtures; pytest finds them by an entry point. They load their imports on use."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentic.executors.testing.databases import SQLITE, backends

if TYPE_CHECKING:
    from agentic.executors.testing.homes import Home
    from agentic.executors.testing.postgres_databases import PostgresDatabases
    from agentic.executors.testing.running import RunAgent
    from agentic.executors.testing.secrets import Secrets
    from agentic.executors.testing.sites import Site
    from agentic.executors.testing.workflows import RunWorkflow
    from agentic.mappers import Database


@pytest.fixture(scope="session")
def _agentic_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the tables of all installed plugins, to copy: a migration takes 0.2 s."""
    from agentic.core.hooks import get_registry
    from agentic.migrations.runner import upgrade

    path = tmp_path_factory.mktemp("agentic") / "tables.db"
    upgrade(f"sqlite:///{path}", get_registry())
    return path


@pytest.fixture
def agentic_database(_agentic_tables: Path, tmp_path: Path) -> Iterator[Database]:
    """Provide an empty database with the tables of all installed plugins."""
    from agentic.mappers import Database

    database = Database(f"sqlite:///{shutil.copy(_agentic_tables, tmp_path / 'agentic.db')}")
    yield database
    database.dispose()


@pytest.fixture(scope="session")
def _agentic_postgres() -> Iterator[PostgresDatabases]:
    """A PostgreSQL server, for all tests: it takes seconds to start."""
    from agentic.executors.testing.databases import postgres_databases

    with postgres_databases() as server:
        yield server


@pytest.fixture(scope="session")
def _agentic_postgres_tables(_agentic_postgres: PostgresDatabases) -> Iterator[str]:
    """A database on it with the tables of all installed plugins, to copy."""
    from agentic.core.hooks import get_registry
    from agentic.migrations.runner import upgrade

    name = _new_name()
    upgrade(_agentic_postgres.create(name), get_registry())
    yield name
    _agentic_postgres.drop(name)


@pytest.fixture(params=backends())
def agentic_each_database(request: pytest.FixtureRequest) -> Iterator[Database]:
    """Provide ``agentic_database`` on SQLite, and again on PostgreSQL if there is a server."""
    if request.param == SQLITE:
        yield request.getfixturevalue("agentic_database")
        return
    from agentic.mappers import Database

    template: str = request.getfixturevalue("_agentic_postgres_tables")
    server: PostgresDatabases = request.getfixturevalue("_agentic_postgres")
    name = _new_name()
    database = Database(server.create(name, template))
    yield database
    database.dispose()
    server.drop(name)


@pytest.fixture
def run_agent(agentic_database: Database) -> RunAgent:
    """Provide a runner of agents with ``agentic_database``."""
    from agentic.executors.testing.running import RunAgent

    return RunAgent(agentic_database)


@pytest.fixture
def run_workflow() -> RunWorkflow:
    """Provide a runner of workflows in this process."""
    from agentic.executors.testing.workflows import RunWorkflow

    return RunWorkflow()


@pytest.fixture
def agentic_secrets(agentic_database: Database, monkeypatch: pytest.MonkeyPatch) -> Secrets:
    """Provide the secrets of the projects of ``agentic_database``, with the test's own key."""
    from agentic.executors.testing.secrets import Secrets

    return Secrets(agentic_database, monkeypatch)


@pytest.fixture
def agentic_site() -> Iterator[Site]:
    """Provide a server on loopback with responses set by the test."""
    from agentic.executors.testing.sites import Site

    with Site() as site:
        yield site


@pytest.fixture
async def agentic_nats(tmp_path: Path) -> AsyncIterator[str]:
    """Provide the URL of the test's own NATS server."""
    from agentic.core.services import ServiceSupervisor, nats_service

    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]) as supervisor:
        yield supervisor.urls["nats"]


@pytest.fixture
def agentic_home(tmp_path: Path) -> Iterator[Home]:
    """Provide a home where ``agentic up`` runs: broker, NATS and a worker."""
    from agentic.executors.testing.homes import Home

    with Home(tmp_path) as home:
        yield home


def _new_name() -> str:
    """Return a unique database name, even if others share the server."""
    return f"agentic_test_{uuid.uuid4().hex}"
