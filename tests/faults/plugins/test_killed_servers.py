"""A server that is killed loses no run: the next one continues it, and its readers resume."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from tests.commands import Command, start_command
from tests.pace import short_leases

from agentic.core.settings import load_settings
from agentic.core.types import JSONValue
from agentic.executors.commands.shared.database import ready_database
from agentic.executors.serving import make_token
from agentic.mappers import add_agent
from agentic.mappers.catalog.projects import ensure_project

pytestmark = [pytest.mark.faults, pytest.mark.timeout(120), pytest.mark.requirement("AG24")]

TOKEN = make_token()
TOOLS = '''
import asyncio
from pathlib import Path

HERE = Path(__file__).parent


def note(word: str) -> str:
    """Note a word."""
    with (HERE / "notes.txt").open("a") as file:
        file.write(f"{word}\\n")
    return word


async def wait(name: str) -> str:
    """Wait for a gate."""
    while not (HERE / name).exists():
        await asyncio.sleep(0.01)
    return "open"
'''
SCRIPT = "- call: {note: {word: NAME}}\n- call: {wait: {name: NAME}}\n- All is done.\n"


@contextmanager
def server(env: dict[str, str], folder: Path) -> Iterator[tuple[str, Command]]:
    """Start ``agentic serve``; yield its address."""
    with (folder / "said.txt").open("w+b") as said:
        process = start_command(["serve", "--port", "0"], env, folder, said)
        try:
            while (found := re.search(r"(http://\S+);", (folder / "said.txt").read_text())) is None:
                assert process.poll() is None, (folder / "said.txt").read_text()
                time.sleep(0.02)
            yield found[1], process
        finally:
            process.kill()
            process.wait()


def read(url: str, name: str, *, last: str = "", count: int | None = None) -> tuple[list[str], str]:
    """Return the kinds of the events of a run, and the last id; stop after ``count`` events."""
    body = {"threadId": name, "runId": "r1", "messages": [{"id": "m", "role": "user", "content": "Go."}]}
    headers = {"authorization": f"Bearer {TOKEN}", **({"last-event-id": last} if last else {})}
    kinds: list[str] = []
    with httpx2.stream("POST", f"{url}/ag-ui/{name}", json=body, headers=headers, timeout=60) as answer:
        for line in answer.iter_lines():
            last = line.removeprefix("id: ") if line.startswith("id: ") else last
            if line.startswith("data: "):
                kinds.append(json.loads(line.removeprefix("data: "))["type"])
                if len(kinds) == count:
                    break
    return kinds, last


@pytest.mark.slow
def test_readers_of_a_killed_server_resume_at_the_next_one(first_file: Path, tmp_path: Path) -> None:
    """Three readers are cut at different points of their runs, all by one kill."""
    (tmp_path / "tools.py").write_text(TOOLS)
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(first_file, home / "agentic.db")
    names = ("early", "middle", "late")
    with ready_database(load_settings(home=home)).writing() as session:
        project = ensure_project(session, "default")
        for name in names:
            (tmp_path / f"{name}.yaml").write_text(SCRIPT.replace("NAME", name))
            config: dict[str, JSONValue] = {
                "model": f"scripted:{tmp_path / name}.yaml",
                "tools": [f"{tmp_path}/tools.py:note", f"{tmp_path}/tools.py:wait"],
            }
            add_agent(session, project, name, "chat", config)
    env = {
        **os.environ,
        **short_leases(1.0, 0.1),
        "AGENTIC_HOME": str(home),
        "AGENTIC_SERVE_TOKEN": TOKEN,
        "AGENTIC_MODULE_PATH": json.dumps([str(tmp_path)]),
    }
    seen: dict[str, list[str]] = {}
    places: dict[str, str] = {}
    with server(env, tmp_path) as (url, process):
        for name, count in zip(names, (1, 4, 8), strict=True):  # the 8th is the end of the call that waits
            seen[name], places[name] = read(url, name, count=count)
        os.kill(process.pid, signal.SIGKILL)
    for name in names:
        (tmp_path / name).touch()
    with server(env, tmp_path) as (url, _):
        for name in names:
            rest, _ = read(url, name, last=places[name])
            whole, _ = read(url, name)
            quiet = [kind for kind in [*seen[name], *rest] if kind != "TEXT_MESSAGE_CONTENT"]
            assert quiet == [kind for kind in whole if kind != "TEXT_MESSAGE_CONTENT"], name
            assert quiet[-1] == "RUN_FINISHED"
    noted = (tmp_path / "notes.txt").read_text().split()
    assert sorted(set(noted)) == sorted(names)
    assert noted.count("late") == 1  # its result was in the thread before the kill
