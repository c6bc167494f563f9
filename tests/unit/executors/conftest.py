"""A laboratory: a database in a file, and a platform whose executor does what the test tells it."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, SecretStr

from agentic.core.bus import MemoryBus
from agentic.core.hooks import Platform, get_registry
from agentic.core.types import JSONValue
from agentic.executors import BaseAgentExecutor
from agentic.mappers import (
    AgentModel,
    AgentResultModel,
    Base,
    Database,
    ExecutionModel,
    ResultMapper,
    add_agent,
    add_project,
    create_execution,
    find_project,
)

State = dict[str, object]
PLATFORM = "toy"


class ToySettings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    limit: int = 3
    token: SecretStr = SecretStr("")


class ToyMapper(ResultMapper):
    def save_results(self, results: Mapping[str, object]) -> bool:
        return self.save_agent_result(results)


async def echo(_executor: BaseAgentExecutor, state: State) -> State:
    return {"state": state}


@dataclass
class Script:
    """What the executors of the platform ``toy`` do, and what they did."""

    work: Callable[[BaseAgentExecutor, State], Awaitable[State]] = echo
    save: Callable[[BaseAgentExecutor, State], bool] | None = None
    clean_ups: list[str] = field(default_factory=list)


class ToyExecutor(BaseAgentExecutor):
    script: Script

    async def execute_agent(self, state: State) -> State:
        return await self.script.work(self, state)

    def save_results(self, results: State) -> bool:
        return self.script.save(self, results) if self.script.save else super().save_results(results)

    async def cleanup(self) -> None:
        self.script.clean_ups.append(self.execution_id)


@dataclass(frozen=True, kw_only=True)
class Lab:
    """What a test works with; agents belong to the project ``lab``."""

    database: Database
    bus: MemoryBus
    script: Script

    def agent(
        self,
        name: str = "toy-agent",
        *,
        platform: str = PLATFORM,
        config: Mapping[str, JSONValue] | None = None,
        goals: str | None = None,
    ) -> AgentModel:
        with self.database.writing() as session:
            return add_agent(session, find_project(session, "lab"), name, platform, config, goals)

    def execution(self, agent: AgentModel | None = None) -> ExecutionModel:
        agent = agent or self.agent()
        with self.database.writing() as session:
            return create_execution(session, agent)

    def stored(self, execution_id: str) -> ExecutionModel:
        """Return an execution as the database has it now."""
        with self.database.reading() as session:
            found = session.get(ExecutionModel, execution_id)
            assert found is not None
            return found

    def result_count(self) -> int:
        with self.database.reading() as session:
            return session.query(AgentResultModel).count()


@pytest.fixture(scope="session")
def file_with_tables(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Return a function that returns a SQLite file with the tables of all models, to be copied."""
    made: dict[frozenset[str], Path] = {}

    def make() -> Path:
        names = frozenset(Base.metadata.tables)  # platforms load their models when they are used
        if names not in made:
            path = tmp_path_factory.mktemp("tables") / "data.db"
            path.touch()
            database = Database(f"sqlite:///{path}")
            Base.metadata.create_all(database.engine)
            database.dispose()
            made[names] = path
        return made[names]

    return make


@pytest.fixture
def lab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_with_tables: Callable[[], Path]
) -> Iterator[Lab]:
    script = Script()
    monkeypatch.setattr(ToyExecutor, "script", script, raising=False)
    monkeypatch.setattr(
        get_registry(), "_added", {}
    )  # to read what is installed takes longer than most tests
    get_registry().add_platform(
        Platform(name=PLATFORM, executor=ToyExecutor, mapper=ToyMapper, settings=ToySettings)
    )
    database = Database(f"sqlite:///{shutil.copy(file_with_tables(), tmp_path / 'lab.db')}")
    with database.writing() as session:
        add_project(session, "lab")
    bus = MemoryBus()
    yield Lab(database=database, bus=bus, script=script)
    database.dispose()
