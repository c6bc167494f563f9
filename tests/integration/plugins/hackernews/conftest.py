"""A migrated database with one project, on SQLite and PostgreSQL, and agents that ask the fakes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

import pytest

from agentic.core.bus import MemoryBus
from agentic.core.types import JSONValue
from agentic.executors.agents.runner import ExecutionOutcome, run_execution
from agentic.fakes.server import FakeServer
from agentic.mappers import AgentModel, Database, add_agent, add_project, create_execution, find_project

MakeAgent = Callable[..., AgentModel]
RunAgent = Callable[..., Awaitable[ExecutionOutcome]]


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentic.executors.retrying.FIRST_DELAY_S", 0.01)


@pytest.fixture
def database(whole_url: str) -> Iterator[Database]:
    opened = Database(whole_url)
    with opened.writing() as session:
        add_project(session, "news")
    yield opened
    opened.dispose()


@pytest.fixture
def make_agent(database: Database) -> MakeAgent:
    """Add a Hacker News agent; ``project`` names an existing project, other keywords are its config."""

    def make(name: str = "front", project: str = "news", **config: JSONValue) -> AgentModel:
        with database.writing() as session:
            return add_agent(session, find_project(session, project), name, "hackernews", config)

    return make


@pytest.fixture
def run_agent(database: Database, make_agent: MakeAgent, fakes: FakeServer) -> RunAgent:
    """Run a new agent on the fakes, ``times`` times, and return the last outcome; keywords are its config."""

    async def run(*, name: str = "front", times: int = 1, **config: JSONValue) -> ExecutionOutcome:
        local: dict[str, JSONValue] = {
            "base_url": fakes.hackernews_url,
            "algolia_url": fakes.algolia_url,
            "allow_private_hosts": [f"{fakes.host}:{fakes.port}"],
        }
        agent = make_agent(name, **{**local, **config})
        outcomes = []
        for _ in range(times):
            with database.writing() as session:
                execution_id = create_execution(session, agent).id
            outcomes.append(await run_execution(execution_id, agent.id, database=database, bus=MemoryBus()))
        return outcomes[-1]

    return run
