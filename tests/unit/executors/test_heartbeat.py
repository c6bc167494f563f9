from __future__ import annotations

import asyncio
import threading

from structlog.testing import capture_logs

from agentic.executors.heartbeat import Heartbeat


async def test_it_beats_while_the_event_loop_is_blocked() -> None:
    beaten = threading.Event()

    async with Heartbeat(beaten.set, 0.001):
        is_beaten = beaten.wait(5)

    assert is_beaten


async def test_its_thread_ends_with_its_block() -> None:
    async with Heartbeat(int, 0.001):
        pass

    assert "heartbeat" not in {thread.name for thread in threading.enumerate()}


async def test_a_beat_that_fails_is_told_once_and_tried_again() -> None:
    tries: list[None] = []
    enough = threading.Event()

    def fail() -> None:
        tries.append(None)
        if len(tries) == 3:
            enough.set()
        raise OSError("database is locked")

    with capture_logs() as logs:
        async with Heartbeat(fail, 0.001):
            await asyncio.to_thread(enough.wait, 5)

    assert [line["event"] for line in logs] == ["heartbeat.failed"]
    assert len(tries) >= 3
