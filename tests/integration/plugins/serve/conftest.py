"""A home with scripted agents, and a server of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.serving import ServedHere, served

from agentic.core.settings import load_settings
from agentic.core.types import JSONValue
from agentic.executors.commands.shared.database import ready_database
from agentic.mappers import add_agent
from agentic.mappers.catalog.projects import ensure_project

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

AddAgent = Callable[..., None]


@pytest.fixture
def home(first_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with tools, on the module path."""
    (tmp_path / "tools.py").write_text(TOOLS)
    monkeypatch.setenv("AGENTIC_MODULE_PATH", json.dumps([str(tmp_path)]))
    monkeypatch.setenv("AGENTIC_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AGENTIC_SQLITE_SYNCHRONOUS", "normal")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "home").mkdir()
    shutil.copy(first_file, tmp_path / "home" / "agentic.db")
    return tmp_path / "home"


@pytest.fixture
def add(home: Path) -> AddAgent:
    """Add an agent that follows a script."""
    database = ready_database(load_settings(home=home))

    def put(name: str, script: str, *, project: str = "default", **more: JSONValue) -> None:
        file = home.parent / f"{name}.yaml"
        file.write_text(script)
        config: dict[str, Any] = {"model": f"scripted:{file}", **more}
        with database.writing() as session:
            add_agent(session, ensure_project(session, project), name, "chat", config)

    return put


@pytest.fixture
async def server(home: Path, add: AddAgent) -> AsyncIterator[ServedHere]:
    async with served(home) as found:
        yield found
