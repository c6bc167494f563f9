from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine

import pytest
from structlog.contextvars import bound_contextvars
from structlog.testing import capture_logs
from structlog.typing import EventDict

from agentic.core.graph import WorkflowBuilder, executor
from agentic.executors.workers.loop_watch import LoopWatch

BLOCKED_AFTER_S = 0.4


def told(work: Coroutine[object, object, object]) -> list[EventDict]:
    """Run ``work`` on a thread that is watched; return what is logged."""
    with capture_logs() as logs:
        thread = threading.Thread(target=asyncio.run, args=(work,))
        thread.start()
        watch = LoopWatch(thread, blocked_after_s=BLOCKED_AFTER_S)
        thread.join()
        watch.close()
    return list(logs)


@executor(id="sleepy")
async def sleepy(seconds: float) -> None:
    time.sleep(seconds)  # noqa: ASYNC251 - what is to be noticed


SLEEPY = WorkflowBuilder("sleepy").set_start(sleepy).build()


async def run_sleepy(seconds: float) -> None:
    with bound_contextvars(execution_id="e1", platform="toy"):
        await SLEEPY.run(seconds)
    await asyncio.sleep(BLOCKED_AFTER_S / 2)


@pytest.fixture(scope="module")
def lines() -> list[EventDict]:
    """What is logged of an executor that blocks its loop for 1.5 s."""
    return told(run_sleepy(1.5))


def test_an_executor_that_blocks_is_named_with_its_execution_and_how_long(lines: list[EventDict]) -> None:
    blocked = lines[0]

    assert (blocked["event"], blocked["log_level"]) == ("loop.blocked", "warning")
    assert blocked["by"].startswith(f"{__name__}.sleepy:")
    assert (blocked["execution_id"], blocked["platform"]) == ("e1", "toy")
    assert blocked["for_s"] == pytest.approx(BLOCKED_AFTER_S, abs=0.3)


def test_it_is_told_again_when_the_time_has_doubled_and_when_it_is_over(lines: list[EventDict]) -> None:
    assert [line["event"] for line in lines] == ["loop.blocked", "loop.blocked", "loop.unblocked"]
    assert lines[2]["after_s"] == pytest.approx(1.5, abs=0.7)


def test_many_short_callbacks_block_nothing() -> None:
    async def busy() -> None:
        end = time.monotonic() + 3 * BLOCKED_AFTER_S
        while time.monotonic() < end:
            await asyncio.gather(*(short() for _ in range(100)))

    async def short() -> None:
        await asyncio.sleep(0)
        sum(range(10_000))

    assert told(busy()) == []


def test_a_loop_that_waits_is_not_blocked() -> None:
    assert told(asyncio.sleep(2 * BLOCKED_AFTER_S)) == []
