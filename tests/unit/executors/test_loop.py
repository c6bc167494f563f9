from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator

import pytest

from agentic.executors.loop import LoopThread


class InterruptedWorkError(Exception):
    """Raised by a signal handler in the waiting thread."""


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    thread = LoopThread()
    yield thread
    thread.close()


async def current_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


def test_every_coroutine_runs_on_the_same_loop(loop: LoopThread) -> None:
    assert loop.run(current_loop()) is loop.run(current_loop())


def test_what_a_coroutine_raises_reaches_the_caller(loop: LoopThread) -> None:
    async def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        loop.run(fail())


@pytest.fixture
def interruptible() -> Iterator[None]:
    def interrupt(*_: object) -> None:
        raise InterruptedWorkError

    previous = signal.signal(signal.SIGUSR2, interrupt)
    yield
    signal.signal(signal.SIGUSR2, previous)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_caller_cancels_the_coroutine_with_the_reason_and_waits_for_its_end(
    loop: LoopThread,
) -> None:
    seen: list[object] = []

    async def work() -> None:
        os.kill(os.getpid(), signal.SIGUSR2)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as exc:
            await asyncio.to_thread(int)  # cleaning up takes a while
            seen.append(exc.args)
            raise

    with pytest.raises(InterruptedWorkError):
        loop.run(work(), explain=lambda exc: f"because of {type(exc).__name__}")

    assert seen == [("because of InterruptedWorkError",)]


def test_closing_cancels_what_still_runs_and_ends_the_thread() -> None:
    loop = LoopThread()
    ended = threading.Event()
    started = threading.Event()

    async def endless() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def spawn() -> asyncio.Task[None]:
        return asyncio.create_task(endless())

    task = loop.run(spawn())
    started.wait(5)
    loop.close()
    loop.close()

    assert ended.is_set()
    assert task.cancelled()
