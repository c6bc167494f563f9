"""A migrated database, feeds on loopback, and a clock that is turned by hand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

from agentic.core.bus import MemoryBus
from agentic.core.hooks import get_registry
from agentic.core.types import JSONValue
from agentic.executors.agents.runner import ExecutionOutcome, run_execution
from agentic.fakes.server import FakeServer
from agentic.mappers import AgentModel, Database, add_agent, add_project, create_execution, find_project
from agentic.migrations.runner import upgrade
from agentic.plugins.feed.executor import FeedAgentExecutor
from agentic.plugins.feed.models import FeedEntryModel, FeedModel

RunAgent = Callable[[AgentModel], Awaitable[ExecutionOutcome]]


@dataclass
class Clock:
    """Says what time it is."""

    now: datetime = datetime(2026, 11, 2, 9, tzinfo=UTC)

    def turn(self, **by: float) -> None:
        self.now += timedelta(**by)


class Watcher:
    """An agent that watches feeds of the fakes, and what it has stored."""

    def __init__(self, database: Database, fakes: FakeServer, clock: Clock) -> None:
        self.database = database
        self.fakes = fakes
        self.clock = clock
        self._count = 0

    def url(self, name: str) -> str:
        return f"{self.fakes.feeds_url}{name}"

    def agent(self, *names: str, project: str = "blogs", **config: JSONValue) -> AgentModel:
        """Add an agent for the feeds of those names."""
        self._count += 1
        chosen: dict[str, JSONValue] = {
            "feeds": [self.url(name) for name in names],
            "allow_private_hosts": [f"{self.fakes.host}:{self.fakes.port}"],
            **config,
        }
        with self.database.writing() as session:
            return add_agent(session, find_project(session, project), f"a{self._count}", "feed", chosen)

    async def run(self, agent: AgentModel) -> ExecutionOutcome:
        with self.database.writing() as session:
            execution_id = create_execution(session, agent).id
        return await run_execution(execution_id, agent.id, database=self.database, bus=MemoryBus())

    def feeds(self) -> Sequence[FeedModel]:
        with self.database.reading() as session:
            return session.scalars(select(FeedModel).order_by(FeedModel.url)).all()

    def entries(self) -> Sequence[FeedEntryModel]:
        query = select(FeedEntryModel).order_by(FeedEntryModel.published_at.desc())
        with self.database.reading() as session:
            return session.scalars(query).all()

    def asked(self, name: str) -> int:
        """Return how often a feed was asked for."""
        counted = self.fakes.control.stats()["requests"]
        assert isinstance(counted, dict)
        return int(str(counted.get(f"/feeds/{name}", 0)))


@pytest.fixture(scope="session")
def migrated_feeds(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A SQLite file with all tables and two projects."""
    path = tmp_path_factory.mktemp("feeds") / "data.db"
    url = f"sqlite:///{path}"
    upgrade(url, get_registry())
    database = Database(url)
    with database.writing() as session:
        add_project(session, "blogs")
        add_project(session, "others")
    database.dispose()
    return path.read_bytes()


@pytest.fixture
def database(tmp_path: Path, migrated_feeds: bytes) -> Iterator[Database]:
    path = tmp_path / "feeds.db"
    path.write_bytes(migrated_feeds)
    opened = Database(f"sqlite:///{path}")
    yield opened
    opened.dispose()


@pytest.fixture(scope="module")
def shared_fakes() -> Iterator[FakeServer]:
    with FakeServer(seed=1, stories=1, products=1) as server:
        yield server


@pytest.fixture
def fakes(shared_fakes: FakeServer) -> FakeServer:
    shared_fakes.control.reset()
    return shared_fakes


@pytest.fixture
def peaceless_fakes() -> Iterator[FakeServer]:
    """Fakes on a port of their own, for a test after which nobody may ask them for an hour."""
    with FakeServer(seed=1, stories=1, products=1) as server:
        yield server


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(FeedAgentExecutor, "clock", staticmethod(lambda: clock.now))
    return clock


@pytest.fixture
def watcher(database: Database, fakes: FakeServer, clock: Clock) -> Watcher:
    return Watcher(database, fakes, clock)
