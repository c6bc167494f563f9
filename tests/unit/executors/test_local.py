"""Executions that run in the process of a command."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from agentic.core.settings import load_settings
from agentic.executors import BaseAgentExecutor
from agentic.executors.agents.local import run_locally
from agentic.mappers import ExecutionStatus

if TYPE_CHECKING:
    from tests.unit.executors.conftest import Lab

LEASES = text("SELECT lease_until FROM activations WHERE status = 'running'")


@pytest.fixture(autouse=True)
def garbage_as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_what_is_worked_on_stays_its_own_for_as_long_as_the_settings_say(lab: Lab) -> None:
    left_s: list[float] = []

    async def work(_executor: BaseAgentExecutor, state: dict[str, object]) -> dict[str, object]:
        with lab.database.reading() as session:
            left_s.extend(until - time.time() for until in session.scalars(LEASES))
        return state

    lab.script.work = work
    settings = load_settings().model_copy(update={"lease_s": 700.0})

    outcome = run_locally(lab.execution(), database=lab.database, settings=settings)

    assert outcome.status is ExecutionStatus.SUCCEEDED
    assert left_s
    assert all(600 < left <= 700 for left in left_s)


STANDING = """
import asyncio, os, signal, threading, time
from agentic.executors.agents import local

local.STANDS_S = 0.2

async def stand() -> None:
    with local.ended_if_it_stands():
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        {work}

with asyncio.Runner(loop_factory=local._new_event_loop) as runner:
    runner.run(stand())
"""


@pytest.mark.parametrize("work", ["time.sleep(60)", "while True: pass"])
def test_ctrl_c_ends_a_process_whose_loop_stands_still(work: str) -> None:
    program = [sys.executable, "-c", STANDING.format(work=work)]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=30, check=False)
    assert (ended.returncode, "a handler does not stop" in ended.stderr) == (130, True)


def test_ctrl_c_cancels_what_runs_on_a_loop_that_notices_it() -> None:
    program = [sys.executable, "-c", STANDING.format(work="await asyncio.Event().wait()")]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=30, check=False)
    assert ended.stderr.rstrip().endswith("KeyboardInterrupt")
