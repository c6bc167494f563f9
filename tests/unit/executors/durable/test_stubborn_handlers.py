"""A handler that does not end when it is stopped, or when its time is over, is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Iterator

import pytest

from agentic.core import Workflow, WorkflowBuilder, executor
from agentic.core.graph import RunStatus, WorkflowConfig
from agentic.core.ledger import MemoryLedger
from agentic.executors.durable import LocalRuns, WorkflowCatalog
from agentic.executors.workers import guarding

GRACE_S = 20.0


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarding, "STOP_S", 0.05)


class Stubborn:
    """A handler that swallows each cancellation until it is released."""

    def __init__(self) -> None:
        self.at_work = asyncio.Event()
        self.released = asyncio.Event()

    def workflow(self, timeout_s: float | None = None, run_timeout_s: float | None = None) -> Workflow:
        @executor(id="stubborn", timeout_s=timeout_s)
        async def stubborn(number: int) -> int:
            self.at_work.set()
            while not self.released.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await self.released.wait()
            return number

        config = WorkflowConfig(run_timeout_s=run_timeout_s)
        return WorkflowBuilder("stubborn", version="1", config=config).set_start(stubborn).build()


@pytest.fixture
async def stubborn() -> AsyncIterator[Stubborn]:
    made = Stubborn()
    yield made
    made.released.set()  # or nobody could close the loop


async def test_a_cancelled_run_ends_without_it(stubborn: Stubborn) -> None:
    catalog = WorkflowCatalog({"stubborn": stubborn.workflow})
    async with LocalRuns(MemoryLedger(), catalog, concurrency=1) as runs:
        handle = await runs.submit("stubborn", 1)
        await stubborn.at_work.wait()
        await handle.cancel()
        assert (await handle.result(GRACE_S)).status is RunStatus.CANCELLED
        stubborn.released.set()
        other = await (await runs.submit("stubborn", 2)).result(GRACE_S)
    assert other.outputs == (2,)


async def test_its_run_fails_when_its_own_time_is_over(stubborn: Stubborn) -> None:
    catalog = WorkflowCatalog({"stubborn": lambda: stubborn.workflow(timeout_s=0.05)})
    async with LocalRuns(MemoryLedger(), catalog, concurrency=1) as runs:
        result = await (await runs.submit("stubborn", 1)).result(GRACE_S)
        assert (result.status, type(result.error).__name__) == (RunStatus.FAILED, "RestoredError")
        assert "exceeded its timeout_s of 0.05 s" in str(result.error)
        stubborn.released.set()
        assert (await (await runs.submit("stubborn", 2)).result(GRACE_S)).outputs == (2,)


async def test_its_run_fails_when_the_time_of_the_run_is_over(stubborn: Stubborn) -> None:
    catalog = WorkflowCatalog({"stubborn": lambda: stubborn.workflow(run_timeout_s=0.2)})
    async with LocalRuns(MemoryLedger(), catalog, concurrency=1) as runs:
        result = await (await runs.submit("stubborn", 1)).result(GRACE_S)
        assert (result.status, "0.2 s" in str(result.error)) == (RunStatus.FAILED, True)


@pytest.fixture
def released() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.mark.parametrize("count", [40])  # more than a pool of threads has on any machine here
async def test_functions_that_block_their_threads_leave_room_for_others(
    released: threading.Event, count: int
) -> None:
    @executor(id="block", timeout_s=0.2)
    def block(number: int) -> int:
        if number:
            released.wait()
        return number

    flow = WorkflowBuilder("block", version="1").set_start(block).build()
    async with LocalRuns(MemoryLedger(), WorkflowCatalog({"block": lambda: flow}), concurrency=count) as runs:
        begun = time.monotonic()
        handles = [await runs.submit("block", 1) for _ in range(count)]
        results = [await handle.result(GRACE_S) for handle in handles]
        assert {result.status for result in results} == {RunStatus.FAILED}
        assert (await (await runs.submit("block", 0)).result(GRACE_S)).status is RunStatus.COMPLETED
        assert time.monotonic() - begun < GRACE_S
