"""A migrated database with a project, a shop on loopback, and agents that crawl it."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest
from sqlalchemy import select

from agentic.core.bus import MemoryBus
from agentic.core.types import JSONValue
from agentic.executors.agents.runner import ExecutionOutcome, run_execution
from agentic.fakes.server import FakeServer
from agentic.fakes.shop.site import Shop
from agentic.mappers import (
    AgentModel,
    AgentResultModel,
    Database,
    add_agent,
    add_project,
    create_execution,
    find_project,
)
from agentic.plugins.web.models import WebPageModel

PRODUCTS = 60
Site = dict[str, JSONValue]


class MakeAgent(Protocol):
    """Adds a web agent to a project; keywords are its config."""

    def __call__(self, *, project: str = "shops", **config: JSONValue) -> AgentModel: ...


RunAgent = Callable[[AgentModel], Awaitable[ExecutionOutcome]]


@pytest.fixture
def database(tmp_path: Path, whole_file: Path) -> Iterator[Database]:
    opened = Database(f"sqlite:///{shutil.copy(whole_file, tmp_path / 'web.db')}")
    with opened.writing() as session:
        add_project(session, "shops")
        add_project(session, "others")
    yield opened
    opened.dispose()


@pytest.fixture
def fakes() -> Iterator[FakeServer]:
    with FakeServer(seed=1, stories=1, products=PRODUCTS) as server:
        yield server


@pytest.fixture
def make_agent(database: Database, fakes: FakeServer) -> MakeAgent:
    def make(*, project: str = "shops", **config: JSONValue) -> AgentModel:
        chosen: Site = {
            "pipeline": "site",
            "inputs": {"start_url": fakes.shop_url},
            "http": {"allow_private_hosts": ["127.0.0.1"]},
            **config,
        }
        with database.writing() as session:
            return add_agent(session, find_project(session, project), "crawler", "web", chosen)

    return make


@pytest.fixture
def run_agent(database: Database) -> RunAgent:
    """Run an agent as a new execution."""

    async def run(agent: AgentModel) -> ExecutionOutcome:
        with database.writing() as session:
            execution_id = create_execution(session, agent).id
        return await run_execution(execution_id, agent.id, database=database, bus=MemoryBus())

    return run


@pytest.fixture
def stored_urls(database: Database) -> Callable[[], list[str]]:
    """Return the URL of every stored page."""

    def read() -> list[str]:
        with database.reading() as session:
            return list(session.scalars(select(WebPageModel.url)))

    return read


@pytest.fixture
def shop_urls(fakes: FakeServer) -> set[str]:
    """The URL of every page of the shop that is worth storing."""
    return {fakes.shop_url.rstrip("/") + path for path in Shop(seed=1, products=PRODUCTS).paths()}


@pytest.fixture
def summary(database: Database) -> Callable[[ExecutionOutcome], dict[str, JSONValue]]:
    """Return the stored short result of an execution."""

    def read(outcome: ExecutionOutcome) -> dict[str, JSONValue]:
        query = select(AgentResultModel).where(AgentResultModel.execution_id == outcome.execution_id)
        with database.reading() as session:
            return session.scalars(query).one().summary

    return read
