from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable

import pytest

from agentic.mappers.database.thread import CallThread

Eventually = Callable[[Callable[[], bool]], Awaitable[None]]


@pytest.fixture
def lane() -> CallThread:
    return CallThread("test-lane")


async def test_calls_happen_in_order_in_one_other_thread(lane: CallThread) -> None:
    done: list[int] = []

    def call(number: int) -> int:
        done.append(number)
        return threading.get_ident()

    threads = await asyncio.gather(*(lane.run(call, number) for number in range(50)))
    assert done == list(range(50))
    assert len({*threads, threading.get_ident()}) == 2


async def test_an_error_reaches_the_one_who_waits_and_nobody_else(lane: CallThread) -> None:
    outcomes = await asyncio.gather(
        lane.run(int, "1"), lane.run(int, "one"), lane.run(int, "2"), return_exceptions=True
    )
    assert [outcomes[0], outcomes[2]] == [1, 2]
    assert isinstance(outcomes[1], ValueError)


async def test_a_call_under_way_ends_before_its_cancellation_goes_on(lane: CallThread) -> None:
    started, may_end = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()
    done: list[str] = []

    def call() -> None:
        loop.call_soon_threadsafe(started.set)
        may_end.wait(10)
        done.append("call")

    waiting = asyncio.create_task(lane.run(call))
    await started.wait()
    waiting.cancel()
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.sleep(0)
    assert not waiting.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert done == ["call"]


async def test_a_loop_that_is_gone_stops_nobody_else(lane: CallThread) -> None:
    started, may_end = threading.Event(), threading.Event()

    def call() -> None:
        started.set()
        may_end.wait(10)

    def abandon() -> None:
        loop = asyncio.new_event_loop()
        task = loop.create_task(lane.run(call))
        loop.call_soon(loop.stop)
        loop.run_forever()
        loop.close()
        abandoned.append(task)

    abandoned: list[asyncio.Task[None]] = []
    await asyncio.to_thread(abandon)
    assert started.wait(10)
    may_end.set()
    assert await lane.run(int, "7") == 7


async def test_the_thread_ends_with_its_lane(eventually: Eventually) -> None:
    lane = CallThread("short-lived")
    await lane.run(int)

    def is_alive() -> bool:
        return any(thread.name == "short-lived" for thread in threading.enumerate())

    assert is_alive()
    del lane
    gc.collect()
    await eventually(lambda: not is_alive())
