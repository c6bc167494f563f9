"""The runs of threads that a server has begun."""

from __future__ import annotations

import asyncio

from agentic.executors.serving.agents import MAX_THREADS, ThreadRuns


async def test_runs_of_a_thread_begin_one_after_the_other_and_nothing_is_left() -> None:
    runs, inside, most = ThreadRuns(), 0, 0

    async def begin(thread_id: str) -> None:
        nonlocal inside, most
        async with runs.beginning(thread_id):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    async def later(turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
        await begin("t")

    await asyncio.gather(*(later(turns) for turns in range(20)))
    assert most == 1
    assert not runs._locks
    assert not runs._callers


def test_only_the_newest_threads_are_remembered() -> None:
    runs = ThreadRuns()
    for number in range(MAX_THREADS + 1):
        runs.note(str(number), f"run {number}")
    assert (runs.newest("0"), runs.newest("1")) == ("", "run 1")
