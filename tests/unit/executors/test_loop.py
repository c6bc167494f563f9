from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from structlog.testing import capture_logs

from agentic.executors.workers.loop import LoopClosedError, LoopThread


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


@pytest.mark.usefixtures("interruptible")
def test_work_that_is_interrupted_before_it_begins_is_over(loop: LoopThread) -> None:
    is_blocked, is_interrupted = threading.Event(), threading.Event()

    async def block() -> None:
        is_blocked.set()
        is_interrupted.wait(20)  # all that is asked for meanwhile comes to the loop at once

    def interrupt() -> None:
        os.kill(os.getpid(), signal.SIGUSR2)
        is_interrupted.set()

    blocking = threading.Thread(target=loop.run, args=(block(),))
    blocking.start()
    is_blocked.wait(20)
    interrupting = threading.Timer(0.1, interrupt)

    def run() -> None:
        interrupting.start()
        loop.run(asyncio.sleep(0))

    with pytest.raises(InterruptedWorkError):
        run()
    blocking.join()


@pytest.fixture
def impatient_loop() -> Iterator[LoopThread]:
    thread = LoopThread(cleanup_s=0.2)
    yield thread
    thread.close()


@pytest.mark.usefixtures("interruptible")
def test_interrupted_work_that_does_not_end_ends_the_process(impatient_loop: LoopThread) -> None:
    is_over = threading.Event()

    async def block() -> None:
        os.kill(os.getpid(), signal.SIGUSR2)
        is_over.wait(20)

    with capture_logs() as logs, pytest.raises(SystemExit) as caught:
        impatient_loop.run(block())
    is_over.set()

    assert caught.value.code == 70
    assert isinstance(caught.value.__context__, InterruptedWorkError)
    assert [line["event"] for line in logs] == ["loop.stuck"]


@contextmanager
def closed_meanwhile(loop: LoopThread) -> Iterator[threading.Event]:
    """Close the loop from another thread when the event is set."""
    is_running = threading.Event()

    def close() -> None:
        is_running.wait(5)
        loop.close("no more work")

    closing = threading.Thread(target=close)
    closing.start()
    yield is_running
    closing.join()


def test_a_thread_that_waits_is_told_when_the_loop_is_closed(loop: LoopThread) -> None:
    async def work(is_running: threading.Event) -> None:
        is_running.set()
        await asyncio.Event().wait()

    with closed_meanwhile(loop) as is_running, pytest.raises(LoopClosedError, match="no more work"):
        loop.run(work(is_running))
    with pytest.raises(LoopClosedError, match="no more work"):
        loop.run(work(is_running))


def test_nobody_waits_for_a_blocked_loop_that_is_closed(impatient_loop: LoopThread) -> None:
    is_over = threading.Event()

    async def block(is_running: threading.Event) -> None:
        is_running.set()
        is_over.wait(20)

    with closed_meanwhile(impatient_loop) as is_running, pytest.raises(LoopClosedError):
        impatient_loop.run(block(is_running))
    is_over.set()


def test_what_was_opened_is_closed_when_the_work_on_it_is_over() -> None:
    said: list[str] = []

    async def finish() -> None:
        said.append("closed")

    async def work(is_running: threading.Event) -> None:
        is_running.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            said.append("work ended")

    loop = LoopThread(finish)
    with closed_meanwhile(loop) as is_running, pytest.raises(LoopClosedError):
        loop.run(work(is_running))

    assert said == ["work ended", "closed"]


def test_a_fault_in_closing_is_told_and_the_loop_ends() -> None:
    async def finish() -> None:
        raise OSError("connection reset")

    with capture_logs() as logs:
        LoopThread(finish).close()

    assert [line["error"] for line in logs] == ["OSError: connection reset"]


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
