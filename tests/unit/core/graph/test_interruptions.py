"""What is kept when a superstep is broken off: by a failure, a cancellation, a timeout, a question."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar

import pytest

from agentic.core import (
    Case,
    Default,
    EventKind,
    Executor,
    ExecutorFailure,
    ItemResult,
    MemoryCheckpointStore,
    RetryPolicy,
    RunStatus,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowContext,
    executor,
    handler,
)
from agentic.core.graph import (
    Checkpoint,
    FunctionExecutor,
    HandlerError,
    HandlerStoppedError,
    RetriesExhaustedError,
    RunTimeoutError,
    UndeliverableMessageError,
)
from agentic.core.types import RunId


@pytest.fixture
def store() -> MemoryCheckpointStore:
    return MemoryCheckpointStore()


@executor(id="items")
async def items(count: int) -> list[int]:
    return list(range(count))


@executor(id="values")
async def values(results: list[ItemResult]) -> list[object]:
    return [result.value for result in results]


async def test_run_cancelled_between_supersteps_forgets_the_results_of_the_last_one(
    store: MemoryCheckpointStore,
) -> None:
    @executor(id="ten")
    async def ten(number: int) -> int:
        return number * 10

    flow = (
        WorkflowBuilder("w", version="1").set_start(items).add_map_edge(items, ten, values, window=2).build()
    )
    stream = flow.run_stream(8, run_id="r", checkpoints=store)
    async for event in stream:
        if event.kind is EventKind.SUPERSTEP_COMPLETED and event.superstep == 2:
            break
    await stream.aclose()
    assert (await flow.resume("r", checkpoints=store)).outputs == ([0, 10, 20, 30, 40, 50, 60, 70],)


async def test_messages_of_one_executor_wait_for_one_that_failed(store: MemoryCheckpointStore) -> None:
    broken = [True]

    @executor(id="send")
    async def send(text: str, ctx: WorkflowContext) -> None:
        for number in range(3):
            await ctx.send_message(number)

    @executor(id="count")
    async def count(number: int, ctx: WorkflowContext) -> int:
        if broken and number == 0:
            raise ValueError("broken")
        ctx.set_state("sum", ctx.get_state("sum", 0) + 1)
        ctx.local["count"] = int(str(ctx.local.get("count", 0))) + 1
        return ctx.get_state("sum", 0)

    flow = WorkflowBuilder("w", version="1").set_start(send).add_edge(send, count).build()
    with pytest.raises(ValueError, match="broken"):
        await flow.run("", run_id="r", checkpoints=store)
    broken.clear()
    assert (await flow.resume("r", checkpoints=store)).outputs == (1, 2, 3)


async def test_what_once_kept_and_the_tries_survive_a_cancellation(store: MemoryCheckpointStore) -> None:
    paid: list[str] = []
    failed = asyncio.Event()

    @executor(id="pay", retry=RetryPolicy(max_attempts=2, first_delay_s=60, jitter=0))
    async def pay(text: str, ctx: WorkflowContext) -> int:
        await ctx.once("pay", lambda: paid.append("paid"))
        if ctx.attempt == 1:
            failed.set()
            raise ConnectionError("lost")
        return ctx.attempt

    flow = WorkflowBuilder("w", version="1").set_start(pay).build()
    run = asyncio.create_task(flow.run("x", run_id="r", checkpoints=store))
    await failed.wait()
    await asyncio.sleep(0)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    result = await flow.resume("r", checkpoints=store)
    assert (paid, result.outputs) == (["paid"], (2,))


def two_steps(entered: list[str], *, slow: bool) -> WorkflowBuilder:
    @executor(id="one")
    async def one(text: str) -> str:
        entered.append("one")
        return text

    @executor(id="two")
    async def two(text: str) -> str:
        entered.append("two")
        if slow and entered.count("two") == 1:
            await asyncio.Event().wait()
        return text

    return WorkflowBuilder("inner", version="1").set_start(one).add_edge(one, two)


async def test_sub_workflow_that_took_too_long_goes_on_where_it_stood() -> None:
    entered: list[str] = []
    inner = two_steps(entered, slow=True).build()
    config = WorkflowConfig(timeout_s=0.05, retry=RetryPolicy(max_attempts=2, first_delay_s=0))
    flow = WorkflowBuilder("outer", config=config).set_start(inner).build()
    ids = [event.id async for event in flow.run_stream("x")]
    assert entered == ["one", "two", "two"]
    assert len(ids) == len(set(ids))


async def test_sub_workflow_of_a_cancelled_run_goes_on_where_it_stood(store: MemoryCheckpointStore) -> None:
    entered: list[str] = []
    inner = two_steps(entered, slow=True).build()
    flow = WorkflowBuilder("outer", version="1").set_start(inner).build()
    stream = flow.run_stream("x", run_id="r", checkpoints=store)
    async for event in stream:
        if event.kind is EventKind.EXECUTOR_INVOKED and event.path == "inner/two":
            await asyncio.sleep(0)
            break
    await stream.aclose()
    assert (await flow.resume("r", checkpoints=store)).outputs == ("x",)
    assert entered[:2] == ["one", "two"]
    assert entered.count("one") == 1


async def test_events_of_a_sub_workflow_that_was_cut_off_are_in_the_record(
    store: MemoryCheckpointStore,
) -> None:
    inner = two_steps([], slow=True).build()
    broken = [True]

    @executor(id="fail")
    async def fail(text: str) -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        if broken:
            raise ValueError("broken")

    config = WorkflowConfig(fail_fast=True)
    flow = WorkflowBuilder("outer", version="1", config=config).set_start(inner, fail).build()
    with pytest.raises(ValueError, match="broken") as caught:
        await flow.run("x", run_id="r", checkpoints=store)
    broken.clear()
    again = await flow.resume("r", checkpoints=store)
    events = (*caught.value.result.events, *again.events)  # type: ignore[attr-defined]  # documented
    numbers = [event.sequence for event in events if event.run_id == "r/inner.0.0"]
    assert numbers == list(range(1, len(numbers) + 1))
    assert EventKind.RUN_CANCELLED in {event.kind for event in events if event.run_id == "r/inner.0.0"}


async def test_question_beside_a_failure_can_be_answered(store: MemoryCheckpointStore) -> None:
    broken = [True]

    @executor(id="ask")
    async def ask(text: str, ctx: WorkflowContext) -> str:
        return await ctx.request_info("?", str)

    @executor(id="fail")
    async def fail(text: str) -> str:
        if broken:
            raise ValueError("broken")
        return "mended"

    flow = WorkflowBuilder("w", version="1").set_start(ask, fail).build()
    with pytest.raises(ValueError, match="broken") as caught:
        await flow.run("x", run_id="r", checkpoints=store)
    (request,) = caught.value.result.pending_requests  # type: ignore[attr-defined]  # documented
    broken.clear()
    result = await flow.resume("r", checkpoints=store, responses={request.id: "answer"})
    assert sorted(map(str, result.outputs)) == ["answer", "mended"]


async def test_answers_are_checked_before_a_run_is_forked(store: MemoryCheckpointStore) -> None:
    @executor(id="ask")
    async def ask(text: str, ctx: WorkflowContext) -> str:
        return text + await ctx.request_info("?", str)

    flow = WorkflowBuilder("w", version="1").set_start(ask).build()
    await flow.run("x", run_id="r", checkpoints=store)
    answers: dict[str, object] = {"r:ask.0.0.1": "a"}
    await flow.resume("r", checkpoints=store, responses=answers)
    other = await flow.resume("r", checkpoints=store, checkpoint_id="r@2", responses={"r:ask.0.0.1": "b"})
    assert other.outputs == ("xb",)
    with pytest.raises(LookupError):
        await flow.resume("r", checkpoints=store, checkpoint_id="r@2", responses={"r:nobody": "b"})
    assert {m.run_id for m in await store.list_metadata()} == {"r", other.run_id}


async def test_passes_of_a_retry_edge_are_counted_across_a_join() -> None:
    @executor(id="work")
    async def work(number: int, ctx: WorkflowContext) -> int:
        return number + len(ctx.previous_errors)

    @executor(id="side")
    async def side(number: int) -> int:
        return number

    @executor(id="check")
    async def check(parts: list[int]) -> str:
        return "again"

    flow = (
        WorkflowBuilder("w")
        .set_start(work)
        .add_conditional_edge(work, side, lambda number: number == 0)
        .add_fan_in_edge([work, side], check, mode="latest")
        .add_retry_edge(check, work, when=lambda _: True, max_passes=2)
        .build()
    )
    with pytest.raises(RetriesExhaustedError):
        await flow.run(0)


async def test_message_that_a_handler_changed_is_stored_as_it_was_sent(store: MemoryCheckpointStore) -> None:
    lengths: list[int] = []

    @executor(id="bad")
    async def bad(text: str) -> str:
        raise ValueError("bad")

    @executor(id="good")
    async def good(text: str) -> str:
        return text

    @executor(id="join")
    async def join(parts: list[str | ExecutorFailure]) -> int:
        lengths.append(len(parts))
        parts.clear()
        if len(lengths) == 1:
            raise ValueError("once")
        return lengths[-1]

    flow = (
        WorkflowBuilder("w", version="1")
        .set_start(bad, good)
        .add_fan_in_edge([bad, good], join, on="always")
        .build()
    )
    with pytest.raises(ValueError, match="once"):
        await flow.run("x", run_id="r", checkpoints=store)
    assert (await flow.resume("r", checkpoints=store)).outputs == (2,)


class SlowStore(MemoryCheckpointStore):
    """Takes its time after a checkpoint is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = asyncio.Event()

    async def save(self, checkpoint: Checkpoint) -> None:
        await super().save(checkpoint)
        if checkpoint.metadata.revision == 2:
            self.kept.set()
            await asyncio.Event().wait()


