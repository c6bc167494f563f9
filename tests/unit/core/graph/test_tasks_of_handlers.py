"""Handlers that do several things at once: nothing of that is lost, done twice, or goes on after them."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Callable, Coroutine, Mapping

import pytest

from agentic.core import (
    CustomEvent,
    EventKind,
    MemoryCheckpointStore,
    RetryPolicy,
    RunStatus,
    Workflow,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowContext,
    executor,
)
from agentic.core.graph import ContextClosedError

Calls = Callable[[WorkflowContext], Coroutine[None, None, object]]


@pytest.fixture
def store() -> MemoryCheckpointStore:
    return MemoryCheckpointStore()


@pytest.fixture
def log() -> list[str]:
    return []


def asking(name: str) -> Workflow:
    @executor(id=name)
    async def ask(text: str, ctx: WorkflowContext) -> str:
        return await ctx.request_info(f"{name}?", str)

    return WorkflowBuilder(name, version="1").set_start(ask).build()


def stepping(log: list[str], count: int = 3) -> Workflow:
    """Return a workflow that takes several supersteps, and gives way in each."""

    @executor(id="step")
    async def step(number: int) -> int:
        for _ in range(5):
            await asyncio.sleep(0)
        log.append(f"step {number}")
        return number + 1

    @executor(id="end")
    async def end(number: int) -> str:
        return f"{number} steps"

    return (
        WorkflowBuilder("stepping", version="1")
        .set_start(step)
        .add_conditional_edge(step, step, lambda number: number < count)
        .add_conditional_edge(step, end, lambda number: number == count)
        .build()
    )


def waiting_forever(begun: asyncio.Event, log: list[str]) -> Workflow:
    @executor(id="wait")
    async def wait(text: str) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            log.append("stopped")

    return WorkflowBuilder("waiting", version="1").set_start(wait).build()


async def outcomes(ctx: WorkflowContext, *calls: tuple[Workflow, object]) -> str:
    results = await asyncio.gather(*(ctx.run_workflow(flow, message) for flow, message in calls))
    return ", ".join(result.output(str) for result in results)


async def others() -> set[asyncio.Task[object]]:
    return asyncio.all_tasks() - {asyncio.current_task()}


async def test_sub_run_beside_one_that_waits_for_an_answer_is_done_once(
    store: MemoryCheckpointStore, log: list[str]
) -> None:
    ask, steps = asking("ask"), stepping(log)

    @executor(id="both")
    async def both(text: str, ctx: WorkflowContext) -> str:
        return await outcomes(ctx, (ask, text), (steps, 0))

    flow = WorkflowBuilder("w", version="1").set_start(both).build()
    waiting = await flow.run("x", run_id="r", checkpoints=store)
    assert await others() == set()
    assert log == ["step 0", "step 1", "step 2"]
    (request,) = waiting.pending_requests
    done = await flow.resume("r", checkpoints=store, responses={request.id: "yes"})
    assert (done.outputs, log) == (("yes, 3 steps",), ["step 0", "step 1", "step 2"])


async def test_events_of_a_sub_run_beside_one_that_waits_are_those_of_its_superstep(
    store: MemoryCheckpointStore, log: list[str]
) -> None:
    ask, steps = asking("ask"), stepping(log)

    @executor(id="both")
    async def both(text: str, ctx: WorkflowContext) -> str:
        return await outcomes(ctx, (ask, text), (steps, 0))

    flow = WorkflowBuilder("w", version="1").set_start(both).build()
    events = [event async for event in flow.run_stream("x", run_id="r", checkpoints=store)]
    assert events[-1].kind is EventKind.CHECKPOINT_SAVED
    assert "r/both.0.0~2" in {event.run_id for event in events if event.kind is EventKind.RUN_COMPLETED}
    again = await flow.resume("r", checkpoints=store, responses={"r:both.0.0/ask.0.0.1": "yes"})
    assert "r/both.0.0~2" not in {event.run_id for event in again.events}


async def test_questions_of_sub_runs_side_by_side_are_asked_together(store: MemoryCheckpointStore) -> None:
    name, age = asking("name"), asking("age")

    @executor(id="both")
    async def both(text: str, ctx: WorkflowContext) -> str:
        return await outcomes(ctx, (name, text), (age, text))

    flow = WorkflowBuilder("w", version="1").set_start(both).build()
    waiting = await flow.run("x", run_id="r", checkpoints=store)
    assert [request.data for request in waiting.pending_requests] == ["name?", "age?"]
    first, second = (request.id for request in waiting.pending_requests)
    half = await flow.resume("r", checkpoints=store, responses={second: "36"})
    assert [request.id for request in half.pending_requests] == [first]
    done = await flow.resume("r", checkpoints=store, responses={first: "Ada"})
    assert done.outputs == ("Ada, 36",)


async def test_next_try_begins_when_what_the_failed_one_began_is_done(log: list[str]) -> None:
    steps = stepping(log)

    async def fail(ctx: WorkflowContext) -> str:
        if ctx.attempt == 1:
            raise ValueError("first")
        return "second"

    @executor(id="both", retry=RetryPolicy(max_attempts=2, first_delay_s=0))
    async def both(text: str, ctx: WorkflowContext) -> str:
        log.append(f"try {ctx.attempt}")
        result, word = await asyncio.gather(ctx.run_workflow(steps, 0), fail(ctx))
        return f"{word}: {result.output(str)}"

    result = await WorkflowBuilder("w").set_start(both).build().run("x")
    assert result.outputs == ("second: 3 steps",)
    assert log == ["try 1", "step 0", "step 1", "step 2", "try 2"]


async def test_call_of_once_beside_a_question_is_done_once(
    store: MemoryCheckpointStore, log: list[str]
) -> None:
    async def pay() -> str:
        for _ in range(5):
            await asyncio.sleep(0)
        log.append("paid")
        return "receipt"

    @executor(id="both")
    async def both(text: str, ctx: WorkflowContext) -> str:
        return " ".join(await asyncio.gather(ctx.request_info("?", str), ctx.once("pay", pay)))

    flow = WorkflowBuilder("w", version="1").set_start(both).build()
    await flow.run("x", run_id="r", checkpoints=store)
    done = await flow.resume("r", checkpoints=store, responses={"r:both.0.0.1": "yes"})
    assert (done.outputs, log) == (("yes receipt",), ["paid"])


async def test_task_that_a_handler_left_behind_ends_with_its_activation(log: list[str]) -> None:
    steps = stepping(log)
    left: list[asyncio.Task[None]] = []

    async def go_on(ctx: WorkflowContext) -> None:
        while True:
            log.append((await ctx.run_workflow(steps, 0)).output(str))

    @executor(id="node")
    async def node(text: str, ctx: WorkflowContext) -> str:
        left.append(asyncio.create_task(go_on(ctx)))
        await asyncio.sleep(0)
        return text

    result = await WorkflowBuilder("w").set_start(node).build().run("x")
    assert (result.outputs, log[3:]) == (("x",), ["3 steps"])
    assert left[0].cancelled()


async def test_task_that_a_handler_left_behind_cannot_begin_anything(log: list[str]) -> None:
    steps = stepping(log)
    left: list[asyncio.Task[object]] = []
    go = asyncio.Event()

    async def begin_late(ctx: WorkflowContext) -> object:
        await go.wait()
        return await ctx.run_workflow(steps, 0)

    @executor(id="node")
    async def node(text: str, ctx: WorkflowContext) -> str:
        left.append(asyncio.create_task(begin_late(ctx)))
        return text

    await WorkflowBuilder("w").set_start(node).build().run("x")
    go.set()
    await asyncio.wait(left)
    assert (type(left[0].exception()), log) == (ContextClosedError, [])


CALLS: Mapping[str, Callable[[WorkflowContext], object]] = {
    "send_message": lambda ctx: ctx.send_message("x"),
    "yield_output": lambda ctx: ctx.yield_output("x"),
    "set_state": lambda ctx: ctx.set_state("k", 1),
    "local": lambda ctx: ctx.local,
    "add_event": lambda ctx: ctx.add_event(CustomEvent(type="x")),
    "log": lambda ctx: ctx.log("info", "x"),
    "report_progress": lambda ctx: ctx.report_progress(1),
    "once": lambda ctx: ctx.once("k", lambda: 1),
    "request_info": lambda ctx: ctx.request_info("x", str),
    "on_commit": lambda ctx: ctx.on_commit(lambda _: None),
    "run_workflow": lambda ctx: ctx.run_workflow(stepping([]), 0),
}


async def use(call: str, ctx: WorkflowContext) -> None:
    found = CALLS[call](ctx)
    assert inspect.isawaitable(found)
    await found


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("ends", ["returns", "fails", "waits"])
async def test_context_of_a_handler_that_has_ended_refuses_what_would_be_lost(
    call: str, ends: str, store: MemoryCheckpointStore
) -> None:
    contexts: list[WorkflowContext] = []

    @executor(id="node")
    async def node(text: str, ctx: WorkflowContext) -> None:
        contexts.append(ctx)
        await ctx.once("before", lambda: 1)  # so that there was something under way
        if ends == "fails":
            raise ValueError(text)
        if ends == "waits":
            await ctx.request_info("?", str)

    with contextlib.suppress(ValueError):
        await WorkflowBuilder("w", version="1").set_start(node).build().run("x", checkpoints=store)
    with pytest.raises(ContextClosedError, match=rf"'node' called ctx\.{call} after its handler had ended"):
        await use(call, contexts[0])
    assert (contexts[0].get_state("k"), contexts[0].executor_id) == (None, "node")


async def test_context_that_was_never_used_in_its_handler_refuses_calls_afterwards() -> None:
    contexts: list[WorkflowContext] = []

    @executor(id="node")
    async def node(text: str, ctx: WorkflowContext) -> None:
        contexts.append(ctx)

    await WorkflowBuilder("w").set_start(node).build().run("x")
    with pytest.raises(ContextClosedError):
        await contexts[0].send_message("late")


async def test_timeout_reaches_a_sub_run_that_the_handler_left_behind(log: list[str]) -> None:
    begun = asyncio.Event()
    waiting = waiting_forever(begun, log)
    left: list[asyncio.Task[object]] = []

    @executor(id="node", timeout_s=0.05)
    async def node(text: str, ctx: WorkflowContext) -> str:
        left.append(asyncio.create_task(ctx.run_workflow(waiting, text)))
        await begun.wait()
        return text

    with pytest.raises(TimeoutError, match=r"'node' exceeded its timeout_s"):
        await WorkflowBuilder("w").set_start(node).build().run("x")
    assert (left[0].cancelled(), log) == (True, ["stopped"])


@pytest.mark.parametrize("left_behind", [True, False])
async def test_cancelled_run_ends_when_all_that_its_handlers_began_has_ended(
    store: MemoryCheckpointStore, log: list[str], left_behind: bool
) -> None:
    begun = asyncio.Event()
    waiting = waiting_forever(begun, log)

    @executor(id="node")
    async def node(text: str, ctx: WorkflowContext) -> None:
        task = asyncio.create_task(ctx.run_workflow(waiting, text))
        await (asyncio.Event().wait() if left_behind else asyncio.gather(task, asyncio.Event().wait()))

    flow = WorkflowBuilder("w", version="1").set_start(node).build()
    run = asyncio.create_task(flow.run("x", run_id="r", checkpoints=store))
    await begun.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert (await others(), log) == (set(), ["stopped"])


async def test_run_deadline_stops_what_its_handlers_began(
    store: MemoryCheckpointStore, log: list[str]
) -> None:
    begun = asyncio.Event()
    waiting, ask = waiting_forever(begun, log), asking("ask")

    @executor(id="both")
    async def both(text: str, ctx: WorkflowContext) -> str:
        return await outcomes(ctx, (ask, text), (waiting, text))

    timeout_s = 0.05
    while not begun.is_set():  # a busy machine takes longer
        config = WorkflowConfig(run_timeout_s=timeout_s)
        flow = WorkflowBuilder("w", version="1", config=config).set_start(both).build()
        with pytest.raises(TimeoutError):
            await flow.run("x", run_id=f"r{timeout_s:g}", checkpoints=store)
        timeout_s *= 4
    assert (await others(), log) == (set(), ["stopped"])


async def test_run_deadline_is_told_when_a_handler_ends_with_the_wait_of_its_sub_run(
    store: MemoryCheckpointStore,
) -> None:
    ask = asking("ask")

    @executor(id="late")
    async def late(text: str, ctx: WorkflowContext) -> None:
        try:
            await ctx.run_workflow(ask, text)
        finally:  # as a gather that is cancelled: what its first call raised leaves it
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

    config = WorkflowConfig(run_timeout_s=0.05)
    flow = WorkflowBuilder("w", version="1", config=config).set_start(late).build()
    with pytest.raises(TimeoutError):
        await flow.run("x", run_id="r", checkpoints=store)


async def test_run_that_is_cancelled_while_its_handlers_clean_up_lets_them_end(log: list[str]) -> None:
    cleaning, may_end = asyncio.Event(), asyncio.Event()

    @executor(id="slow")
    async def slow(text: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaning.set()
            await may_end.wait()
            log.append("clean")

    inner = WorkflowBuilder("inner", version="1").set_start(slow).build()

    @executor(id="node", timeout_s=0.05)
    async def node(text: str, ctx: WorkflowContext) -> None:
        left = asyncio.create_task(ctx.run_workflow(inner, text))
        await asyncio.wait([left])

    run = asyncio.create_task(WorkflowBuilder("w").set_start(node).build().run("x"))
    await cleaning.wait()
    run.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert (await others(), log) == (set(), ["clean"])


async def test_sub_run_that_fails_beside_one_that_waits_is_tried_again_with_the_answer(
    store: MemoryCheckpointStore, log: list[str]
) -> None:
    ask = asking("ask")

    @executor(id="fail")
    async def fail(text: str) -> str:
        await asyncio.sleep(0)
        log.append("fail")
        if len(log) == 1:
            raise ConnectionError("down")
        return "up"

    failing = WorkflowBuilder("failing", version="1").set_start(fail).build()

    @executor(id="both")
    async def both(text: str, ctx: WorkflowContext) -> str:
        return await outcomes(ctx, (ask, text), (failing, text))

    flow = WorkflowBuilder("w", version="1").set_start(both).build()
    waiting = await flow.run("x", run_id="r", checkpoints=store)
    assert waiting.status is RunStatus.WAITING_INPUT
    (request,) = waiting.pending_requests
    done = await flow.resume("r", checkpoints=store, responses={request.id: "yes"})
    assert (done.outputs, log) == (("yes, up",), ["fail", "fail"])
