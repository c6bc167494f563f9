"""This project's rows that need no database: ``python -m tests.bench.engine step``."""

from __future__ import annotations

import asyncio
import platform
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.metadata import version
from itertools import pairwise
from typing import TYPE_CHECKING

from tests.bench.measuring import Figures, idle, importing, main, overhead, per_piece

if TYPE_CHECKING:
    from agentic.core import Executor, Workflow, WorkflowContext

STEPS = 1000
WIDTH = 100
MANY = 10_000
ITEMS = 100_000
EVENTS = 1000
MESSAGES = 20


def loop(steps: int, work: Callable[[], object] = int) -> Workflow:
    """Return one executor that sends to itself until it has run ``steps`` times."""
    from agentic.core import WorkflowBuilder, WorkflowConfig, executor

    async def hop(count: int, ctx: WorkflowContext) -> int | None:
        work()
        if count + 1 < steps:
            return count + 1
        await ctx.yield_output(count + 1)
        return None

    node = executor(id="hop")(hop)
    builder = WorkflowBuilder("loop", config=WorkflowConfig(max_supersteps=steps)).set_start(node)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that nothing but max_supersteps ends the cycle
        return builder.add_edge(node, node).build()


def chain(length: int) -> Workflow:
    """Return executors in a row."""
    from agentic.core import WorkflowBuilder, WorkflowConfig, executor

    def node(index: int) -> Executor:
        async def hop(count: int) -> int:
            return count + 1

        return executor(id=f"n{index}")(hop)

    nodes = [node(index) for index in range(length)]
    builder = WorkflowBuilder("chain", config=WorkflowConfig(max_supersteps=length)).set_start(nodes[0])
    for source, target in pairwise(nodes):
        builder.add_edge(source, target)
    return builder.build()


def fan(width: int) -> Workflow:
    """Return a source, ``width`` executors beside each other, and a join."""
    from agentic.core import WorkflowBuilder, executor

    async def pass_on(number: int) -> int:
        return number

    async def add_up(numbers: list[int]) -> int:
        return sum(numbers)

    source, join = executor(id="source")(pass_on), executor(id="join")(add_up)
    arms = [executor(id=f"arm{index}")(pass_on) for index in range(width)]
    return (
        WorkflowBuilder("fan")
        .set_start(source)
        .add_fan_out_edge(source, arms)
        .add_fan_in_edge(arms, join)
        .build()
    )


def mapping(items: int) -> Workflow:
    """Return a source that sends a list, a body for its items, and a join."""
    from agentic.core import ItemResult, WorkflowBuilder, executor

    async def split(count: int) -> list[int]:
        return list(range(count))

    async def work(item: int) -> int:
        return item

    async def count(results: list[ItemResult]) -> int:
        return len(results)

    source, body, join = executor(id="split")(split), executor(id="work")(work), executor(id="count")(count)
    return WorkflowBuilder("map").set_start(source).add_map_edge(source, body, join).build()


def _run(workflow: Workflow, message: int, expected: int, *, stored: bool = False) -> Figures:
    return asyncio.run(_per_step(workflow, message, expected, stored=stored))


async def _per_step(workflow: Workflow, message: int, expected: int, *, stored: bool) -> Figures:
    from agentic.core.graph import MemoryCheckpointStore

    async def run() -> None:
        result = await workflow.run(message, checkpoints=MemoryCheckpointStore() if stored else None)
        assert result.outputs == (expected,)

    return await per_piece(run, expected)


def branch(width: int) -> Figures:
    """Return the cost of one branch."""
    workflow = fan(width)

    async def run() -> None:
        assert (await workflow.run(1)).outputs == (width,)

    return asyncio.run(per_piece(run, width))


def map_item() -> Figures:
    """Return the cost of one item of a long list."""
    workflow = mapping(ITEMS)

    async def run() -> None:
        assert (await workflow.run(ITEMS)).outputs == (ITEMS,)

    return asyncio.run(per_piece(run, ITEMS, repeats=1, warm_up=False))


def late_checkpoint() -> Figures:
    """Return the cost of a stored step after nine thousand others, and of the first thousand."""
    from agentic.core.graph import MemoryCheckpointStore

    times: list[float] = []
    workflow = loop(MANY, lambda: times.append(time.process_time()))
    asyncio.run(workflow.run(0, checkpoints=MemoryCheckpointStore()))
    return {
        "cpu_us": (times[-1] - times[-STEPS - 1]) / STEPS * 1e6,
        "first_cpu_us": (times[STEPS] - times[0]) / STEPS * 1e6,
    }


def unseen_event() -> Figures:
    """Return what a handler pays for an event that nobody listens to."""
    from agentic.core import WorkflowBuilder, executor

    async def tell(count: int, ctx: WorkflowContext) -> int:
        for done in range(count):
            ctx.report_progress(done, count)
        return count

    node = executor(id="tell")(tell)
    workflow = WorkflowBuilder("tell").set_start(node).build()

    async def run() -> None:
        await workflow.run(EVENTS)

    return asyncio.run(per_piece(run, EVENTS))


def model_call() -> Figures:
    """Return the cost of a call that is retried and kept within a budget, late in a conversation."""
    from agentic.core.llm import (
        Budget,
        BudgetModel,
        ChatMessage,
        FunctionModel,
        ModelReply,
        ModelRequest,
        RetryingModel,
        TokenUsage,
    )

    usage = TokenUsage(input_tokens=2_000, output_tokens=20, requests=1, cost_usd=0.001)
    reply = ModelReply(message=ChatMessage.assistant("Yes."), usage=usage)
    said = [ChatMessage.user("x" * 400), ChatMessage.assistant("y" * 400)] * (MESSAGES // 2)
    request = ModelRequest(instructions="z" * 400, messages=tuple(said))
    bounded = BudgetModel(FunctionModel(lambda _: reply), Budget(max_usd=1e6))

    async def run() -> None:
        model = RetryingModel(bounded)
        for _ in range(STEPS):
            await model.complete(request)

    return asyncio.run(per_piece(run, STEPS))


def _versions() -> dict[str, str]:
    return {
        "Python": platform.python_version(),
        "pydantic": version("pydantic"),
        "agentic-pipelines": version("agentic-pipelines"),
    }


CASES: dict[str, Callable[[], Figures]] = {
    "step": lambda: _run(loop(STEPS), 0, STEPS),
    "branch": partial(branch, WIDTH),
    "checkpoint": lambda: _run(loop(STEPS), 0, STEPS, stored=True),
    "checkpoint-chain": lambda: _run(chain(WIDTH), 0, WIDTH, stored=True),
    "checkpoint-late": late_checkpoint,
    "idle": lambda: idle(partial(chain, 10)),
    "import": lambda: importing(partial(import_module, "agentic.core")),
    "chain": lambda: _run(chain(WIDTH), 0, WIDTH),
    "chain-long": lambda: _run(chain(MANY), 0, MANY),
    "branch-wide": partial(branch, MANY),
    "map": map_item,
    "overhead": lambda: asyncio.run(overhead(lambda work: loop(STEPS, work).run(0))),
    "event": unseen_event,
    "model": model_call,
}

if __name__ == "__main__":
    main(CASES, _versions)
