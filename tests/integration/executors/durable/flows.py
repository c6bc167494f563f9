"""Workflows that worker processes of the tests build by name."""

from __future__ import annotations

import asyncio
import os
import signal
from itertools import pairwise
from pathlib import Path

from agentic.core import (
    Executor,
    RetryPolicy,
    Workflow,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowContext,
    executor,
)


def note(name: str, text: str) -> None:
    """Append to a file in the current folder."""
    with Path(name).open("a") as log:
        log.write(text)


def is_there(name: str) -> bool:
    """Whether the current folder has a file."""
    return Path(name).exists()


def count(steps: int = 20) -> Workflow:
    """Return an executor that sends to itself until it has counted to ``steps``."""

    @executor(id="count")
    async def count_up(number: int, ctx: WorkflowContext[int, int]) -> int | None:
        if number < steps:
            return number + 1
        await ctx.yield_output(number)
        return None

    builder = WorkflowBuilder("count", version="1", config=WorkflowConfig(max_supersteps=steps + 2))
    return builder.set_start(count_up).add_edge(count_up, count_up, condition=lambda _: True).build()


def wide(width: int = 30) -> Workflow:
    """Return a fan-out with a join that adds up."""

    @executor(id="start")
    async def start(number: int) -> int:
        return number

    def arm(index: int) -> object:
        @executor(id=f"arm{index}")
        async def add(number: int) -> int:
            return number + index

        return add

    arms = [arm(index) for index in range(width)]

    @executor(id="join")
    async def join(numbers: list[int]) -> int:
        return sum(numbers)

    return (
        WorkflowBuilder("wide", version="1")
        .set_start(start)
        .add_fan_out_edge(start, arms)  # type: ignore[arg-type]  # they are executors
        .add_fan_in_edge(arms, join)  # type: ignore[arg-type]
        .build()
    )


def dying() -> Workflow:
    """Return an executor that kills its process when it is entered first."""

    @executor(id="die")
    async def die(number: int) -> int:
        if not is_there("died"):
            note("died", "x")
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    return WorkflowBuilder("dying", version="1").set_start(die).build()


def nested() -> Workflow:
    """Return a workflow with another one as a node."""

    @executor(id="double")
    async def double(number: int) -> int:
        return number * 2

    @executor(id="last")
    async def last(number: int) -> int:
        return number + 1

    return (
        WorkflowBuilder("nested", version="1")
        .set_start(double)
        .add_edge(double, wide(5).as_executor("inner"))
        .add_edge("inner", last)
        .build()
    )


def asking() -> Workflow:
    """Return a workflow that asks for a name."""

    @executor(id="ask")
    async def ask(greeting: str, ctx: WorkflowContext) -> str:
        name = await ctx.request_info("who?", str)
        return f"{greeting} {name}"

    return WorkflowBuilder("asking", version="1").set_start(ask).build()


def flaky() -> Workflow:
    """Return a workflow whose executor fails twice, a while apart."""

    @executor(id="flaky", retry=RetryPolicy(max_attempts=3, first_delay_s=0.2, jitter=0))
    async def fail_twice(number: int, ctx: WorkflowContext) -> int:
        if ctx.attempt < 3:
            raise ConnectionError(f"try {ctx.attempt}")
        return number + len(ctx.previous_attempts)

    return WorkflowBuilder("flaky", version="1").set_start(fail_twice).build()


def failing() -> Workflow:
    """Return a workflow that fails unless the file ``mended`` is there."""

    @executor(id="before")
    async def before(number: int) -> int:
        note("before.txt", "x")
        return number

    @executor(id="fail")
    async def fail(number: int) -> int:
        if not is_there("mended"):
            raise ValueError("not mended")
        return number

    return WorkflowBuilder("failing", version="1").set_start(before).add_edge(before, fail).build()


def waiting() -> Workflow:
    """Return a workflow that says its process, and waits for the file ``gate``."""

    @executor(id="wait")
    async def wait(number: int) -> int:
        note(f"at-work-{os.getpid()}", "")
        while not is_there("gate"):  # noqa: ASYNC110 - other processes set no event of ours
            await asyncio.sleep(0.01)
        return number

    return WorkflowBuilder("waiting", version="1").set_start(wait).build()


def in_line() -> Workflow:
    """Return a workflow of two executors and one below, each of which says whose run it works on."""
    return _chain("above", _chain("below").as_executor("child"), "after")


def _chain(*nodes: str | Executor) -> Workflow:
    first, *others = [_saying(node) if isinstance(node, str) else node for node in nodes]
    builder = WorkflowBuilder("chain", version="1").set_start(first)
    for one, following in pairwise([first, *others]):
        builder = builder.add_edge(one, following)
    return builder.build()


def _saying(name: str) -> Executor:
    @executor(id=name)
    async def say(number: int, ctx: WorkflowContext[int, int]) -> int:
        note("in-line.txt", f"{ctx.run_id.partition('/')[0]}\n")
        return number

    return say
