"""What a run of a graph does, step by step."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agentic.core import (
    EventKind,
    Executor,
    ItemResult,
    RunStatus,
    Workflow,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowContext,
    executor,
    handler,
)
from agentic.core.graph import (
    ConvergenceError,
    GraphWarning,
    HandlerStoppedError,
    MessageCopyError,
    MessageTypeError,
    SelectorError,
    UndeliverableMessageError,
)


class Tag(Executor):
    """Appends its id to the text it gets."""

    @handler
    async def tag(self, text: str) -> str:
        return f"{text}.{self.id}"


class Gather(Executor):
    """Joins the texts it gets."""

    @handler
    async def gather(self, texts: list[str]) -> str:
        return "|".join(texts)


@executor(id="words")
async def words(text: str) -> list[str]:
    return text.split()


@executor(id="shout")
async def shout(word: str) -> str:
    if word == "bad":
        raise ValueError("a bad word")
    return word.upper()


@executor(id="report")
async def report(items: list[ItemResult]) -> str:
    return " ".join(
        str(item.value) if item.ok else f"<{item.error and item.error.message}>" for item in items
    )


def chain(*ids: str) -> Workflow:
    builder = WorkflowBuilder("chain").set_start(Tag(ids[0]))
    for source, target in itertools.pairwise(ids):
        builder.add_executor(Tag(target)).add_edge(source, target)
    return builder.build()


@pytest.mark.requirement("EN01", "EN02", "EN05", "ED02", "CX01", "EN11", "OR06", "LG17")
async def test_message_sent_in_one_superstep_is_seen_in_the_next() -> None:
    result = await chain("a", "b", "c").run("x")
    seen = [(e.superstep, e.path) for e in result.events if e.kind is EventKind.EXECUTOR_INVOKED]
    assert seen == [(0, "a"), (1, "b"), (2, "c")]
    assert result.outputs == ("x.a.b.c",)
    assert result.superstep_count == 3


@pytest.mark.requirement("EN16", "EN17")
async def test_result_tells_status_outputs_steps_time_and_events() -> None:
    result = await chain("a").run("x", run_id="mine")
    assert (result.run_id, result.status, result.output(str)) == ("mine", RunStatus.COMPLETED, "x.a")
    assert result.duration_s >= 0
    assert result.events[-1].kind is EventKind.RUN_COMPLETED


@pytest.mark.requirement("ED03", "BU05")
async def test_conditional_edges_route_by_the_message() -> None:
    even, odd = Tag("even"), Tag("odd")
    flow = (
        WorkflowBuilder("parity")
        .set_start(Tag("start"))
        .add_conditional_edge("start", even, lambda t: len(t) % 2 == 0, "even length")
        .add_conditional_edge("start", odd, lambda t: len(t) % 2 == 1, "odd length")
        .build()
    )
    assert (await flow.run("a")).outputs == ("a.start.odd",)
    assert (await flow.run("ab")).outputs == ("ab.start.even",)


async def test_condition_may_be_async() -> None:
    async def never(_: object) -> bool:
        await asyncio.sleep(0)
        return False

    flow = WorkflowBuilder("w").set_start(Tag("a")).add_edge("a", Tag("b"), never).build()
    result = await flow.run("x")
    assert (result.status, result.outputs) == (RunStatus.COMPLETED, ())


async def test_condition_that_raises_fails_the_run_with_that_exception() -> None:
    flow = WorkflowBuilder("w").set_start(Tag("a")).add_edge("a", Tag("b"), lambda m: bool(1 / 0)).build()
    with pytest.raises(ZeroDivisionError):
        await flow.run("x")


@pytest.mark.requirement("ED05", "ED06", "BU07", "BU09", "LG17")
async def test_fan_in_gives_one_list_in_declared_source_order() -> None:
    flow = (
        WorkflowBuilder("diamond")
        .set_start(Tag("s"))
        .add_fan_out_edge("s", [Tag("b"), Tag("a")])
        .add_fan_in_edge(["a", "b"], Gather("join"))
        .build()
    )
    assert (await flow.run("x")).outputs == ("x.s.a|x.s.b",)


async def test_fan_in_waits_for_a_source_that_comes_steps_later() -> None:
    flow = (
        WorkflowBuilder("late")
        .set_start(Tag("s"))
        .add_fan_out_edge("s", [Tag("quick"), Tag("slow1")])
        .add_edge("slow1", Tag("slow2"))
        .add_fan_in_edge(["quick", "slow2"], Gather("join"))
        .build()
    )
    result = await flow.run("x")
    assert result.outputs == ("x.s.quick|x.s.slow1.slow2",)
    assert result.superstep_count == 4


async def test_fan_in_that_starves_is_named_in_the_result() -> None:
    flow = (
        WorkflowBuilder("starve")
        .set_start(Tag("s"))
        .add_edge("s", Tag("a"))
        .add_edge("s", Tag("b"), lambda t: False)
        .add_fan_in_edge(["a", "b"], Gather("join"))
        .build()
    )
    result = await flow.run("x")
    waiting = [dict(e.data) for e in result.events if e.kind is EventKind.FAN_IN_WAITING]
    assert result.waiting_fan_ins == ("join",)
    assert waiting == [{"target": "join", "missing": ["b"]}]


@pytest.mark.requirement("ED07", "BU08")
async def test_selector_chooses_among_the_declared_targets() -> None:
    flow = (
        WorkflowBuilder("select")
        .set_start(Tag("s"))
        .add_fan_out_edge("s", [Tag("a"), Tag("b"), Tag("c")], select=lambda m, ids: [ids[2], ids[0]])
        .build()
    )
    assert (await flow.run("x")).outputs == ("x.s.a", "x.s.c")


async def test_selector_that_chooses_an_undeclared_target_fails_the_run() -> None:
    flow = (
        WorkflowBuilder("select")
        .set_start(Tag("s"))
        .add_fan_out_edge("s", [Tag("a")], select=lambda m, ids: ["z"])
        .build()
    )
    with pytest.raises(UndeliverableMessageError, match="its selector chose z, but declares a"):
        await flow.run("x")


def words_flow(on_item_error: str = "collect", window: int = 1000) -> Workflow:
    return (
        WorkflowBuilder("words")
        .set_start(words)
        .add_map_edge("words", shout, report, window=window, on_item_error=on_item_error)  # type: ignore[arg-type]  # parametrised
        .build()
    )


async def test_map_works_off_a_list_item_by_item_and_joins_in_item_order() -> None:
    assert (await words_flow().run("a b c")).outputs == ("A B C",)


async def test_map_of_nothing_still_reaches_the_join() -> None:
    assert (await words_flow().run("")).outputs == ("",)


async def test_failed_map_item_is_kept_apart_from_the_others() -> None:
    assert (await words_flow().run("a bad c")).outputs == ("A <a bad word> C",)
    assert (await words_flow("skip").run("a bad c")).outputs == ("A C",)
    with pytest.raises(ValueError, match="a bad word"):
        await words_flow("fail").run("a bad c")


async def test_map_hands_out_at_most_a_window_of_items_in_one_superstep() -> None:
    result = await words_flow(window=2).run("a b c d e")
    steps = [e.superstep for e in result.events if e.kind is EventKind.EXECUTOR_INVOKED and e.path == "shout"]
    assert steps == [1, 1, 2, 2, 3]
    assert result.outputs == ("A B C D E",)


async def test_map_runs_at_most_max_parallel_items_at_a_time() -> None:
    running, most = 0, 0

    @executor(id="busy")
    async def busy(word: str) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return word

    flow = WorkflowBuilder("w").set_start(words).add_map_edge(words, busy, report, max_parallel=3).build()
    assert (await flow.run("a b c d e f g")).outputs == ("a b c d e f g",)
    assert most == 3


async def test_map_body_may_be_a_workflow() -> None:
    body = chain("x", "y")
    flow = WorkflowBuilder("w").set_start(words).add_map_edge(words, body, report).build()
    assert (await flow.run("a b")).outputs == ("a.x.y b.x.y",)


async def test_list_is_needed_to_enter_a_map_edge() -> None:
    @executor(id="a")
    async def undeclared(text: str):  # type: ignore[no-untyped-def]  # noqa: ANN202  # says nothing of what it sends
        return text

    flow = WorkflowBuilder("w").set_start(undeclared).add_map_edge("a", shout, report).build()
    with pytest.raises(UndeliverableMessageError, match="needs a list, not str"):
        await flow.run("x")


async def test_every_start_executor_gets_the_input() -> None:
    flow = WorkflowBuilder("two").set_start(Tag("a"), Tag("b")).build()
    assert (await flow.run("x")).outputs == ("x.a", "x.b")


@pytest.mark.requirement("EN02", "LG12")
async def test_all_due_executors_of_a_step_run_in_parallel() -> None:
    met = asyncio.Barrier(2)

    class Meet(Executor):
        @handler
        async def meet(self, text: str) -> str:
            async with asyncio.timeout(5):
                await met.wait()  # only ends when both are there
            return text

    flow = WorkflowBuilder("meet").set_start(Meet("a"), Meet("b")).build()
    assert len((await flow.run("x")).outputs) == 2


@pytest.mark.requirement("LG12")
async def test_several_messages_for_one_executor_are_handled_in_order_one_after_the_other() -> None:
    running = 0

    @executor(id="one")
    async def one(text: str) -> str:
        nonlocal running
        assert running == 0
        running += 1
        await asyncio.sleep(0)
        running -= 1
        return text

    flow = (
        WorkflowBuilder("w")
        .set_start(Tag("s"))
        .add_fan_out_edge("s", [Tag("b"), Tag("a")])
        .add_edge("a", one)
        .add_edge("b", one)
        .build()
    )
    assert (await flow.run("x")).outputs == ("x.s.a", "x.s.b")  # edge declaration order, not source order


@pytest.mark.requirement("CX02", "CX03")
async def test_handler_sends_and_yields_as_often_as_it_likes() -> None:
    @executor(id="many")
    async def many(text: str, ctx: WorkflowContext) -> str:
        await ctx.send_message("first")
        await ctx.yield_output("told")
        return "last"

    flow = WorkflowBuilder("w").set_start(many).add_edge(many, Tag("t")).build()
    assert (await flow.run("x")).outputs == ("told", "first.t", "last.t")


async def test_explicit_target_limits_a_message_to_one_edge() -> None:
    @executor(id="s")
    async def s(text: str, ctx: WorkflowContext) -> None:
        await ctx.send_message(text, target="b")

    flow = WorkflowBuilder("w").set_start(s).add_edge(s, Tag("a")).add_edge(s, Tag("b")).build()
    assert (await flow.run("x")).outputs == ("x.b",)


@pytest.mark.parametrize(
    ("message", "target", "reason"),
    [(7, None, "'t' does not accept int"), ("x", "nobody", "'nobody' is not a target of an edge of 's'")],
)
async def test_message_that_reaches_nobody_fails_the_run_and_says_why(
    message: object, target: str | None, reason: str
) -> None:
    @executor(id="s")
    async def s(text: str, ctx: WorkflowContext) -> None:
        await ctx.send_message(message, target=target)

    builder = WorkflowBuilder("w").set_start(s).add_edge(s, Tag("t"))
    with pytest.raises(UndeliverableMessageError, match=reason):
        await builder.build().run("x")
    lenient = await builder.build().run("x", config=WorkflowConfig(strict=False))
    kinds = [e.kind for e in lenient.events]
    assert lenient.status is RunStatus.COMPLETED
    assert EventKind.MESSAGE_UNDELIVERABLE in kinds


async def test_run_without_end_is_stopped_with_a_typed_error() -> None:
    with pytest.warns(GraphWarning, match="the cycle a -> a has neither a condition nor a pass limit"):
        flow = WorkflowBuilder("spin").set_start(Tag("a")).add_edge("a", "a").build()
    with pytest.raises(ConvergenceError, match=r"did not finish within 5 supersteps \(still due: a\)"):
        await flow.run("x", config=WorkflowConfig(max_supersteps=5))


@pytest.mark.requirement("EN27", "EN22")
async def test_failure_lets_siblings_finish_and_raises_the_first_in_executor_order() -> None:
    finished: list[str] = []

    class Fail(Executor):
        @handler
        async def fail(self, text: str) -> None:
            raise ValueError(self.id)

    @executor(id="slow")
    async def slow(text: str) -> None:
        await asyncio.sleep(0)
        finished.append("slow")

    flow = WorkflowBuilder("w").set_start(Fail("f1"), slow, Fail("f2")).build()
    with pytest.raises(ValueError, match="f1") as caught:
        await flow.run("x")
    result = caught.value.result  # type: ignore[attr-defined]  # attached by run()
    assert finished == ["slow"]
    assert result.status is RunStatus.FAILED
    assert [e.path for e in result.events if e.kind is EventKind.EXECUTOR_FAILED] == ["f1", "f2"]


async def test_siblings_never_share_a_message_they_could_change() -> None:
    class Append(Executor):
        @handler
        async def append(self, items: list[str]) -> list[str]:
            items.append(self.id)
            return items

    @executor(id="s")
    async def s(text: str) -> list[str]:
        return [text]

    flow = WorkflowBuilder("w").set_start(s).add_fan_out_edge(s, [Append("a"), Append("b")]).build()
    assert (await flow.run("x")).outputs == (["x", "a"], ["x", "b"])


async def test_message_changed_after_it_was_sent_arrives_as_it_was_sent() -> None:
    @executor(id="s")
    async def s(text: str, ctx: WorkflowContext) -> None:
        box = [text]
        await ctx.send_message(box)
        box.append("later")

    flow = WorkflowBuilder("w").set_start(s).add_edge(s, Gather("g")).build()
    assert (await flow.run("x")).outputs == ("x",)


async def test_one_workflow_serves_many_runs_at_once() -> None:
    flow = words_flow()
    results = await asyncio.gather(*(flow.run(f"a{n} b{n}") for n in range(20)))
    assert [r.outputs[0] for r in results] == [f"A{n} B{n}" for n in range(20)]


@pytest.mark.requirement("EX10")
async def test_sync_function_runs_off_the_event_loop() -> None:
    @executor(id="where")
    def where(text: str) -> bool:
        return threading.current_thread() is threading.main_thread()

    assert (await WorkflowBuilder("w").set_start(where).build().run("x")).outputs == (False,)


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (asyncio.CancelledError(), "'odd' was cancelled by its own code"),
        (SystemExit(3), r"'odd' called exit\(3\)"),
    ],
)
async def test_handler_that_stops_itself_is_a_failure_and_stops_nothing_else(
    raised: BaseException, said: str
) -> None:
    @executor(id="odd")
    async def odd(text: str) -> None:
        raise raised

    flow = WorkflowBuilder("w").set_start(odd, Tag("a")).build()
    with pytest.raises(HandlerStoppedError, match=said) as caught:
        await flow.run("x")
    result = caught.value.result  # type: ignore[attr-defined]  # attached by run()
    assert result.outputs == ("x.a",)


async def test_message_that_can_change_and_cannot_be_copied_is_refused_at_the_send() -> None:
    @executor(id="s")
    async def s(text: str) -> object:
        return {"lock": threading.Lock()}

    flow = WorkflowBuilder("w").set_start(s).add_edge(s, Tag("t")).build()
    with pytest.raises(MessageCopyError, match="a dict cannot be sent because it cannot be copied"):
        await flow.run("x")


@pytest.mark.parametrize("answer", ["a", None, 3])
async def test_selector_that_returns_no_list_of_targets_fails_the_run(answer: Any) -> None:
    flow = (
        WorkflowBuilder("w")
        .set_start(Tag("s"))
        .add_fan_out_edge("s", [Tag("a")], select=lambda m, ids: answer)
    )
    with pytest.raises(SelectorError, match="return a list of target ids"):
        await flow.build().run("x")


async def test_lists_in_flight_on_one_map_edge_are_worked_off_apart() -> None:
    @executor(id="lists")
    async def lists(text: str, ctx: WorkflowContext) -> None:
        for part in text.split(","):
            await ctx.send_message(part.split())

    flow = WorkflowBuilder("w").set_start(lists).add_map_edge(lists, shout, report, window=1).build()
    assert set((await flow.run("a b,c,bad d e")).outputs) == {"<a bad word> D E", "A B", "C"}


async def cancelled_while_waiting(start: Callable[[Workflow], Awaitable[object]]) -> list[str]:
    told: list[str] = []
    entered = asyncio.Event()

    @executor(id="wait")
    async def wait(text: str) -> None:
        try:
            entered.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            told.append("handler cancelled")
            raise

    task = asyncio.ensure_future(start(WorkflowBuilder("w").set_start(wait).build()))
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return told


async def test_cancellation_reaches_running_handlers() -> None:
    assert await cancelled_while_waiting(lambda flow: flow.run("x")) == ["handler cancelled"]


async def test_input_that_no_start_executor_takes_is_refused_before_anything_begins() -> None:
    @executor(id="number")
    async def number(value: int) -> int:
        return value

    flow = WorkflowBuilder("w").set_start(number).build()
    with pytest.raises(MessageTypeError, match="executor 'number' takes int, not str"):
        flow.run_stream("x")
