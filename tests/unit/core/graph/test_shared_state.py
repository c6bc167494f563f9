"""Shared state, an executor's own state, and what they must not let through."""

from __future__ import annotations

import operator

import pytest

from agentic.core import (
    Executor,
    MemoryCheckpointStore,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    executor,
    handler,
)
from agentic.core.graph import FunctionExecutor, StateConflictError


def writer(name: str, key: str, value: object) -> FunctionExecutor:
    @executor(id=name)
    async def write(text: str, ctx: WorkflowContext) -> str:
        ctx.set_state(key, value)
        return text

    return write


@executor(id="read")
async def read(text: str, ctx: WorkflowContext) -> object:
    return ctx.get_state("key", "nothing")


@pytest.mark.requirement("CX09", "CX10", "CX23", "EN04")
async def test_state_written_in_one_superstep_is_read_in_the_next() -> None:
    flow = WorkflowBuilder("w").set_start(writer("a", "key", 1)).add_edge("a", read).build()
    assert (await flow.run("x")).outputs == (1,)


async def test_executors_of_one_superstep_do_not_see_each_others_writes() -> None:
    flow = WorkflowBuilder("w").set_start(writer("a", "key", 1), read).build()
    assert (await flow.run("x")).outputs == ("x", "nothing")


async def test_what_is_read_cannot_be_changed_for_others() -> None:
    @executor(id="spoil")
    async def spoil(text: str, ctx: WorkflowContext) -> str:
        ctx.get_state("key", ["none"]).append("spoiled")
        return text

    flow = (
        WorkflowBuilder("w")
        .set_start(writer("a", "key", ["kept"]))
        .add_edge("a", spoil)
        .add_edge(spoil, read)
        .build()
    )
    assert (await flow.run("x")).outputs == (["kept"],)


async def test_two_writers_of_one_key_are_a_reported_conflict() -> None:
    flow = WorkflowBuilder("w").set_start(writer("a", "key", 1), writer("b", "key", 2)).build()
    with pytest.raises(StateConflictError, match=r"'a' and 'b' wrote the state key 'key'.*add_state"):
        await flow.run("x")


async def test_reducer_joins_what_several_wrote_in_executor_order() -> None:
    flow = (
        WorkflowBuilder("w")
        .set_start(writer("b", "key", ["b"]), writer("a", "key", ["a"]))
        .add_fan_in_edge(["a", "b"], _after())
        .add_state("key", reducer=operator.add)
        .build()
    )
    assert (await flow.run("x")).outputs == (["b", "a"],)


def _after() -> FunctionExecutor:
    @executor(id="after")
    async def after(parts: list[str], ctx: WorkflowContext) -> object:
        return ctx.get_state("key")

    return after


async def test_messages_of_one_executor_see_each_others_writes_in_order() -> None:
    @executor(id="split")
    async def split(text: str, ctx: WorkflowContext) -> None:
        for letter in text:
            await ctx.send_message(letter)

    @executor(id="count")
    async def count(letter: str, ctx: WorkflowContext) -> str:
        seen = ctx.get_state("seen", 0) + 1
        ctx.set_state("seen", seen)
        return f"{letter}{seen}"

    flow = WorkflowBuilder("w").set_start(split).add_edge(split, count).build()
    assert (await flow.run("abc")).outputs == ("a1", "b2", "c3")


async def test_own_writes_are_seen_through_the_reducer() -> None:
    @executor(id="twice")
    async def twice(text: str, ctx: WorkflowContext) -> object:
        ctx.set_state("key", {1})
        ctx.set_state("key", {2})
        return sorted(ctx.get_state("key", {0}))

    flow = WorkflowBuilder("w").set_start(twice).add_state("key", reducer=operator.or_).build()
    assert (await flow.run("x")).outputs == ([1, 2],)


async def test_error_of_a_reducer_names_whose_write_it_was() -> None:
    flow = (
        WorkflowBuilder("w")
        .set_start(writer("a", "key", 1), writer("b", "key", "no number"))
        .add_state("key", reducer=operator.add)
        .build()
    )
    with pytest.raises(TypeError) as caught:
        await flow.run("x")
    assert "executor 'b'" in caught.value.__notes__[0]


class Counter(Executor):
    """Counts how often it was called in this run."""

    @handler
    async def count(self, number: int, ctx: WorkflowContext) -> int | None:
        times = int(str(ctx.local.get("times", 0))) + 1
        ctx.local["times"] = times
        if times == 3:
            await ctx.yield_output(times)
            return None
        return times


def counting() -> Workflow:
    return (
        WorkflowBuilder("counting", version="1")
        .set_start(Counter("count"))
        .add_conditional_edge("count", "count", lambda number: True)
        .build()
    )


async def test_own_state_of_an_executor_belongs_to_the_run() -> None:
    flow = counting()
    assert [(await flow.run(0)).outputs for _ in range(2)] == [(3,), (3,)]


async def test_own_state_is_in_every_checkpoint() -> None:
    store = MemoryCheckpointStore()
    first = await counting().run(0, checkpoints=store)
    for metadata in await store.list_metadata(run_id=first.run_id):
        again = await counting().resume(first.run_id, checkpoints=store, checkpoint_id=metadata.id)
        assert again.outputs == (3,)


async def test_failed_handler_leaves_no_writes() -> None:
    @executor(id="fail")
    async def fail(text: str, ctx: WorkflowContext) -> None:
        ctx.set_state("key", "written")
        ctx.local["key"] = "written"
        raise ValueError

    @executor(id="mend")
    async def mend(failure: object, ctx: WorkflowContext) -> object:
        return ctx.get_state("key", "nothing")

    flow = WorkflowBuilder("w").set_start(fail).add_edge(fail, mend, on="failure").build()
    assert (await flow.run("x")).outputs == ("nothing",)