async def test_run_cancelled_while_a_checkpoint_is_saved_ends_cancelled() -> None:
    @executor(id="loop")
    async def loop(number: int) -> int:
        return number + 1

    flow = (
        WorkflowBuilder("w", version="1").set_start(loop).add_conditional_edge(loop, loop, lambda n: n < 9)
    ).build()
    store = SlowStore()
    run = asyncio.create_task(flow.run(0, run_id="r", checkpoints=store))
    await store.kept.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert (await store.latest(RunId("r"))).metadata.status is RunStatus.CANCELLED


def taking(name: str) -> FunctionExecutor:
    @executor(id=name)
    async def take(number: int) -> str:
        return f"{name} {number}"

    return take


async def test_message_for_one_target_passes_by_the_conditions_of_others() -> None:
    @executor(id="send")
    async def send(number: int, ctx: WorkflowContext) -> None:
        await ctx.send_message(number, target="b")

    flow = (
        WorkflowBuilder("w")
        .set_start(send)
        .add_edge(send, taking("b"))
        .add_conditional_edge(send, taking("c"), lambda _: True)
        .build()
    )
    assert (await flow.run(1)).outputs == ("b 1",)


async def test_message_for_a_target_that_a_switch_does_not_choose_is_held_back() -> None:
    @executor(id="send")
    async def send(number: int, ctx: WorkflowContext) -> None:
        await ctx.send_message(number, target="b")

    flow = (
        WorkflowBuilder("w")
        .set_start(send)
        .add_switch_edge(send, [Case(lambda _: False, taking("b")), Default(taking("c"))])
        .build()
    )
    assert (await flow.run(1)).outputs == ()


