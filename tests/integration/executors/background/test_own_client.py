"""Background runs by the client that a process has for all its runs, with settings of the environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentic.core.hooks import get_registry
from agentic.migrations import upgrade

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[4]

PROGRAM = """
import asyncio, sys
from tests.integration.executors.background.flows import writer
from agentic.core.agents import ContinuationToken, InvokeOptions
from agentic.core.agents.agent import last_response

async def begin():
    begun = await writer().invoke_with_background("Write!", options=InvokeOptions(allow_background=True))
    await ask(begun.token.encode())
    print(begun.status, begun.token.encode())

async def ask(text):
    options = InvokeOptions(continuation_token=ContinuationToken.decode(text))
    response = await last_response(writer().invoke_stream_with_background(options=options))
    again = await writer().invoke_with_background(options=options)
    print(response.text, again.text, await writer().cancel_background(options.continuation_token))

asyncio.run(ask(sys.argv[1]) if sys.argv[1:] else begin())
"""


def run(url: str, home: Path, *arguments: str) -> str:
    """Run the program in a process of its own, and return its last line."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "AGENTIC_HOME": str(home),
        "AGENTIC_DATABASE_URL": url,
        "AGENTIC_DISPATCHER": "local",
        "AGENTIC_WORKFLOW_MODULES": '["tests"]',
        "AGENTIC_LOG_LEVEL": "error",
    }
    command = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(
        command, env=environment, cwd=home, capture_output=True, text=True, timeout=90, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.requirement("BG03", "BG05")
def test_the_answer_is_there_in_its_process_and_in_another_one(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'own.db'}"
    upgrade(url, get_registry())
    status, token = run(url, tmp_path).split()
    assert status == "in_progress"
    assert run(url, tmp_path, token) == "A novel. A novel. False"
