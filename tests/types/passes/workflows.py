"""Building and running."""

import operator
from collections.abc import Sequence
from typing import assert_type

from agentic.core import (
    Case,
    Default,
    Executor,
    ItemResult,
    RunResult,
    RunStream,
    Workflow,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowContext,
    WorkflowEvent,
    executor,
    handler,
)
from agentic.core.agents import ContinuationToken
from agentic.core.types import EdgeId, ExecutorId, TaskId, WorkflowId


@executor(id="split")
def split(text: str) -> list[str]:
    return text.split()


@executor(id="upper")
async def upper(word: str) -> str:
    return word.upper()


class Join(Executor):
    @handler
    async def join(self, results: list[ItemResult]) -> str:
        return " ".join(str(result.value) for result in results)


def is_long(text: str) -> bool:
    return len(text) > 10


async def is_short(text: str) -> bool:
    return len(text) < 3


def first(text: str, targets: Sequence[str]) -> Sequence[str]:
    return targets[:1]


async def shout(text: str, ctx: WorkflowContext[str]) -> None:
    await ctx.send_message(text.upper())


def of_functions() -> Workflow:
    return (
        WorkflowBuilder("functions")
        .set_start(shout)
        .add_executor(is_long)
        .add_edge(shout, is_short)
        .add_switch_edge(shout, [Case(is_long, is_long), Default(split)])
        .build()
    )


def build(inner: Workflow) -> Workflow:
    join = Join("join")
    builder = (
        WorkflowBuilder("words", version="1", config=WorkflowConfig(max_supersteps=10))
        .set_start(split)
        .add_executor(join, inner)
        .add_map_edge(split, upper, join, max_parallel=2, on_item_error="skip")
        .add_edge(join, inner, is_long, on="success", description="long ones")
        .add_conditional_edge(join, "b", lambda text: text.isupper(), "shouted")
        .add_switch_edge("b", [Case(is_long, "c"), Case(is_short, inner), Default("d")])
        .add_fan_out_edge("c", ["d", "e"], select=first)
        .add_fan_in_edge(["d", "e"], "f", mode="latest", on="always")
        .add_retry_edge("f", "c", when=is_short, max_passes=2, exhausted=join)
        .add_state("seen", reducer=operator.or_)
    )
    assert_type(builder, WorkflowBuilder)
    return builder.build()


async def run(workflow: Workflow) -> None:
    result = await workflow.run("a b", run_id="one")
    assert_type(result, RunResult)
    assert_type(result.output(str), str)
    assert_type(result.output(list[int]), list[int])
    assert_type(result.outputs, tuple[object, ...])


async def follow(workflow: Workflow) -> None:
    stream = workflow.run_stream("a b")
    assert_type(stream, RunStream)
    async for event in stream:
        assert_type(event, WorkflowEvent)
    assert_type(await stream.result(), RunResult)
    await stream.aclose()


def names(workflow: Workflow, node: Executor, token: ContinuationToken) -> None:
    assert_type(workflow.id, WorkflowId)
    assert_type(node.id, ExecutorId)
    assert_type(workflow.graph.edge_names, tuple[EdgeId, ...])
    assert_type(token.task_id, TaskId)
    words: list[str] = [workflow.id, node.id, token.task_id, *workflow.graph.edge_names]
    assert words
