"""The task in which a handler runs says when it has ended, however it ends."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable

import pytest

from agentic.executors.workers.guarding import HandlerTask

Act = Callable[[HandlerTask[int]], object]


async def answer(error: BaseException | None = None) -> int:
    await asyncio.sleep(0)
    if error is not None:
        raise error
    return 42


@pytest.mark.parametrize("error", [None, ValueError("no"), GeneratorExit()], ids=repr)
async def test_it_has_ended_when_its_code_has(error: BaseException | None) -> None:
    task = HandlerTask(answer(error))
    await task.ended
    assert task.done()
    assert task.exception() is error


async def test_its_end_is_heard_of_in_the_next_turn_of_the_loop() -> None:
    loop, turns = asyncio.get_running_loop(), 0
    is_over = False

    def count() -> None:
        nonlocal turns
        turns += 1
        if not is_over:
            loop.call_soon(count)

    async def work() -> None:
        loop.call_soon(count)

    await HandlerTask(work()).ended
    is_over = True
    assert turns == 1


@pytest.mark.parametrize("end", [HandlerTask[int].stop, HandlerTask[int].cancel], ids=["stop", "cancel"])
@pytest.mark.parametrize("turns", [0, 1], ids=["before it began", "at work"])
async def test_it_has_ended_when_it_was_stopped(end: Act, turns: int) -> None:
    task = HandlerTask(answer())
    for _ in range(turns):
        await asyncio.sleep(0)
    end(task)
    await task.ended
    gc.collect()  # a coroutine that was never awaited would say so
    assert task.cancelled()