async def test_unknown_target_is_told_beside_a_condition_that_does_not_hold() -> None:
    @executor(id="send")
    async def send(number: int, ctx: WorkflowContext) -> None:
        await ctx.send_message(number, target="nobody")

    flow = (
        WorkflowBuilder("w").set_start(send).add_conditional_edge(send, taking("b"), lambda _: False).build()
    )
    with pytest.raises(UndeliverableMessageError, match="'nobody' is not a target"):
        await flow.run(1)


async def test_handler_that_cancels_its_own_task_fails_the_run_and_not_the_engine() -> None:
    class Node(Executor):
        @handler
        async def run(self, number: int) -> int:
            if self.id == "n1":
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            return number

    nodes = [Node(f"n{number}") for number in range(4)]
    flow = WorkflowBuilder("w").set_start(taking("s"), *nodes).build()
    with pytest.raises(HandlerStoppedError, match="'n1' was cancelled by its own code"):
        await flow.run(1)


async def test_run_deadline_stops_handlers_that_never_wait() -> None:
    @executor(id="spin")
    async def spin(number: int) -> int:
        return number + 1

    flow = (
        WorkflowBuilder("w", config=WorkflowConfig(max_supersteps=10**9, run_timeout_s=0.05))
        .set_start(spin)
        .add_conditional_edge(spin, spin, lambda _: True)
        .build()
    )
    with pytest.raises(RunTimeoutError):
        await flow.run(0)


bound: ContextVar[str] = ContextVar("bound", default="-")


@pytest.mark.parametrize("waits", [True, False])
async def test_what_a_handler_binds_to_its_context_no_other_handler_sees(waits: bool) -> None:
    class Node(Executor):
        @handler
        async def run(self, number: int) -> str:
            seen = bound.get()
            bound.set(self.id)
            if waits:
                await asyncio.sleep(0)
            return seen

    flow = WorkflowBuilder("w").set_start(*(Node(f"n{number}") for number in range(3))).build()
    assert (await flow.run(1)).outputs == ("-", "-", "-")
    assert bound.get() == "-"


async def test_attempts_go_on_counting_after_a_question(store: MemoryCheckpointStore) -> None:
    entered: list[int] = []

    @executor(id="ask", retry=RetryPolicy(max_attempts=2, first_delay_s=0))
    async def ask(text: str, ctx: WorkflowContext) -> str:
        entered.append(ctx.attempt)
        if ctx.attempt == 1:
            raise ValueError("first")
        await ctx.request_info("?", str)
        raise ValueError("second")

    flow = WorkflowBuilder("w", version="1").set_start(ask).build()
    await flow.run("x", run_id="r", checkpoints=store)
    with pytest.raises(ValueError, match="second"):
        await flow.resume("r", checkpoints=store, responses={"r:ask.0.0.1": "y"})
    assert entered == [1, 2, 2]


async def test_own_state_that_is_no_json_is_refused_when_the_handler_returns() -> None:
    @executor(id="node")
    async def node(text: str, ctx: WorkflowContext) -> None:
        ctx.local["seen"] = {1, 2}  # type: ignore[assignment]  # what is refused

    with pytest.raises(HandlerError, match=r"'node': ctx\.local must be JSON"):
        await WorkflowBuilder("w").set_start(node).build().run("x")


async def test_two_calls_of_once_at_a_time_do_it_once() -> None:
    done: list[str] = []

    async def work() -> int:
        await asyncio.sleep(0)
        done.append("done")
        return len(done)

    @executor(id="node")
    async def node(text: str, ctx: WorkflowContext) -> list[int]:
        return list(await asyncio.gather(ctx.once("key", work), ctx.once("key", work)))

    assert (await WorkflowBuilder("w").set_start(node).build().run("x")).outputs == ([1, 1],)
