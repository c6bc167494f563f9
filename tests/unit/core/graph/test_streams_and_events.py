"""Events: live while a run goes on, and as its durable record."""

from __future__ import annotations

import asyncio

import pytest

from agentic.core import (
    CustomEvent,
    EventKind,
    RetryPolicy,
    RunStatus,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowEvent,
    executor,
)
from agentic.core.graph import InvalidRunIdError


@executor(id="inner")
async def inner(text: str, ctx: WorkflowContext) -> str:
    ctx.report_progress(1, 2, "half")
    ctx.log("info", "working", size=len(text))
    await ctx.add_event(CustomEvent(type="thought", data={"about": text}))
    return text.upper()


@executor(id="end")
async def end(text: str) -> str:
    return text + "!"


def nested() -> Workflow:
    sub = WorkflowBuilder("sub").set_start(inner).build()
    return WorkflowBuilder("outer").set_start(sub.as_executor("box")).add_edge("box", end).build()


@pytest.mark.requirement("EN06", "EN20", "EN26", "EN29")
async def test_stream_gives_the_events_as_they_happen_and_then_the_result() -> None:
    stream = nested().run_stream("x", run_id="r")
    events = [event async for event in stream]
    result = await stream.result()
    assert result.outputs == ("X!",)
    assert [e for e in events if e.sequence is not None] == sorted(result.events, key=events.index)
    assert events[-1].kind is EventKind.RUN_COMPLETED


@pytest.mark.requirement("EX21")
async def test_sub_workflow_is_a_run_of_its_own_under_a_path() -> None:
    result = await nested().run("x", run_id="r")
    seen = {(e.run_id, e.path) for e in result.events}
    assert ("r/box.0.0", "box/inner") in seen
    assert ("r/box.0.0", "box") in seen
    assert ("r", "end") in seen


async def test_outputs_of_a_sub_workflow_are_outputs_where_it_has_no_out_edge() -> None:
    @executor(id="twice")
    async def twice(text: str, ctx: WorkflowContext) -> str:
        await ctx.yield_output(text)
        return text * 2

    sub = WorkflowBuilder("sub").set_start(twice).build()
    outer = WorkflowBuilder("outer").set_start(sub.as_executor("box")).build()
    assert (await outer.run("x")).outputs == ("x", "xx")


async def test_durable_events_are_numbered_without_gaps_within_each_run() -> None:
    result = await nested().run("x", run_id="r")
    for run_id in ("r", "r/box.0.0"):
        numbers = [e.sequence for e in result.events if e.run_id == run_id]
        assert numbers == list(range(1, len(numbers) + 1))
    assert len({e.id for e in result.events}) == len(result.events)


@pytest.mark.requirement("CX04", "CX08")
async def test_progress_logs_and_custom_events_are_live_and_not_part_of_the_record() -> None:
    stream = nested().run_stream("x")
    told = [e async for e in stream if e.sequence is None]
    live = [e for e in told if e.kind is not EventKind.OUTPUT_PROVISIONAL]
    assert [e.kind for e in live] == [EventKind.EXECUTOR_PROGRESS, EventKind.EXECUTOR_LOG, EventKind.CUSTOM]
    assert [e.live_number for e in live] == [1, 2, 3]
    assert {e.path for e in live} == {"box/inner"}


async def test_a_handler_knows_whether_its_live_events_are_read() -> None:
    @executor(id="asks")
    async def asks(text: str, ctx: WorkflowContext) -> bool:
        await ctx.add_event(CustomEvent(type="thought", data={"about": text}))
        return ctx.has_listener

    flow = WorkflowBuilder("w").set_start(asks).build()
    assert (await flow.run("x")).outputs == (False,)
    stream = flow.run_stream("x")
    assert [e.data["type"] async for e in stream if e.kind is EventKind.CUSTOM] == ["thought"]
    assert (await stream.result()).outputs == (True,)


async def test_live_events_arrive_while_the_handler_still_runs() -> None:
    go_on = asyncio.Event()

    @executor(id="slow")
    async def slow(text: str, ctx: WorkflowContext) -> None:
        ctx.report_progress(1)
        await go_on.wait()

    stream = WorkflowBuilder("w").set_start(slow).build().run_stream("x")
    async for event in stream:
        if event.kind is EventKind.EXECUTOR_PROGRESS:
            go_on.set()
    assert (await stream.result()).status is RunStatus.COMPLETED


async def test_every_event_survives_json() -> None:
    stream = nested().run_stream("x")
    async for event in stream:
        assert WorkflowEvent.from_json(event.to_json()) == event


@pytest.mark.parametrize(
    "text", [b"{}", b"[]", b'{"kind": "nonsense", "run_id": "r", "time": 1}', b"not json"]
)
async def test_what_is_no_event_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        WorkflowEvent.from_json(text)


