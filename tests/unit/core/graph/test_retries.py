"""Retry edges, retry policies, timeouts, failure edges."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from agentic.core import (
    EventKind,
    Executor,
    ExecutorFailure,
    ItemResult,
    MemoryCheckpointStore,
    RetryPolicy,
    RunStatus,
    Workflow,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowContext,
    executor,
    handler,
)
from agentic.core.graph import (
    ExecutorTimeoutError,
    FailedAttempt,
    FunctionExecutor,
    InvalidPolicyError,
    RetriesExhaustedError,
    RunTimeoutError,
    UndeliverableMessageError,
)

AT_ONCE = RetryPolicy(max_attempts=3, first_delay_s=0)


class Worker(Executor):
    """Sends its input with the number of complaints it knows of."""

    @handler
    async def work(self, text: str, ctx: WorkflowContext) -> str:
        return f"{text}{len(ctx.previous_errors)}"


@executor(id="check")
async def check(draft: str) -> str:
    return draft


def review(max_passes: int, *, good: str, exhausted: bool = False) -> WorkflowBuilder:
    @executor(id="accept")
    async def accept(draft: str) -> str:
        return f"accepted {draft}"

    @executor(id="give_up")
    async def give_up(draft: str) -> str:
        return f"gave up on {draft}"

    return (
        WorkflowBuilder("review")
        .set_start(Worker("work"))
        .add_edge("work", check)
        .add_conditional_edge("check", accept, lambda draft: draft == good)
        .add_retry_edge(
            "check", "work", when=lambda draft: draft != good, max_passes=max_passes,
            exhausted=give_up if exhausted else None,
        )
    )  # fmt: skip


@pytest.mark.requirement("EN28", "CX06", "EX26")
async def test_retry_edge_delivers_the_input_again_with_the_complaints() -> None:
    result = await review(3, good="x2").build().run("x")
    assert result.outputs == ("accepted x2",)


@pytest.mark.requirement("EN12")
async def test_run_fails_when_no_pass_is_left() -> None:
    said = "retry edge check -> work exhausted after 2 passes"
    with pytest.raises(RetriesExhaustedError, match=said) as caught:
        await review(2, good="never").build().run("x")
    assert caught.value.last_message == "x2"


async def test_exhausted_target_gets_the_last_message_instead() -> None:
    result = await review(2, good="never", exhausted=True).build().run("x")
    assert result.outputs == ("gave up on x2",)


async def test_passes_are_counted_for_each_input_apart() -> None:
    @executor(id="split")
    async def split(text: str, ctx: WorkflowContext) -> None:
        for letter in text:
            await ctx.send_message(letter)

    @executor(id="keep")
    async def keep(draft: str) -> str:
        return draft

    flow = (
        WorkflowBuilder("two")
        .set_start(split)
        .add_edge(split, Worker("work"))
        .add_edge("work", check)
        .add_conditional_edge("check", keep, lambda draft: draft in {"a0", "b2"})
        .add_retry_edge("check", "work", when=lambda d: d not in {"a0", "b2"}, max_passes=2)
        .build()
    )
    assert (await flow.run("ab")).outputs == ("a0", "b2")


async def test_retry_edge_can_send_the_message_instead_of_the_input() -> None:
    @executor(id="done")
    async def done(draft: str) -> str:
        return draft

    flow = (
        WorkflowBuilder("message")
        .set_start(Worker("work"))
        .add_edge("work", check)
        .add_retry_edge("check", "work", when=lambda d: len(d) < 4, max_passes=5, payload="message")
        .add_conditional_edge("check", done, lambda d: len(d) >= 4)
        .build()
    )
    assert (await flow.run("x")).outputs == ("x012",)


async def test_message_that_the_worker_does_not_take_cannot_be_sent_to_it_again() -> None:
    @executor(id="check")
    async def check(draft: str) -> str | int:
        return 7

    workflow = (
        WorkflowBuilder("review")
        .set_start(Worker("work"))
        .add_edge("work", check)
        .add_retry_edge(check, "work", when=lambda _: True, payload="message")
        .build()
    )
    with pytest.raises(UndeliverableMessageError, match="'work' does not accept int"):
        await workflow.run("a")


async def test_message_for_the_worker_alone_goes_nowhere_else_when_no_pass_is_left() -> None:
    @executor(id="check")
    async def check(draft: str, ctx: WorkflowContext) -> None:
        await ctx.send_message(draft, "work")

    @executor(id="give_up")
    async def give_up(draft: str) -> str:
        return draft

    @executor(id="watch")
    async def watch(draft: str) -> str:
        return f"watched {draft}"

    workflow = (
        WorkflowBuilder("review")
        .set_start(Worker("work"))
        .add_edge("work", check)
        .add_retry_edge(check, "work", when=lambda _: True, max_passes=1, exhausted=give_up)
        .add_edge(check, watch, lambda _: True)
        .build()
    )
    assert (await workflow.run("a")).outputs == ("a1",)


def flaky(
    failures: int, *, policy: RetryPolicy | None = AT_ONCE, timeout_s: float | None = None
) -> FunctionExecutor:
    tried: list[int] = []

    @executor(id="flaky", retry=policy, timeout_s=timeout_s)
    async def try_it(text: str, ctx: WorkflowContext) -> str:
        tried.append(ctx.attempt)
        await ctx.send_message("left by a failed try")
        ctx.set_state("left", ctx.attempt)
        if ctx.attempt <= failures:
            raise ConnectionError(f"try {ctx.attempt}")
        assert [failed.number for failed in ctx.previous_attempts] == list(range(1, ctx.attempt))
        ctx_errors = list(ctx.previous_errors)
        assert len(ctx_errors) == ctx.attempt - 1
        return f"{text} after {tried}"

    return try_it


@pytest.mark.requirement("CX05", "EN22", "EX13")
async def test_failing_activation_is_tried_again_inside_its_superstep_and_leaves_nothing_behind() -> None:
    flow = WorkflowBuilder("flaky").set_start(flaky(2)).add_edge("flaky", check).build()
    result = await flow.run("x")
    assert result.outputs == ("left by a failed try", "x after [1, 2, 3]")
    assert result.superstep_count == 2
    failed = [e for e in result.events if e.kind is EventKind.EXECUTOR_FAILED]
    assert [(e.attempt, e.data["will_retry"], e.data["error"]) for e in failed] == [
        (1, True, "try 1"),
        (2, True, "try 2"),
    ]


async def test_workflow_wide_policy_holds_for_executors_without_one() -> None:
    flow = WorkflowBuilder("flaky").set_start(flaky(2, policy=None)).build()
    with pytest.raises(ConnectionError):
        await flow.run("x")
    result = (
        await WorkflowBuilder("flaky")
        .set_start(flaky(2, policy=None))
        .build()
        .run("x", config=WorkflowConfig(retry=AT_ONCE, strict=False))
    )
    assert result.outputs == ("x after [1, 2, 3]",)


async def test_policy_can_name_what_is_worth_another_try() -> None:
    only_timeouts = RetryPolicy(max_attempts=5, first_delay_s=0, retry_on=(TimeoutError,))
    with pytest.raises(ConnectionError, match="try 1"):
        await WorkflowBuilder("flaky").set_start(flaky(2, policy=only_timeouts)).build().run("x")


async def test_each_try_gets_the_message_as_it_was_sent() -> None:
    @executor(id="spoil", retry=AT_ONCE)
    async def spoil(parts: list[int], ctx: WorkflowContext) -> int:
        parts.append(0)
        if ctx.attempt < 3:
            raise ValueError
        return len(parts)

    assert (await WorkflowBuilder("w").set_start(spoil).build().run([1, 2])).outputs == (3,)


async def test_try_that_takes_too_long_is_an_error_of_its_own() -> None:
    @executor(id="slow", timeout_s=0.01)
    async def slow(text: str, ctx: WorkflowContext) -> None:
        assert ctx.deadline is not None
        await asyncio.Event().wait()

    with pytest.raises(ExecutorTimeoutError, match=r"'slow' exceeded its timeout_s of 0.01 s"):
        await WorkflowBuilder("w").set_start(slow).build().run("x")


async def test_timeout_of_the_handlers_own_stays_what_it_is() -> None:
    @executor(id="own", timeout_s=60)
    async def own(text: str) -> None:
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine"):
        await WorkflowBuilder("w").set_start(own).build().run("x")


async def test_run_ends_at_its_deadline_and_keeps_what_is_finished() -> None:
    @executor(id="slow")
    async def slow(text: str) -> None:
        await asyncio.Event().wait()

    @executor(id="quick")
    async def quick(text: str) -> str:
        return "done"

    flow = WorkflowBuilder("w").set_start(quick, slow).build()
    with pytest.raises(RunTimeoutError, match="unfinished: slow") as caught:
        await flow.run("x", config=WorkflowConfig(run_timeout_s=0.02))
    assert caught.value.result.outputs == ("done",)  # type: ignore[attr-defined]  # documented


@pytest.mark.requirement("ED10", "ED11", "ED12", "OR06")
async def test_failure_edge_carries_a_record_of_the_failure_and_the_run_goes_on() -> None:
    @executor(id="mend")
    async def mend(failure: ExecutorFailure) -> str:
        return f"{failure.executor_id}: {failure.error_type}: {failure.message} ({failure.attempt_count})"

    flow = WorkflowBuilder("w").set_start(flaky(9)).add_edge("flaky", mend, on="failure").build()
    result = await flow.run("x")
    assert result.outputs == ("flaky: ConnectionError: try 3 (3)",)
    assert result.status is RunStatus.COMPLETED


async def test_executor_with_a_failure_edge_alone_yields_what_it_returns() -> None:
    @executor(id="mend")
    async def mend(failure: ExecutorFailure) -> str:
        return "mended"

    @executor(id="good")
    async def good(text: str) -> str:
        return text

    flow = WorkflowBuilder("w").set_start(good).add_edge("good", mend, on="failure").build()
    assert (await flow.run("x")).outputs == ("x",)


async def test_failure_that_no_condition_lets_pass_fails_the_run() -> None:
    @executor(id="mend")
    async def mend(failure: ExecutorFailure) -> str:
        return "mended"

    flow = (
        WorkflowBuilder("w")
        .set_start(flaky(9))
        .add_edge("flaky", mend, lambda failure: failure.error_type == "TimeoutError", on="failure")
        .build()
    )
    with pytest.raises(ConnectionError, match="try 3"):
        await flow.run("x")


async def test_fan_in_can_take_messages_and_failures() -> None:
    @executor(id="good")
    async def good(text: str) -> str:
        return text

    @executor(id="sum")
    async def sum_up(parts: list[str | ExecutorFailure]) -> list[str]:
        return [part if isinstance(part, str) else part.message for part in parts]

    flow = (
        WorkflowBuilder("w")
        .set_start(good, flaky(9))
        .add_fan_in_edge(["good", "flaky"], sum_up, on="always")
        .build()
    )
    assert (await flow.run("x")).outputs == (["x", "try 3"],)


async def test_failed_item_of_a_map_tells_how_often_it_was_tried() -> None:
    @executor(id="items")
    async def items(text: str) -> list[str]:
        return list(text)

    @executor(id="report")
    async def report(results: list[ItemResult]) -> list[int]:
        return [result.error.attempt_count for result in results if result.error]

    flow = WorkflowBuilder("w").set_start(items).add_map_edge(items, flaky(9), report).build()
    assert (await flow.run("ab")).outputs == ([3, 3],)


async def test_fail_fast_cancels_what_runs_beside_the_failure_and_says_so() -> None:
    cancelled = asyncio.Event()

    @executor(id="slow")
    async def slow(text: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    @executor(id="bad")
    async def bad(text: str) -> None:
        raise ValueError("bad")

    flow = WorkflowBuilder("w", config=WorkflowConfig(fail_fast=True)).set_start(slow, bad).build()
    with pytest.raises(ValueError, match="bad") as caught:
        await flow.run("x")
    assert cancelled.is_set()
    last = caught.value.result.events[-1]  # type: ignore[attr-defined]  # documented
    assert last.data["unfinished"] == ["slow", "bad"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"max_attempts": 0}, "max_attempts is 0; give at least 1"),
        ({"backoff": 0.5}, "backoff is 0.5"),
        ({"jitter": 2}, "jitter is 2"),
        ({"first_delay_s": -1}, "first_delay_s is -1"),
    ],
)
def test_policy_that_makes_no_sense_is_refused(change: dict[str, float], said: str) -> None:
    with pytest.raises(InvalidPolicyError, match=said):
        RetryPolicy(**change)  # type: ignore[arg-type]  # by name


@pytest.mark.parametrize("name", ["max_supersteps", "max_parallel", "timeout_s", "run_timeout_s"])
def test_limit_that_makes_no_sense_is_refused(name: str) -> None:
    with pytest.raises(InvalidPolicyError, match=f"{name} is 0"):
        WorkflowConfig(**{name: 0})  # type: ignore[arg-type]  # by name


def test_what_to_do_when_a_checkpoint_fails_is_one_of_two_words() -> None:
    with pytest.raises(
        InvalidPolicyError, match="on_checkpoint_failure is 'ignore'; give 'fail' or 'continue'"
    ):
        WorkflowConfig(on_checkpoint_failure="ignore")  # type: ignore[arg-type]  # that is the fault


@dataclass(frozen=True)
class Verdict:
    """What only the workflow around a sub-workflow knows."""

    draft: str
    is_good: bool


def reviewed(seen: list[list[object]], fails_once: list[str], depth: int = 1) -> Workflow:
    """Return a workflow whose retried worker is a sub-workflow, in another one if ``depth`` is 2."""

    @executor(id="plan")
    async def plan(text: str, ctx: WorkflowContext) -> str:
        return f"{text}{len(ctx.previous_errors)}"

    @executor(id="write")
    async def write(text: str, ctx: WorkflowContext) -> str:
        if ctx.previous_errors and fails_once:
            raise ValueError(fails_once.pop())
        seen.append([*ctx.previous_errors])
        return text

    @executor(id="judge")
    async def judge(draft: str) -> Verdict:
        return Verdict(draft, is_good=draft == "x2")

    @executor(id="print")
    async def prints(verdict: Verdict) -> str:
        return verdict.draft

    inner = WorkflowBuilder("inner").set_start(plan).add_edge(plan, write).build()
    if depth == 2:
        inner = WorkflowBuilder("between").set_start(inner.as_executor("inner")).build()
    return (
        WorkflowBuilder("outer")
        .set_start(inner.as_executor("work"))
        .add_edge("work", judge)
        .add_edge(judge, prints, lambda verdict: verdict.is_good)
        .add_retry_edge(judge, "work", when=lambda verdict: not verdict.is_good)
        .build()
    )


BAD = [Verdict("x0", is_good=False), Verdict("x1", is_good=False)]


@pytest.mark.parametrize("depth", [1, 2])
async def test_sub_workflow_that_is_done_again_knows_what_was_wrong_with_it(depth: int) -> None:
    seen: list[list[object]] = []
    result = await reviewed(seen, [], depth).run("x")
    assert result.outputs == ("x2",)
    assert seen == [[], BAD[:1], BAD]


@pytest.mark.parametrize("depth", [1, 2])
async def test_sub_workflow_that_is_done_again_still_knows_it_in_another_process(depth: int) -> None:
    seen: list[list[object]] = []
    flow, store = reviewed(seen, ["of its own"], depth), MemoryCheckpointStore()
    with pytest.raises(ValueError, match="of its own"):
        await flow.run("x", run_id="r", checkpoints=store)
    result = await flow.resume("r", checkpoints=store)
    assert result.outputs == ("x2",)
    own = seen[1].pop()
    assert isinstance(own, FailedAttempt)
    assert (own.number, own.message) == (1, "of its own")
    assert seen == [[], BAD[:1], BAD]
