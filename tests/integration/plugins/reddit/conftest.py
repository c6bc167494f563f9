"""A migrated database with one project, on SQLite and PostgreSQL, and agents that ask the fake Reddit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime

import pytest

from agentic.core.bus import MemoryBus
from agentic.core.types import JSONValue
from agentic.executors.agents.runner import ExecutionOutcome, run_execution
from agentic.fakes.pages import TODAY
from agentic.fakes.reddit.credentials import CLIENT_ID, CLIENT_SECRET
from agentic.fakes.server import FakeServer
from agentic.mappers import AgentModel, Database, add_agent, add_project, create_execution, find_project
from agentic.plugins.reddit.executor import RedditAgentExecutor

MakeAgent = Callable[..., AgentModel]
RunReddit = Callable[..., Awaitable[ExecutionOutcome]]
Config = dict[str, JSONValue]


def local(fakes: FakeServer) -> Config:
    """Return what leads an agent to the fakes, with an app that they know."""
    allowed: list[JSONValue] = [f"{fakes.host}:{fakes.port}"]
    return {
        "mode": "oauth",
        "client_id": CLIENT_ID,
        "client_secret": "${secrets.reddit}",
        "contact": "ada",
        "base_url": fakes.reddit_api_url,
        "api_url": fakes.reddit_url,
        "feed_url": fakes.reddit_url,
        "html_url": fakes.reddit_url,
        "archive_url": fakes.reddit_archive_url,
        "feed_interval_s": 0.01,
        "allow_private_hosts": allowed,
    }


@pytest.fixture(autouse=True)
def client_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTIC_SECRET_REDDIT", CLIENT_SECRET)


@pytest.fixture
def today(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """Let it be the day that the fakes take for today."""
    monkeypatch.setattr(RedditAgentExecutor, "clock", staticmethod(lambda: TODAY))
    return TODAY


@pytest.fixture
def database(whole_url: str) -> Iterator[Database]:
    opened = Database(whole_url)
    with opened.writing() as session:
        add_project(session, "talk")
    yield opened
    opened.dispose()


@pytest.fixture
def make_agent(database: Database) -> MakeAgent:
    """Add a Reddit agent; ``project`` names an existing project, other keywords are its config."""

    def make(name: str = "watch", project: str = "talk", **config: JSONValue) -> AgentModel:
        with database.writing() as session:
            return add_agent(session, find_project(session, project), name, "reddit", config)

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
def run_reddit(database: Database, make_agent: MakeAgent, fakes: FakeServer) -> RunReddit:
    """Run a new agent on the fakes, ``times`` times, and return the last outcome; keywords are its config."""

    async def run(*, name: str = "watch", times: int = 1, **config: JSONValue) -> ExecutionOutcome:
        agent = make_agent(name, **{**local(fakes), **config})
        outcomes = []
        for _ in range(times):
            with database.writing() as session:
                execution_id = create_execution(session, agent).id
            outcomes.append(await run_execution(execution_id, agent.id, database=database, bus=MemoryBus()))
        return outcomes[-1]

    return run
