"""A run told again by its events."""

from __future__ import annotations

import random
from typing import cast

import pytest

from agentic.core import (
    MemoryCheckpointStore,
    RunStatus,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowEvent,
    executor,
)
from agentic.core.graph import IncompleteLogError, replay


def asking() -> WorkflowBuilder:
    @executor(id="first")
    async def first(text: str, ctx: WorkflowContext) -> str:
        ctx.set_state("seen", [text])
        ctx.local["count"] = 1
        return text * 2

    @executor(id="second")
    async def second(text: str, ctx: WorkflowContext) -> str:
        return text + await ctx.request_info("more?", str)

    return WorkflowBuilder("asking", version="1").set_start(first).add_edge(first, second)


@pytest.mark.requirement("EX14", "EX24")
async def test_run_is_told_step_by_step() -> None:
    store = MemoryCheckpointStore()
    flow = asking().build()
    one = await flow.run("x", run_id="r", checkpoints=store)
    other = await flow.resume("r", checkpoints=store, responses={"r:second.1.0.1": "!"})
    events = [WorkflowEvent.from_json(event.to_json()) for event in (*one.events, *other.events)]
    random.Random(1).shuffle(events)
    views = replay([*events, *events])
    assert [(view.status, view.superstep) for view in views] == [
        (RunStatus.RUNNING, 0),
        (RunStatus.RUNNING, 1),
        (RunStatus.WAITING_INPUT, 2),
        (RunStatus.RUNNING, 2),
        (RunStatus.COMPLETED, 3),
    ]
    assert [[(due.executor_id, due.message) for due in view.due] for view in views] == [
        [("first", "x")],
        [("second", "xx")],
        [],
        [("second", "xx")],
        [],
    ]
    assert [view.requests for view in views] == [(), (), ("r:second.1.0.1",), (), ()]
    assert [view.outputs for view in views[-2:]] == [(), ("xx!",)]
    assert (views[1].state, views[1].local) == ({"seen": ["x"]}, {"first": {"count": 1}})
    assert {name: view.status for name, view in views[2].executors.items()} == {
        "first": "completed",
        "second": "parked",
    }


async def test_log_with_a_hole_is_refused() -> None:
    result = await asking().build().run("x", run_id="r", checkpoints=MemoryCheckpointStore())
    with pytest.raises(IncompleteLogError, match="event 2 is missing"):
        replay([event for event in result.events if event.sequence != 2])


async def test_large_values_are_named_by_their_hash_and_kept_beside() -> None:
    @executor(id="large")
    async def large(text: str) -> list[str]:
        return ["x" * 100_000]

    result = await WorkflowBuilder("w").set_start(large).build().run("x")
    (completed,) = [event for event in result.events if event.data.get("outputs")]
    (output,) = cast(list[dict[str, str]], completed.data["outputs"])
    assert len(completed.to_json()) < 1000
    assert output["$content"] in completed.contents


async def test_fork_is_told_with_the_events_of_its_origin() -> None:
    store = MemoryCheckpointStore()
    flow = asking().build()
    first = await flow.run("x", run_id="r", checkpoints=store)
    one = await flow.resume("r", checkpoints=store, responses={"r:second.1.0.1": "!"})
    fork = await flow.resume("r", checkpoints=store, checkpoint_id="r@2")
    views = replay([*fork.events, *one.events, *first.events])
    assert (views[-1].run_id, views[-1].status) == (fork.run_id, RunStatus.WAITING_INPUT)
    with pytest.raises(IncompleteLogError):
        replay(fork.events)


async def test_what_runs_again_in_a_superstep_that_was_broken_off_is_told() -> None:
    failing = [True]

    @executor(id="good")
    async def good(text: str) -> str:
        return text

    @executor(id="bad")
    async def bad(text: str) -> str:
        if failing:
            raise ValueError("bad")
        return text

    store = MemoryCheckpointStore()
    flow = WorkflowBuilder("w", version="1").set_start(good, bad).build()
    with pytest.raises(ValueError, match="bad") as caught:
        await flow.run("x", run_id="r", checkpoints=store)
    failing.clear()
    again = await flow.resume("r", checkpoints=store)
    views = replay([*caught.value.result.events, *again.events])  # type: ignore[attr-defined]  # documented
    assert views[-1].executors["bad"].status == "completed"
    assert (views[-1].executors["bad"].activation_count, views[-1].executors["bad"].attempts) == (1, 2)
    assert [due.executor_id for due in views[1].due] == ["bad"]


async def test_two_fan_ins_between_the_same_executors_are_told_apart() -> None:
    @executor(id="start")
    async def start(text: str) -> str:
        return text

    @executor(id="left")
    async def left(text: str) -> str:
        return text

    @executor(id="right")
    async def right(text: str) -> str | None:
        return None

    @executor(id="join")
    async def join(texts: list[str]) -> None:
        """Gets what has come."""

    workflow = (
        WorkflowBuilder("twins")
        .set_start(start)
        .add_fan_out_edge(start, [left, right])
        .add_fan_in_edge([left, right], join)
        .add_fan_in_edge([left, right], join, mode="available")
        .build()
    )
    result = await workflow.run("x")
    assert replay(result.events)[-1].fan_ins == {"left+right->join": {"left": 1}}
    assert replay(result.events)[-1].edges["left+right->join (2)"] == 1
