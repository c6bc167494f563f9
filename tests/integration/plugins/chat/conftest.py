"""A migrated database with one project, on SQLite and PostgreSQL, and agents that follow scripts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest
import yaml
from tests.commands import invoke
from typer.testing import Result

from agentic.core.bus import MemoryBus
from agentic.core.cli.main import build_app
from agentic.core.types import JSONValue
from agentic.executors.agents.runner import ExecutionOutcome, run_execution
from agentic.mappers import AgentModel, Database, add_agent, add_project, create_execution, find_project
from agentic.plugins.chat.models import ChatTurnModel

TOOLS = '''
from pathlib import Path

from agentic.core.agents import tool

DONE = Path(__file__).with_name("done.txt")


def find_order(number: int) -> dict:
    """Find an order."""
    with DONE.open("a") as file:
        file.write(f"find {number}\\n")
    return {"number": number, "product": "lamp"}


@tool(approval="always")
def refund(number: int) -> str:
    """Pay back."""
    with DONE.open("a") as file:
        file.write(f"refund {number}\\n")
    return f"paid back order {number}"
'''


class Write(Protocol):
    """Writes a script, and returns the config of an agent that follows it."""

    def __call__(self, script: str, **more: JSONValue) -> dict[str, JSONValue]: ...


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with tools, on the module path."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "tools.py").write_text(TOOLS)
    monkeypatch.setenv("AGENTIC_MODULE_PATH", f'["{folder}"]')
    return folder


@pytest.fixture
def write(shop: Path) -> Write:
    """Provide :class:`Write`."""

    def write(script: str, **more: JSONValue) -> dict[str, JSONValue]:
        number = len(list(shop.glob("*.yaml")))
        (shop / f"script{number}.yaml").write_text(script)
        tools: list[JSONValue] = ["./tools.py:find_order", "./tools.py:refund"]
        return {"model": f"scripted:script{number}.yaml", "tools": tools, "prompt": "Order 7 broke.", **more}

    return write


class Desk:
    """The agents of a project, and their turns."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def add(self, config: dict[str, JSONValue], name: str = "help", goals: str | None = None) -> AgentModel:
        with self.database.writing() as session:
            return add_agent(session, find_project(session, "shop"), name, "chat", config, goals)

    def queue(self, agent: AgentModel) -> str:
        with self.database.writing() as session:
            return create_execution(session, agent).id

    async def run(self, agent: AgentModel, execution_id: str = "") -> ExecutionOutcome:
        name = execution_id or self.queue(agent)
        return await run_execution(name, agent.id, database=self.database, bus=MemoryBus())

    def turns(self) -> list[ChatTurnModel]:
        from sqlalchemy import select

        with self.database.reading() as session:
            found = list(session.scalars(select(ChatTurnModel).order_by(ChatTurnModel.first_seen_at)))
            session.expunge_all()
        return found


@pytest.fixture
def desk(whole_url: str) -> Iterator[Desk]:
    opened = Database(whole_url)
    with opened.writing() as session:
        add_project(session, "shop")
    yield Desk(opened)
    opened.dispose()


def done(shop: Path) -> list[str]:
    """Return the calls of tools so far."""
    file = shop / "done.txt"
    return file.read_text().split(os.linesep)[:-1] if file.exists() else []


@dataclass(frozen=True)
class Line:
    """The command line, with an agent ``help``."""

    shop: Path
    write: Write

    def add(self, script: str, **more: Any) -> None:
        config = self.write(script, prompt="", **more)
        file = self.shop / "help.yml"
        file.write_text(yaml.safe_dump(config))
        self("agents", "add", "help", "--platform", "chat", "--file", str(file), "--replace")

    def run(self, *words: str, typed: str = "") -> Result:
        return invoke(build_app(), words, typed)

    def __call__(self, *words: str, typed: str = "") -> str:
        result = self.run(*words, typed=typed)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.stdout

    def events(self, *words: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self("chat", "help", *words, "--json").splitlines()]

    def threads(self, *words: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self("threads", "list", *words, "--json"))
        return found


@pytest.fixture
def line(whole_url: str, shop: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> Iterator[Line]:
    for name, value in {"DATABASE_URL": whole_url, "HOME": str(shop / "home"), "USER": "ada"}.items():
        monkeypatch.setenv(f"AGENTIC_{name}", value)
    yield Line(shop, write)
    Database(whole_url).dispose()
