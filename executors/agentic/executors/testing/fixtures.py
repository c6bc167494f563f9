"""The fixtures; pytest finds them by an entry point. What they need is loaded when they are used."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from agentic.executors.testing.homes import Home
    from agentic.executors.testing.running import RunAgent
    from agentic.executors.testing.sites import Site
    from agentic.mappers import Database


@pytest.fixture
def agentic_database(tmp_path: Path) -> Iterator[Database]:
    """Give an empty database with the tables of all installed plugins."""
    from agentic.core.hooks import get_registry
    from agentic.mappers import Database
    from agentic.migrations.runner import upgrade

    url = f"sqlite:///{tmp_path / 'agentic.db'}"
    upgrade(url, get_registry())
    database = Database(url)
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
