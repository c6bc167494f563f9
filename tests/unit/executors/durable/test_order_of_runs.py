"""Runs end in the order they began: what is under way goes before what is new."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

from agentic.core import Executor, RetryPolicy, Workflow, WorkflowBuilder, WorkflowContext, executor
from agentic.core.ledger import MemoryLedger
from agentic.executors.durable import LocalRuns, WorkflowCatalog
from agentic.executors.durable.runs.service import Submission

RUNS = 40
FIRST_BY = 0.10
HALF_BY = 0.55


class Line:
    """Where handlers say whose work they do.

    Attributes:
        is_open: Set when all runs were submitted.
        done: The runs whose work was done, in order.
    """

    def __init__(self) -> None:
        self.is_open = asyncio.Event()
        self.done: list[str] = []

    async def do(self, ctx: WorkflowContext[int, int]) -> None:
        await self.is_open.wait()
        await asyncio.sleep(0)
        self.done.append(ctx.run_id.partition("/")[0])

    def ends(self) -> Sequence[float]:
        """Return when each run ended, as the share of the work that was done by then."""
        last = {run: number for number, run in enumerate(self.done, 1)}
        return sorted(number / len(self.done) for number in last.values())


def step(line: Line, name: str) -> Executor:
    @executor(id=name)
    async def work(number: int, ctx: WorkflowContext[int, int]) -> int:
        await line.do(ctx)
        return number

    return work


def chain(*nodes: Executor) -> Workflow:
    """Return a workflow of executors that follow each other."""
    builder = WorkflowBuilder("chain", version="1").set_start(nodes[0])
    for one, following in pairwise(nodes):
        builder = builder.add_edge(one, following)
    return builder.build()


def flat(line: Line) -> Workflow:
    return chain(*(step(line, name) for name in "abcd"))


def nested(line: Line) -> Workflow:
    inner = chain(step(line, "a"), step(line, "b")).as_executor("child")
    return chain(step(line, "x"), inner, step(line, "y"))


def deep(line: Line) -> Workflow:
    inner = chain(step(line, "a"), step(line, "b")).as_executor("grandchild")
    middle = chain(step(line, "c"), inner, step(line, "d")).as_executor("child")
    return chain(middle, step(line, "e"))


def wide(line: Line) -> Workflow:
    start, join, arms = step(line, "start"), step(line, "join"), [step(line, f"arm{n}") for n in range(3)]
    builder = WorkflowBuilder("wide", version="1").set_start(start).add_fan_out_edge(start, arms)
    for one in arms:
        builder = builder.add_edge(one, join)
    return builder.build()


def flaky(line: Line) -> Workflow:
    tried: set[str] = set()

    @executor(id="flaky", retry=RetryPolicy(max_attempts=2, first_delay_s=0.001, jitter=0.0))
    async def try_twice(number: int, ctx: WorkflowContext[int, int]) -> int:
        await line.do(ctx)
        if ctx.run_id not in tried:
            tried.add(ctx.run_id)
            raise OSError("once more")
        return number

    return WorkflowBuilder("flaky", version="1").set_start(try_twice).build()


@pytest.mark.parametrize("build", [flat, nested, deep, wide, flaky])
async def test_runs_of_a_backlog_end_in_the_order_they_began(build: Callable[[Line], Workflow]) -> None:
    line = Line()
    catalog = WorkflowCatalog({"flow": lambda: build(line)})
    async with LocalRuns(MemoryLedger(), catalog, concurrency=2) as runs:
        handles = [await runs.submit("flow", number) for number in range(RUNS)]
        line.is_open.set()
        for handle in handles:
            await handle.result(30)
    ends = line.ends()
    assert ends[0] <= FIRST_BY, ends
    assert ends[len(ends) // 2 - 1] <= HALF_BY, ends


async def test_a_run_of_a_higher_priority_goes_before_those_under_way() -> None:
    line = Line()
    catalog = WorkflowCatalog({"flow": lambda: nested(line)})
    async with LocalRuns(MemoryLedger(), catalog, concurrency=1) as runs:
        handles = [await runs.submit("flow", number) for number in range(10)]
        urgent = await runs.submit("flow", 0, Submission(priority=5))
        line.is_open.set()
        for handle in (*handles, urgent):
            await handle.result(30)
    assert line.done[1:5] == [urgent.run_id] * 4
