"""The fixtures; pytest finds them by an entry point. What they need is loaded when they are used."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from agentic.executors.testing.homes import Home
    from agentic.executors.testing.running import RunAgent
    from agentic.executors.testing.sites import Site
    from agentic.mappers import Database


@pytest.fixture(scope="session")
def _agentic_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the tables of all installed plugins, to be copied: to migrate takes 0.2 s."""
    from agentic.core.hooks import get_registry
    from agentic.migrations.runner import upgrade

    path = tmp_path_factory.mktemp("agentic") / "tables.db"
    upgrade(f"sqlite:///{path}", get_registry())
    return path


@pytest.fixture
def agentic_database(_agentic_tables: Path, tmp_path: Path) -> Iterator[Database]:
    """Give an empty database with the tables of all installed plugins."""
    from agentic.mappers import Database

    database = Database(f"sqlite:///{shutil.copy(_agentic_tables, tmp_path / 'agentic.db')}")
    yield database
    database.dispose()


@pytest.fixture
def run_agent(agentic_database: Database) -> RunAgent:
    """Give what runs agents into ``agentic_database``."""
    from agentic.executors.testing.running import RunAgent

    return RunAgent(agentic_database)


@pytest.fixture
def agentic_site() -> Iterator[Site]:
    """Give a server on loopback that says what the test wants it to."""
    from agentic.executors.testing.sites import Site

    with Site() as site:
        yield site


@pytest.fixture
async def agentic_nats(tmp_path: Path) -> AsyncIterator[str]:
    """Give the URL of a NATS server of the test's own."""
    from agentic.core.services import Supervisor, nats_service

    async with Supervisor(tmp_path, [nats_service(tmp_path)]) as supervisor:
        yield supervisor.urls["nats"]


@pytest.fixture
def agentic_home(tmp_path: Path) -> Iterator[Home]:
    """Give a home in which ``agentic up`` runs: broker, NATS and a worker."""
    from agentic.executors.testing.homes import Home

    with Home(tmp_path) as home:
        yield home