async def test_leaving_a_stream_early_cancels_the_run_and_the_workflow_runs_again() -> None:
    ended = asyncio.Event()

    @executor(id="forever")
    async def forever(text: str) -> None:
        try:
            if text == "stay":
                await asyncio.Event().wait()
        finally:
            ended.set()

    flow = WorkflowBuilder("w").set_start(forever).build()
    stream = flow.run_stream("stay")
    async for event in stream:
        if event.kind is EventKind.EXECUTOR_INVOKED:
            break
    await stream.aclose()
    left = await stream.result()
    assert (left.status, left.events[-1].kind) == (RunStatus.CANCELLED, EventKind.RUN_CANCELLED)
    assert (await flow.run("go")).status is RunStatus.COMPLETED


async def test_stream_can_be_looked_at_again_closed_twice_and_closed_before_it_began() -> None:
    stream = nested().run_stream("x")
    assert (await stream.result()).status is RunStatus.COMPLETED
    assert [e.kind async for e in stream][-1] is EventKind.RUN_COMPLETED
    assert [e async for e in stream] == []
    closed = nested().run_stream("x")
    await closed.aclose()
    await closed.aclose()
    result = await closed.result()
    assert (result.status, result.superstep_count) == (RunStatus.CANCELLED, 0)
    kinds = [e.kind async for e in closed]
    assert (kinds[0], kinds[-1]) == (EventKind.RUN_STARTED, EventKind.RUN_CANCELLED)
    assert EventKind.EXECUTOR_COMPLETED not in kinds


async def test_failed_stream_ends_with_the_failure_and_raises_it_as_the_result() -> None:
    @executor(id="fail")
    async def fail(text: str) -> None:
        raise ValueError("no")

    stream = WorkflowBuilder("w").set_start(fail).build().run_stream("x")
    events = [event async for event in stream]
    assert events[-1].kind is EventKind.RUN_FAILED
    assert events[-1].data["error"] == "no"
    with pytest.raises(ValueError, match="no"):
        await stream.result()


@pytest.mark.parametrize("run_id", ["", "a/b"])
async def test_run_id_that_looks_like_a_sub_run_is_refused(run_id: str) -> None:
    with pytest.raises(InvalidRunIdError):
        await nested().run("x", run_id=run_id)


async def test_failure_inside_a_sub_workflow_keeps_its_events_in_the_record() -> None:
    @executor(id="fail")
    async def fail(text: str) -> None:
        raise ValueError("deep")

    sub = WorkflowBuilder("sub").set_start(fail).build()
    flow = WorkflowBuilder("outer").set_start(sub.as_executor("box")).build()
    with pytest.raises(ValueError, match="deep") as caught:
        await flow.run("x", run_id="r")
    events = caught.value.result.events  # type: ignore[attr-defined]  # attached by run()
    assert ("r/box.0.0", EventKind.RUN_FAILED) in {(e.run_id, e.kind) for e in events}
    assert events[-1].run_id == "r"


async def test_output_appears_at_once_and_is_confirmed_at_the_barrier() -> None:
    may_end = asyncio.Event()

    @executor(id="teller")
    async def teller(text: str, ctx: WorkflowContext[object, str]) -> str:
        await ctx.yield_output("first")
        return "last"

    @executor(id="slow")
    async def slow(text: str) -> None:
        await may_end.wait()

    flow = WorkflowBuilder("w").set_start(teller, slow).build()
    told: list[tuple[EventKind, object]] = []
    async for event in flow.run_stream("x", run_id="r"):
        if event.kind in {EventKind.OUTPUT, EventKind.OUTPUT_PROVISIONAL}:
            told.append((event.kind, event.data["value"]))
            assert (event.path, event.data["type"]) == ("teller", "str")
            if len(told) == 2:
                may_end.set()  # nothing is over yet: the superstep waits for this
    provisional, final = EventKind.OUTPUT_PROVISIONAL, EventKind.OUTPUT
    assert told == [(provisional, "first"), (provisional, "last"), (final, "first"), (final, "last")]


async def test_output_of_a_try_that_fails_is_never_confirmed() -> None:
    @executor(id="try", retry=RetryPolicy(max_attempts=2, first_delay_s=0))
    async def attempt(text: str, ctx: WorkflowContext[object, str]) -> None:
        await ctx.yield_output(f"try {ctx.attempt}")
        if ctx.attempt == 1:
            raise ValueError(text)

    stream = WorkflowBuilder("w").set_start(attempt).build().run_stream("x")
    events = [event async for event in stream]
    shown = [(e.attempt, e.data["value"]) for e in events if e.kind is EventKind.OUTPUT_PROVISIONAL]
    kept = [(e.attempt, e.data["value"]) for e in events if e.kind is EventKind.OUTPUT]
    assert (shown, kept) == ([(1, "try 1"), (2, "try 2")], [(2, "try 2")])
    result = await stream.result()
    assert (result.outputs, EventKind.OUTPUT_PROVISIONAL in {e.kind for e in result.events}) == (
        ("try 2",),
        False,
    )


async def test_provisional_output_of_a_sub_workflow_tells_where_it_was_made() -> None:
    events = [event async for event in nested().run_stream("x", run_id="r")]
    shown = [(e.run_id, e.path) for e in events if e.kind is EventKind.OUTPUT_PROVISIONAL]
    assert shown == [("r/box.0.0", "box/inner"), ("r", "end")]
