"""Cancellations, timeouts and deadlines hold, whatever a handler makes of its CancelledError."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable

import pytest

from agentic.core import (
    MemoryCheckpointStore,
    RetryPolicy,
    RunStatus,
    Workflow,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowContext,
    executor,
)
from agentic.core.graph import ExecutorTimeoutError, GraphWarning, HandlerStoppedError, RunTimeoutError
from agentic.core.graph.build import workflow
from agentic.core.types import RunId

Stubborn = Callable[[int], Awaitable[int]]


async def swallow(number: int) -> int:
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.Event().wait()
    return number


async def turn_into_an_error(number: int) -> int:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        raise ConnectionError("closed") from None
    return number


async def fail_to_clean_up(number: int) -> int:
    try:
        await asyncio.Event().wait()
    finally:
        raise OSError("disk")


async def catch_in_a_task(number: int) -> int:
    """Run the part that swallows it beside others, as libraries do."""
    await asyncio.gather(swallow(number), swallow(number))
    return number


STUBBORN = [swallow, turn_into_an_error, fail_to_clean_up, catch_in_a_task]


@pytest.fixture(params=STUBBORN, ids=lambda function: function.__name__)
def stubborn(request: pytest.FixtureRequest) -> Stubborn:
    function: Stubborn = request.param
    return function


@pytest.fixture
def begun() -> list[str]:
    return []


def chain(stubborn: Stubborn, begun: list[str], *, width: int = 1, **policy: object) -> Workflow:
    """Return a workflow in which stubborn executors begin, and what follows them is noted."""

    @executor(id="start")
    async def start(number: int, ctx: WorkflowContext) -> None:
        for shard in range(width):
            await ctx.send_message(shard)

    @executor(id="first", retry=RetryPolicy(max_attempts=3, first_delay_s=0))
    async def first(number: int) -> int:
        begun.append("first")
        return await stubborn(number)

    @executor(id="second")
    async def second(number: int) -> int:
        begun.append("second")
        return await stubborn(number)

    @executor(id="after")
    async def after(number: int) -> int:
        begun.append("after")
        return number

    return (
        WorkflowBuilder("w", version="1", config=WorkflowConfig(**policy))  # type: ignore[arg-type]  # limits
        .set_start(start)
        .add_fan_out_edge(start, [first, second])
        .add_edge(first, after)
        .add_edge(second, after)
        .build()
    )


async def until_begun(begun: list[str], count: int) -> None:
    while len(begun) < count:  # noqa: ASYNC110 - a list sets no event
        await asyncio.sleep(0)


@pytest.mark.parametrize("width", [1, 3])
async def test_cancelled_run_begins_nothing_more(stubborn: Stubborn, begun: list[str], width: int) -> None:
    task = asyncio.create_task(chain(stubborn, begun, width=width).run(0))
    await until_begun(begun, 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert begun == ["first", "second"]


async def test_cancelled_run_of_one_activation_is_cancelled(stubborn: Stubborn, begun: list[str]) -> None:
    @executor(id="one")
    async def one(number: int) -> int:
        begun.append("one")
        return await stubborn(number)

    task = asyncio.create_task(WorkflowBuilder("one").set_start(one).build().run(0))
    await until_begun(begun, 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_timeout_around_a_run_ends_it(stubborn: Stubborn, begun: list[str]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(None) as timer:
            timers.append(timer)
            await chain(stubborn, begun).run(0)

    timers: list[asyncio.Timeout] = []
    run = asyncio.create_task(limited())
    await until_begun(begun, 2)
    timers[0].reschedule(0)
    with pytest.raises(TimeoutError):
        await run
    assert begun == ["first", "second"]


async def test_closed_stream_is_cancelled(stubborn: Stubborn, begun: list[str]) -> None:
    stream = chain(stubborn, begun).run_stream(0)
    await until_begun(begun, 2)
    await stream.aclose()
    assert ((await stream.result()).status, begun) == (RunStatus.CANCELLED, ["first", "second"])


async def test_cancelled_sub_workflow_begins_nothing_more(stubborn: Stubborn, begun: list[str]) -> None:
    @executor(id="outer")
    async def outer(number: int, ctx: WorkflowContext) -> int:
        with contextlib.suppress(asyncio.CancelledError):
            await ctx.run_workflow(chain(stubborn, begun), number)
        return number

    @executor(id="beyond")
    async def beyond(number: int) -> None:
        begun.append("beyond")

    flow = WorkflowBuilder("w").set_start(outer).add_edge(outer, beyond).build()
    task = asyncio.create_task(flow.run(0))
    await until_begun(begun, 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert begun == ["first", "second"]


async def test_what_was_told_to_stop_runs_again_on_resume(begun: list[str]) -> None:
    store = MemoryCheckpointStore()
    task = asyncio.create_task(chain(swallow, begun).run(0, run_id="r", checkpoints=store))
    await until_begun(begun, 2)
    task.cancel()
    await asyncio.wait([task])
    assert (await store.latest(RunId("r"))).metadata.status is RunStatus.CANCELLED

    async def obey(number: int) -> int:
        return number

    begun.clear()
    assert (await chain(obey, begun).resume("r", checkpoints=store)).outputs == (0, 0)
    assert begun == ["first", "second", "after", "after"]


async def test_timeout_of_an_executor_ends_the_try(stubborn: Stubborn) -> None:
    tries: list[int] = []

    @executor(id="slow", timeout_s=0.01, retry=RetryPolicy(max_attempts=2, first_delay_s=0))
    async def slow(number: int, ctx: WorkflowContext) -> int:
        tries.append(ctx.attempt)
        return await stubborn(number)

    with pytest.raises(ExecutorTimeoutError, match=r"'slow' exceeded its timeout_s of 0.01 s"):
        await WorkflowBuilder("w").set_start(slow).build().run(0)
    assert tries == [1, 2]


async def test_deadline_of_a_run_ends_it(stubborn: Stubborn, begun: list[str]) -> None:
    with pytest.raises(RunTimeoutError):
        await chain(stubborn, begun, run_timeout_s=0.1).run(0)
    assert "after" not in begun


async def test_condition_that_swallows_the_cancellation_does_not_save_the_run(begun: list[str]) -> None:
    asked = asyncio.Event()

    async def ask(number: int) -> bool:
        asked.set()
        return await swallow(1) == 1

    @executor(id="one")
    async def one(number: int) -> int:
        return number

    @executor(id="two")
    async def two(number: int) -> None:
        begun.append("two")

    flow = WorkflowBuilder("w").set_start(one).add_edge(one, two, ask).build()
    task = asyncio.create_task(flow.run(0))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert begun == []


async def fail() -> None:
    raise ConnectionError("down")


async def fail_later() -> None:
    await asyncio.sleep(0)
    raise ConnectionError("down")


async def gather_what_fails(depth: int = 0) -> None:
    """Wait for the end of a group whose task fails: before Python 3.13 it leaves the task cancelled."""
    async with asyncio.TaskGroup() as group:
        group.create_task(gather_what_fails(depth - 1) if depth else fail_later())
        group.create_task(asyncio.Event().wait())


@pytest.mark.parametrize("depth", [0, 1])
async def test_task_groups_that_fail_in_a_handler_do_not_cancel_the_run(depth: int) -> None:
    @executor(id="careful")
    async def careful(number: int) -> int:
        for _ in range(2):
            with contextlib.suppress(ExceptionGroup):
                await gather_what_fails(depth)
        return number

    @executor(id="careless", retry=RetryPolicy(max_attempts=2, first_delay_s=0))
    async def careless(number: int, ctx: WorkflowContext) -> int:
        if ctx.attempt == 1:
            await gather_what_fails(depth)
        return number

    flow = WorkflowBuilder("w").set_start(careful).add_edge(careful, careless).build()
    assert (await flow.run(7)).outputs == (7,)


async def test_cancellation_is_seen_after_a_task_group_that_failed() -> None:
    begun = asyncio.Event()

    @executor(id="one")
    async def one(number: int) -> int:
        with contextlib.suppress(ExceptionGroup):
            await gather_what_fails()
        begun.set()
        return await swallow(number)

    task = asyncio.create_task(WorkflowBuilder("w").set_start(one).build().run(0))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_superstep_that_fails_fast_fails_the_run_and_does_not_cancel_it() -> None:
    @executor(id="fails")
    async def fails(number: int) -> None:
        await fail_later()

    @executor(id="waits")
    async def waits(number: int) -> None:
        await asyncio.Event().wait()

    flow = WorkflowBuilder("w", config=WorkflowConfig(fail_fast=True)).set_start(waits, fails).build()
    with pytest.raises(ConnectionError):
        await flow.run(0)
    inner = WorkflowBuilder("o").set_start(flow.as_executor("box")).build()
    with pytest.raises(ConnectionError):
        await inner.run(0)


async def test_handler_that_catches_its_own_cancellations_is_not_disturbed() -> None:
    @executor(id="polite")
    async def polite(number: int) -> int:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        with contextlib.suppress(ExceptionGroup):
            async with asyncio.TaskGroup() as group:
                group.create_task(fail())
                await asyncio.Event().wait()
        return number

    assert (await WorkflowBuilder("w").set_start(polite).build().run(7)).outputs == (7,)


async def test_stream_does_not_wait_for_a_handler_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workflow, "STOP_GRACE_S", 0.01)
    may_end, running = asyncio.Event(), asyncio.Event()

    @executor(id="deaf")
    async def deaf(number: int) -> int:
        running.set()
        while not may_end.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await may_end.wait()
        return number

    stream = WorkflowBuilder("w").set_start(deaf).build().run_stream(0)
    await running.wait()
    with pytest.warns(GraphWarning, match="'deaf' still runs"):
        await stream.aclose()
    result = await stream.result()
    assert (result.status, result.outputs) == (RunStatus.CANCELLED, ())
    may_end.set()
    while asyncio.all_tasks() - {asyncio.current_task()}:  # noqa: ASYNC110 - nor do tasks
        await asyncio.sleep(0)
    assert (await stream.result()).outputs == ()


async def _and_waits() -> None:
    _own_task().cancel()
    await asyncio.sleep(0)


async def _and_returns() -> None:
    _own_task().cancel()


async def _twice_and_cleans_up() -> None:
    _own_task().cancel()
    _own_task().cancel()
    try:
        await asyncio.sleep(0)
    finally:
        await asyncio.sleep(0)


async def _in_a_group() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.sleep(0))
        _own_task().cancel()


def _own_task() -> asyncio.Task[object]:
    task = asyncio.current_task()
    assert task is not None
    return task


CANCELS_ITSELF = [_and_waits, _and_returns, _twice_and_cleans_up, _in_a_group]


def _cancelling_itself(work: Callable[[], Awaitable[None]], place: str, entered: list[int]) -> Workflow:
    @executor(id="odd", timeout_s=60 if place == "within a timeout" else None)
    async def odd(number: int) -> int:
        entered.append(number)
        await work()
        return number

    @executor(id="fine")
    async def fine(number: int) -> int:
        await asyncio.sleep(0)
        return number

    flow = WorkflowBuilder("w").set_start(odd, fine) if place == "beside another" else None
    flow = flow or WorkflowBuilder("w").set_start(odd)
    if place == "in a sub-workflow":
        flow = WorkflowBuilder("around").set_start(flow.build().as_executor("box"))
    return flow.build()


@pytest.mark.parametrize("place", ["alone", "within a timeout", "in a sub-workflow", "beside another"])
@pytest.mark.parametrize("work", CANCELS_ITSELF)
async def test_lone_handler_that_cancels_its_own_task_fails_its_run_and_harms_nobody(
    work: Callable[[], Awaitable[None]], place: str
) -> None:
    entered: list[int] = []

    may_end = asyncio.Event()

    async def neighbour() -> str:
        await may_end.wait()
        return "fine"

    beside = asyncio.create_task(neighbour())
    flow = _cancelling_itself(work, place, entered)
    with pytest.raises(HandlerStoppedError, match="'odd' was cancelled by its own code"):
        await flow.run(1)
    assert _own_task().cancelling() == 0
    may_end.set()
    await asyncio.sleep(0)  # nothing of it comes later
    assert await beside == "fine"
    assert entered == [1]


def test_program_goes_on_after_a_handler_that_cancelled_its_own_task() -> None:
    async def main() -> str:
        with pytest.raises(HandlerStoppedError):
            await _cancelling_itself(_and_waits, "alone", []).run(1)
        await asyncio.sleep(0)
        return "went on"

    assert asyncio.run(main()) == "went on"


async def test_handler_that_cancelled_its_own_task_can_be_tried_again() -> None:
    entered: list[int] = []

    async def first_time() -> None:
        if len(entered) == 1:
            await _and_waits()

    flow = _cancelling_itself(first_time, "alone", entered)
    retry = RetryPolicy(max_attempts=2, first_delay_s=0)
    result = await flow.run(1, config=WorkflowConfig(retry=retry))
    assert (result.outputs, entered) == ((1,), [1, 1])


async def test_run_that_is_cancelled_is_so_also_if_its_handler_cancels_its_own_task() -> None:
    async def when_stopped() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            _own_task().cancel()
            raise

    entered: list[int] = []
    run = asyncio.create_task(_cancelling_itself(when_stopped, "alone", entered).run(1))
    while not entered:  # noqa: ASYNC110 - a handler sets no event
        await asyncio.sleep(0)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert run.cancelled()


def _cancels_at_once(number: int) -> bool:
    _own_task().cancel()
    return True


async def _cancels_and_waits(number: int) -> bool:
    _own_task().cancel()
    await asyncio.sleep(0)
    return True


@pytest.mark.parametrize("condition", [_cancels_at_once, _cancels_and_waits])
async def test_condition_that_cancels_the_task_it_is_asked_in_fails_its_run_alone(
    condition: Callable[[int], bool | Awaitable[bool]],
) -> None:
    @executor(id="first")
    async def first(number: int) -> int:
        return number

    @executor(id="second")
    async def second(number: int) -> int:
        return number

    flow = WorkflowBuilder("w").set_start(first).add_edge(first, second, condition).build()
    with pytest.raises(HandlerStoppedError, match="'first' was cancelled by its own code"):
        await flow.run(1)
    assert _own_task().cancelling() == 0
    await asyncio.sleep(0)


def test_program_ends_by_a_ctrl_c_that_comes_in_the_middle_of_a_handler() -> None:
    """``asyncio.run`` cancels its main task then, as a handler does that cancels its own."""
    script = (
        "import asyncio, signal\n"
        "from agentic.core import WorkflowBuilder, executor\n"
        "@executor(id='odd')\n"
        "async def odd(number: int) -> int:\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "    await asyncio.Event().wait()\n"
        "    return number\n"
        "asyncio.run(WorkflowBuilder('w').set_start(odd).build().run(1))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGINT, done.stderr
    assert done.stderr.splitlines()[-1] == "KeyboardInterrupt"
