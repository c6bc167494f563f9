"""Microsoft Agent Framework: ``python -m tests.bench.peers.maf step``, in an environment that has it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Any, Never

from tests.bench.measuring import Figures, idle, importing, main, overhead, per_piece

STEPS = 1000
WIDTH = 100

logging.disable(logging.CRITICAL)  # it tells of every superstep


def _node(framework: Any, id: str, function: Callable[..., object], ctx: object, takes: object = int) -> Any:
    """Return an executor; the framework reads its types from annotations, which are made here."""
    function.__annotations__ = {"message": takes, "ctx": ctx, "return": None}
    return framework.executor(id=id)(function)


def _loop(framework: Any, storage: object = None, work: Callable[[], object] = int) -> Any:
    async def hop(message: Any, ctx: Any) -> None:
        work()
        if message + 1 >= STEPS:
            await ctx.yield_output(message + 1)
        else:
            await ctx.send_message(message + 1)

    node = _node(framework, "hop", hop, framework.WorkflowContext[int, int])
    builder = framework.WorkflowBuilder(
        start_executor=node, max_iterations=STEPS + 10, name="loop", checkpoint_storage=storage
    )
    return builder.add_edge(node, node).build()


def _chain(framework: Any, length: int, storage: object = None) -> Any:
    def hop(index: int) -> Any:
        async def send(message: Any, ctx: Any) -> None:
            await ctx.send_message(message + 1)

        return _node(framework, f"n{index}", send, framework.WorkflowContext[int])

    async def end(message: Any, ctx: Any) -> None:
        await ctx.yield_output(message + 1)

    last = _node(framework, "end", end, framework.WorkflowContext[Never, int])
    nodes = [*(hop(index) for index in range(length - 1)), last]
    return (
        framework.WorkflowBuilder(
            start_executor=nodes[0], max_iterations=length + 10, name="chain", checkpoint_storage=storage
        )
        .add_chain(nodes)
        .build()
    )


def _fan(framework: Any, width: int) -> Any:
    def arm(index: int) -> Any:
        async def send(message: Any, ctx: Any) -> None:
            await ctx.send_message(message)

        return _node(framework, f"arm{index}", send, framework.WorkflowContext[int])

    async def start(message: Any, ctx: Any) -> None:
        await ctx.send_message(message)

    async def add_up(message: Any, ctx: Any) -> None:
        await ctx.yield_output(sum(message))

    source = _node(framework, "source", start, framework.WorkflowContext[int])
    join = _node(framework, "join", add_up, framework.WorkflowContext[Never, int], list[int])
    arms = [arm(index) for index in range(width)]
    builder = framework.WorkflowBuilder(start_executor=source, name="fan")
    return builder.add_fan_out_edges(source, arms).add_fan_in_edges(arms, join).build()


async def _timed(
    build: Callable[[], Any], message: int, expected: int, pieces: int, repeats: int = 3
) -> Figures:
    workflows = [build() for _ in range(repeats + 1)]  # one each: its checkpoints stay with it

    async def run() -> None:
        assert (await workflows.pop().run(message)).get_outputs() == [expected]

    return await per_piece(run, pieces, repeats=repeats)


def _measured(build: Callable[[Any], Any], message: int, expected: int, pieces: int) -> Figures:
    framework: Any = import_module("agent_framework")
    return asyncio.run(_timed(partial(build, framework), message, expected, pieces))


def _stored_chain() -> Figures:
    framework: Any = import_module("agent_framework")
    build = lambda: _chain(framework, WIDTH, framework.InMemoryCheckpointStorage())  # noqa: E731
    return asyncio.run(_timed(build, 0, WIDTH, WIDTH, repeats=1))


def _overhead() -> Figures:
    framework: Any = import_module("agent_framework")
    return asyncio.run(overhead(lambda work: _loop(framework, work=work).run(0)))


def _load() -> None:
    # Its root loads what is asked for only.
    framework: Any = import_module("agent_framework")
    _ = framework.WorkflowBuilder, framework.WorkflowContext, framework.executor


def _idle() -> Figures:
    return idle(partial(_chain, import_module("agent_framework"), 10))


CASES: dict[str, Callable[[], Figures]] = {
    "step": lambda: _measured(_loop, 0, STEPS, STEPS),
    "branch": lambda: _measured(lambda framework: _fan(framework, WIDTH), 1, WIDTH, WIDTH),
    "checkpoint": lambda: _measured(
        lambda framework: _loop(framework, framework.InMemoryCheckpointStorage()), 0, STEPS, STEPS
    ),
    "checkpoint-chain": _stored_chain,
    "chain": lambda: _measured(lambda framework: _chain(framework, WIDTH), 0, WIDTH, WIDTH),
    "overhead": _overhead,
    "idle": _idle,
    "import": lambda: importing(_load),
}

if __name__ == "__main__":
    main(CASES, lambda: {"agent-framework-core": version("agent-framework-core")})
