"""A migrated database with one project, on SQLite and PostgreSQL, and agents that ask the fake GitHub."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

import pytest

from agentic.core.bus import MemoryBus
from agentic.core.types import JSONValue
from agentic.executors.agents.runner import ExecutionOutcome, run_execution
from agentic.fakes.server import FakeServer
from agentic.mappers import AgentModel, Database, add_agent, add_project, create_execution, find_project

MakeAgent = Callable[..., AgentModel]
RunGithub = Callable[..., Awaitable[ExecutionOutcome]]


@pytest.fixture
def database(whole_url: str) -> Iterator[Database]:
    opened = Database(whole_url)
    with opened.writing() as session:
        add_project(session, "code")
    yield opened
    opened.dispose()


@pytest.fixture
def make_agent(database: Database) -> MakeAgent:
    """Add a GitHub agent; ``project`` names an existing project, other keywords are its config."""

    def make(name: str = "watch", project: str = "code", **config: JSONValue) -> AgentModel:
        with database.writing() as session:
            return add_agent(session, find_project(session, project), name, "github", config)

    return make


@pytest.fixture(scope="package")
def server() -> Iterator[FakeServer]:
    with FakeServer(seed=1, stories=10, products=10) as started:
        yield started


@pytest.fixture
def fakes(server: FakeServer) -> FakeServer:
    server.control.reset()
    return server


@pytest.fixture
def run_github(database: Database, make_agent: MakeAgent, fakes: FakeServer) -> RunGithub:
    """Run a new agent on the fakes, ``times`` times, and return the last outcome; keywords are its config."""

    async def run(*, name: str = "watch", times: int = 1, **config: JSONValue) -> ExecutionOutcome:
        allowed = [f"{fakes.host}:{fakes.port}"]
        agent = make_agent(name, **{"base_url": fakes.github_url, "allow_private_hosts": allowed, **config})
        outcomes = []
        for _ in range(times):
            with database.writing() as session:
                execution_id = create_execution(session, agent).id
            outcomes.append(await run_execution(execution_id, agent.id, database=database, bus=MemoryBus()))
        return outcomes[-1]

    return run
