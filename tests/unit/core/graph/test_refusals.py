"""A run whose superstep could not be merged or routed goes on once its code is corrected."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

import pytest

from agentic.core import (
    EventKind,
    ItemResult,
    MemoryCheckpointStore,
    RunResult,
    RunStatus,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    executor,
)
from agentic.core.graph import (
    CheckpointVersionError,
    FunctionExecutor,
    RetriesExhaustedError,
    StateConflictError,
    UndeliverableMessageError,
    replay,
)


class Code:
    """Code that is faulty until it is corrected.

    Attributes:
        is_right: Whether it was corrected.
        ran: The executors that ran, in order.
    """

    def __init__(self) -> None:
        self.is_right = False
        self.ran: list[str] = []


@pytest.fixture
def code() -> Code:
    return Code()


@pytest.fixture
def store() -> MemoryCheckpointStore:
    return MemoryCheckpointStore()


def writer(name: str, code: Code, key: Callable[[], str]) -> FunctionExecutor:
    @executor(id=name)
    async def write(number: int, ctx: WorkflowContext[int, int]) -> int:
        code.ran.append(name)
        ctx.set_state(key(), [number])
        await ctx.yield_output(number)
        return number

    return write


@executor(id="start")
async def start(number: int) -> int:
    return number


@executor(id="join")
async def join(numbers: list[int]) -> int:
    return sum(numbers)


def conflicting(code: Code, *, is_reduced: bool = False) -> Workflow:
    """Return a workflow in which b and c write one key, and a another one."""
    nodes = [
        writer("a", code, lambda: "other"),
        writer("b", code, lambda: "k"),
        writer("c", code, lambda: "k2" if code.is_right else "k"),
    ]
    builder = WorkflowBuilder("w", version="1").set_start(start)
    builder.add_fan_out_edge(start, nodes).add_fan_in_edge(nodes, join)
    if is_reduced:
        builder.add_state("k", reducer=operator.add)
    return builder.build()


def mistyped(code: Code) -> Workflow:
    """Return a workflow in which the third message of one executor is of a type that nobody takes."""

    @executor(id="send")
    async def send(number: int, ctx: WorkflowContext) -> None:
        code.ran.append(f"send {number}")
        await ctx.yield_output(number)
        await ctx.send_message(number if code.is_right or number != 2 else "two")

    @executor(id="split")
    async def split(number: int, ctx: WorkflowContext[int, int]) -> None:
        for one in range(number):
            await ctx.send_message(one)

    @executor(id="take")
    async def take(number: int) -> int:
        return 10 * number

    return (
        WorkflowBuilder("w", version="1").set_start(split).add_edge(split, send).add_edge(send, take).build()
    )


def joined_wrongly(code: Code) -> Workflow:
    """Return a workflow in which what one source sends does not belong into the list of a fan-in."""

    @executor(id="left")
    async def left(number: int) -> int:
        code.ran.append("left")
        return number

    @executor(id="right")
    async def right(number: int, ctx: WorkflowContext) -> None:
        code.ran.append("right")
        await ctx.send_message(number if code.is_right else "two")

    return (
        WorkflowBuilder("w", version="1")
        .set_start(start)
        .add_fan_out_edge(start, [left, right])
        .add_fan_in_edge([left, right], join)
        .build()
    )


def never_content(code: Code) -> Workflow:
    """Return a workflow whose validator sends its worker back too often."""

    @executor(id="work")
    async def work(number: int) -> int:
        return number

    @executor(id="check")
    async def check(number: int) -> int:
        code.ran.append("check")
        return number if code.is_right else -1

    return (
        WorkflowBuilder("w", version="1")
        .set_start(work)
        .add_edge(work, check)
        .add_retry_edge(check, work, when=lambda number: number < 0, max_passes=1)
        .add_edge(check, join_one, lambda number: number >= 0)
        .build()
    )


@executor(id="one")
async def join_one(number: int) -> int:
    return number


def reduced_wrongly(code: Code) -> Workflow:
    def add(old: list[int], new: list[int]) -> list[int]:
        if not code.is_right:
            raise ValueError("full")
        return old + new

    nodes = [writer("a", code, lambda: "k"), writer("b", code, lambda: "k")]
    builder = WorkflowBuilder("w", version="1").set_start(start).add_state("k", reducer=add)
    return builder.add_fan_out_edge(start, nodes).add_fan_in_edge(nodes, join).build()


async def resumed(
    make: Callable[[Code], Workflow], code: Code, store: MemoryCheckpointStore, error: type[Exception]
) -> RunResult:
    """Fail a run twice with the same code, then correct it and return what comes of the run."""
    for go in (make(code).run(3, run_id="r", checkpoints=store), make(code).resume("r", checkpoints=store)):
        with pytest.raises(error):
            await go
    code.is_right = True
    code.ran.clear()
    return await make(code).resume("r", checkpoints=store)


@pytest.mark.parametrize(
    ("make", "error", "ran", "outputs"),
    [
        (conflicting, StateConflictError, ["b", "c"], [3, 3, 3, 9]),
        (mistyped, UndeliverableMessageError, ["send 2"], [0, 1, 2, 0, 10, 20]),
        (joined_wrongly, UndeliverableMessageError, ["left", "right"], [6]),
        (never_content, RetriesExhaustedError, ["check"], [3]),
        (reduced_wrongly, ValueError, ["b"], [3, 3, 6]),
    ],
)
async def test_what_was_refused_runs_again_and_nothing_else(
    make: Callable[[Code], Workflow],
    error: type[Exception],
    ran: list[str],
    outputs: list[int],
    code: Code,
    store: MemoryCheckpointStore,
) -> None:
    result = await resumed(make, code, store, error)
    assert (code.ran, sorted(result.outputs)) == (ran, sorted(outputs))  # type: ignore[type-var]  # numbers


async def test_added_reducer_is_no_other_workflow(code: Code, store: MemoryCheckpointStore) -> None:
    with pytest.raises(StateConflictError, match="declare how to join the values with add_state"):
        await conflicting(code).run(3, run_id="r", checkpoints=store)
    result = await conflicting(code, is_reduced=True).resume("r", checkpoints=store)
    assert result.is_success


async def test_removed_reducer_is_no_other_workflow_and_is_missed_where_two_write(
    code: Code, store: MemoryCheckpointStore
) -> None:
    await conflicting(code, is_reduced=True).run(3, run_id="r", checkpoints=store)
    with pytest.raises(StateConflictError, match="declare how to join the values with add_state"):
        await conflicting(code).resume("r", checkpoints=store, checkpoint_id="r@1")
    code.is_right = True
    assert (await conflicting(code).resume("r", checkpoints=store, checkpoint_id="r@1")).is_success


@pytest.mark.parametrize("is_wider", [True, False])
async def test_executor_that_takes_more_is_no_other_workflow(
    is_wider: bool, store: MemoryCheckpointStore
) -> None:
    @executor(id="send")
    async def send(number: int, ctx: WorkflowContext) -> None:
        await ctx.send_message("text")

    @executor(id="take")
    async def take(number: int) -> str:
        return str(number)

    @executor(id="take")
    async def take_both(number: int | str) -> str:
        return str(number)

    @executor(id="take")
    async def take_text(text: str) -> str:
        return text

    def flow(taker: FunctionExecutor) -> Workflow:
        return WorkflowBuilder("w", version="1").set_start(send).add_edge(send, taker).build()

    with pytest.raises(UndeliverableMessageError):
        await flow(take).run(1, run_id="r", checkpoints=store)
    if is_wider:
        assert (await flow(take_both).resume("r", checkpoints=store)).outputs == ("text",)
    else:
        with pytest.raises(CheckpointVersionError, match="changed shape: executor take"):
            await flow(take_text).resume("r", checkpoints=store)


async def test_refused_activation_has_failed_with_what_the_barrier_says(
    code: Code, store: MemoryCheckpointStore
) -> None:
    with pytest.raises(StateConflictError) as caught:
        await conflicting(code).run(3, run_id="r", checkpoints=store)
    result: RunResult = caught.value.result  # type: ignore[attr-defined]  # documented on Workflow.run
    failed = {e.path: e.data["error_type"] for e in result.events if e.kind is EventKind.EXECUTOR_FAILED}
    assert failed == dict.fromkeys(["b", "c"], "StateConflictError")
    assert result.outputs == (3,)


async def test_what_once_kept_is_not_done_again(code: Code, store: MemoryCheckpointStore) -> None:
    paid: list[str] = []

    @executor(id="send")
    async def send(number: int, ctx: WorkflowContext) -> None:
        await ctx.once("pay", lambda: paid.append("paid"))
        assert [type(error).__name__ for error in ctx.previous_errors] == code.ran
        await ctx.send_message(number if code.is_right else "text")

    flow = WorkflowBuilder("w", version="1").set_start(send).add_edge(send, join_one).build()
    with pytest.raises(UndeliverableMessageError):
        await flow.run(1, run_id="r", checkpoints=store)
    code.is_right, code.ran = True, ["FailedAttempt"]
    assert (await flow.resume("r", checkpoints=store)).outputs == (1,)
    assert paid == ["paid"]


async def test_output_of_an_earlier_leg_is_not_yielded_again(store: MemoryCheckpointStore) -> None:
    """Break a superstep off after one writer has finished, and let it conflict in the next leg."""
    state: Mapping[str, list[str]] = {"broken": ["broken"], "right": []}

    @executor(id="a")
    async def a(number: int, ctx: WorkflowContext[int, str]) -> None:
        ctx.set_state("k", 1)
        await ctx.yield_output("a")

    @executor(id="b")
    async def b(number: int, ctx: WorkflowContext[int, str]) -> None:
        if state["broken"]:
            raise ValueError("down")
        ctx.set_state("l" if state["right"] else "k", 2)
        await ctx.yield_output("b")

    flow = WorkflowBuilder("w", version="1").set_start(a, b).build()
    with pytest.raises(ValueError, match="down"):
        await flow.run(1, run_id="r", checkpoints=store)
    state["broken"].clear()
    with pytest.raises(StateConflictError) as caught:
        await flow.resume("r", checkpoints=store)
    assert caught.value.result.outputs == ("a",)  # type: ignore[attr-defined]  # documented on Workflow.run
    state["right"].append("right")
    result = await flow.resume("r", checkpoints=store)
    assert result.outputs == ("a", "b")


async def test_replayed_run_shows_what_runs_again(code: Code, store: MemoryCheckpointStore) -> None:
    first = conflicting(code).run_stream(3, run_id="r", checkpoints=store)
    events = [event async for event in first]
    code.is_right = True
    events += [event async for event in conflicting(code).resume_stream("r", checkpoints=store)]
    views = replay(events)
    assert [sorted(due.executor_id for due in view.due) for view in views if view.superstep == 1] == [
        ["a", "b", "c"],
        ["b", "c"],
        ["b", "c"],
    ]
    assert (views[-1].status, sorted(map(int, map(str, views[-1].outputs)))) == (
        RunStatus.COMPLETED,
        [3, 3, 3, 9],
    )


async def test_items_whose_writes_conflict_run_again(code: Code, store: MemoryCheckpointStore) -> None:
    @executor(id="items")
    async def items(number: int) -> list[int]:
        return list(range(number))

    @executor(id="body")
    async def body(number: int, ctx: WorkflowContext[int, int]) -> int:
        code.ran.append(f"body {number}")
        if number:
            ctx.set_state(f"k{number}" if code.is_right else "k", number)
        return number

    @executor(id="total")
    async def total(results: list[ItemResult]) -> int:
        return sum(int(str(result.value)) for result in results)

    flow = WorkflowBuilder("w", version="1").set_start(items).add_map_edge(items, body, total).build()
    with pytest.raises(StateConflictError, match=r"body \(message 1\)' and 'body \(message 2\)"):
        await flow.run(3, run_id="r", checkpoints=store)
    code.is_right = True
    code.ran.clear()
    assert (await flow.resume("r", checkpoints=store)).outputs == (3,)
    assert sorted(code.ran) == ["body 1", "body 2"]
