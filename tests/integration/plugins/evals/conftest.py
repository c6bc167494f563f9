"""A migrated database with one project, on SQLite and PostgreSQL, and evaluations of functions and models."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import select
from tests.commands import invoke
from typer.testing import Result

from agentic.core.bus import MemoryBus
from agentic.core.cli.main import build_app
from agentic.core.types import JSONValue
from agentic.executors.agents.runner import ExecutionOutcome, run_execution
from agentic.mappers import AgentModel, Database, add_agent, add_project, create_execution, find_project
from agentic.plugins.evals.models import EvalCaseModel

TASKS = """
from pathlib import Path

DONE = Path(__file__).with_name("done.txt")


def shout(text):
    with DONE.open("a") as file:
        file.write(f"{text}\\n")
    if text == "broken":
        raise ConnectionError("no line")
    return text.upper()


def short(given):
    return len(given.answer) < 5
"""
CASES: list[JSONValue] = [
    {"id": "lamp", "input": "lamp", "expected": "LAMP"},
    {"id": "tea", "input": "tea", "expected": "COFFEE"},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a task and an evaluator, on the module path."""
    (tmp_path / "tasks.py").write_text(TASKS)
    monkeypatch.setenv("AGENTIC_MODULE_PATH", f'["{tmp_path}"]')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shouting(**more: JSONValue) -> dict[str, JSONValue]:
    """Return the config of an evaluation."""
    whole: dict[str, JSONValue] = {
        "name": "shouts",
        "task": {"function": "./tasks.py:shout"},
        "cases": CASES,
        "evaluators": ["exact", {"kind": "function", "function": "./tasks.py:short"}],
    }
    return {**whole, **more}


def done(folder: Path) -> list[str]:
    """Return the inputs that the task has answered."""
    file = folder / "done.txt"
    return file.read_text().split(os.linesep)[:-1] if file.exists() else []


class Desk:
    """The evaluations of a project, and their rows."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def add(self, config: dict[str, JSONValue], platform: str = "evals") -> AgentModel:
        with self.database.writing() as session:
            owner = find_project(session, "shop")
            return add_agent(session, owner, str(config.get("name", "other")), platform, config, None)

    def queue(self, agent: AgentModel) -> str:
        with self.database.writing() as session:
            return create_execution(session, agent).id

    async def run(self, agent: AgentModel, execution_id: str = "") -> ExecutionOutcome:
        name = execution_id or self.queue(agent)
        return await run_execution(name, agent.id, database=self.database, bus=MemoryBus())

    def rows(self) -> list[EvalCaseModel]:
        order = (EvalCaseModel.run_id, EvalCaseModel.case_id, EvalCaseModel.repeat)
        with self.database.reading() as session:
            found = list(session.scalars(select(EvalCaseModel).order_by(*order)))
            session.expunge_all()
        return found


@pytest.fixture
def desk(whole_url: str, folder: Path) -> Iterator[Desk]:
    opened = Database(whole_url)
    with opened.writing() as session:
        add_project(session, "shop")
    yield Desk(opened)
    opened.dispose()


class Line:
    """The command line, in a folder with an evaluation ``shouts.yaml``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str = "shouts.yaml", **more: JSONValue) -> None:
        config = {key: value for key, value in shouting(**more).items() if key != "name"}
        (self.folder / name).write_text(yaml.safe_dump(config))

    def run(self, *words: str) -> Result:
        return invoke(build_app(), ("evals", *words))

    def __call__(self, *words: str) -> str:
        result = self.run(*words)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.stdout

    def data(self, *words: str) -> Any:
        return json.loads(self(*words, "--json"))


@pytest.fixture
def line(whole_url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Line]:
    for name, value in {"DATABASE_URL": whole_url, "HOME": str(folder / "home")}.items():
        monkeypatch.setenv(f"AGENTIC_{name}", value)
    yield Line(folder)
    Database(whole_url).dispose()
