"""Agents of the platform ``langgraph``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from tests.integration.plugins.langgraph import graphs

from agentic.core.bus import MemoryBus
from agentic.core.hooks import get_registry
from agentic.executors.agents.runner import ExecutionOutcome, run_execution
from agentic.executors.errors import AgentConfigError
from agentic.mappers import (
    AgentModel,
    Database,
    ExecutionStatus,
    add_agent,
    add_project,
    create_execution,
    find_project,
)
from agentic.plugins.langgraph.models import LangGraphRunModel

pytestmark = pytest.mark.integration


@pytest.fixture(params=["sqlite"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Desk:
    """The agents of a project."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def add(self, graph: str, name: str = "a", goals: str | None = None, **config: Any) -> AgentModel:
        with self.database.writing() as session:
            owner = find_project(session, "shop")
            given = {"graph": f"{graphs.__name__}:{graph}", **config}
            return add_agent(session, owner, name, "langgraph", given, goals)

    async def run(self, agent: AgentModel) -> ExecutionOutcome:
        with self.database.writing() as session:
            name = create_execution(session, agent).id
        return await run_execution(name, agent.id, database=self.database, bus=MemoryBus())

    def rows(self) -> list[LangGraphRunModel]:
        with self.database.reading() as session:
            found = session.query(LangGraphRunModel).order_by(LangGraphRunModel.first_seen_at).all()
            session.expunge_all()
        return found

    def count(self, table: str) -> int:
        with self.database.reading() as session:
            return int(session.scalar(text(f"SELECT count(*) FROM langgraph_{table}")) or 0)


@pytest.fixture
def desk(whole_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setenv("AGENTIC_WORKFLOW_MODULES", '["tests"]')
    monkeypatch.setenv(graphs.NOTES, str(tmp_path))
    (tmp_path / "gate").touch()
    database = Database(whole_url)
    with database.writing() as session:
        add_project(session, "shop")
    yield Desk(database)
    database.dispose()


async def test_an_execution_runs_an_agent_of_langgraph_and_stores_its_state(desk: Desk) -> None:
    outcome = await desk.run(desk.add("agent", goals="How is it in Oslo?"))
    assert (outcome.status, outcome.error) == (ExecutionStatus.SUCCEEDED, None)
    (row,) = desk.rows()
    output: Any = row.output
    assert (row.graph, row.text, row.steps) == (f"{graphs.__name__}:agent", "It is sunny.", 3)
    assert [one["type"] for one in output["messages"]] == ["human", "ai", "tool", "ai"]
    assert desk.count("checkpoints") == 1


async def test_a_kept_thread_continues_and_no_history_leaves_nothing(desk: Desk) -> None:
    kept = desk.add("agent", "kept", "Oslo?", thread="kept")
    for _ in range(2):
        await desk.run(kept)
    lengths = [len(row.output["messages"]) for row in desk.rows()]  # type: ignore[call-overload, index, arg-type]  # JSON
    assert lengths == [4, 5]  # the answer has the id of the first one, and takes its place
    assert len({row.thread_id for row in desk.rows()}) == 1
    before = desk.count("threads")
    await desk.run(desk.add("agent", "brief", "Oslo?", history="none"))
    assert (desk.count("threads"), len(desk.rows())) == (before, 3)


async def test_a_graph_that_fails_says_why_and_can_be_run_again(desk: Desk) -> None:
    outcome = await desk.run(desk.add("broken", input={"city": "Oslo"}))
    assert (outcome.status, outcome.error) == (ExecutionStatus.FAILED, "no luck")
    assert desk.rows() == []


@pytest.mark.parametrize(
    ("config", "fault"),
    [
        ({"graph": "os"}, "graph: 'os' is no name"),
        ({"graph": "os:path.join", "input": "x"}, "the module 'os' is not trusted"),
        ({"types": ["x y:Z"]}, "is no name"),
        ({"configurable": {"thread_id": "t"}}, "thread_id cannot be set here"),
        ({"history": "none", "thread": "kept"}, "use it with thread: new and store: sql"),
        ({"input": None}, "an execution has no input"),
        ({"durability": "never"}, "durability"),
    ],
)
def test_a_config_that_cannot_work_is_refused(desk: Desk, config: dict[str, Any], fault: str) -> None:
    whole = {"graph": f"{graphs.__name__}:agent", "input": "Oslo?", **config}
    row = AgentModel(agent_name="a", agent_platform="langgraph", config=whole, goals=None)
    with pytest.raises(AgentConfigError, match=fault):
        get_registry().platform("langgraph").executor(row, "e").validate()


def test_the_doctor_names_agents_that_cannot_run(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    from agentic.mappers.vault.keys import SecretKeys
    from agentic.plugins.langgraph.executor import doctor

    desk.add("agent", goals="Oslo?")
    monkeypatch.setenv("AGENTIC_WORKFLOW_MODULES", "[]")
    (finding,) = doctor.findings_in(desk.database, SecretKeys())
    assert "is not trusted; add its package to AGENTIC_WORKFLOW_MODULES" in finding.text


def test_the_platform_is_listed_without_loading_langgraph() -> None:
    code = """
import sys
from agentic.core.hooks import get_registry
import agentic.plugins.langgraph
assert get_registry().platform("langgraph").settings
print(any(name.startswith(("langgraph.", "langchain_core")) for name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
