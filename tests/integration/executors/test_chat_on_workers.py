"""A chat agent on Celery workers: one is killed in the middle of a turn."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text
from tests.pace import short_leases

from agentic.core.types import JSONValue
from agentic.mappers import ExecutionStatus, add_agent, find_project
from agentic.plugins.chat.models import ChatTurnModel

if TYPE_CHECKING:
    from tests.integration.executors.conftest import Place

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

TOOLS = '''
import asyncio
from pathlib import Path

HERE = Path(__file__).parent


def note(word: str) -> str:
    """Note a word."""
    with (HERE / "notes.txt").open("a") as file:
        file.write(f"{word}\\n")
    return word


async def wait() -> str:
    """Wait for the gate."""
    note("wait")
    while not (HERE / "gate").exists():
        await asyncio.sleep(0.01)
    return "open"
'''
SCRIPT = "- call: {note: {word: first}}\n- call: {wait: {}}\n- All is done.\n"


@pytest.mark.requirement("SC08")
def test_a_worker_killed_in_a_turn_repeats_no_finished_call_and_no_answered_request(place: Place) -> None:
    """The next worker continues the turn in the kept thread: only the call that was under way is repeated."""
    (place.path / "tools.py").write_text(TOOLS)
    (place.path / "script.yaml").write_text(SCRIPT)
    place.env |= {"AGENTIC_MODULE_PATH": json.dumps([str(place.path)]), **short_leases(2.0, 0.2)}
    tools: list[JSONValue] = ["./tools.py:note", "./tools.py:wait"]
    config: dict[str, JSONValue] = {
        "model": "scripted:script.yaml", "tools": tools, "prompt": "Do it.", "thread": "kept",
    }  # fmt: skip
    with place.database.writing() as session:
        agent = add_agent(session, find_project(session, "default"), "doer", "chat", config)
    first = place.start_worker()
    execution = place.submit(agent)
    notes = place.path / "notes.txt"
    place.eventually(lambda: notes.exists() and "wait" in notes.read_text())
    place.kill(first)
    (place.path / "gate").touch()
    place.start_worker()
    ended = place.ended(execution.id)
    assert (ended.status, ended.error) == (ExecutionStatus.SUCCEEDED, None)
    assert notes.read_text().split() == ["first", "wait", "wait"]
    with place.database.reading() as session:
        (turn,) = session.query(ChatTurnModel).all()
        entries = session.scalars(text("SELECT text FROM thread_entries ORDER BY number")).all()
    assert (turn.text, turn.requests, turn.tool_calls) == ("All is done.", 3, 2)
    roles = [message["role"] for entry in entries for message in json.loads(entry).get("messages", [])]
    assert roles == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
