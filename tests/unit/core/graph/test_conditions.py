"""What conditions, selectors and switches see of a message, and what becomes of what they do to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from agentic.core import (
    Case,
    Default,
    MemoryCheckpointStore,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowContext,
    executor,
)
from agentic.core.graph import FunctionExecutor, UndeliverableMessageError

Words = list[str]


@executor(id="send")
async def send(text: str) -> Words:
    return text.split()


def taking(name: str) -> FunctionExecutor:
    @executor(id=name)
    async def take(words: Words) -> str:
        return f"{name}: {' '.join(words)}"

    return take


def empties(words: Words) -> bool:
    """Answer, and leave nothing of the message."""
    had_some = bool(words)
    words.clear()
    return had_some


def takes_all(words: Words, targets: Sequence[str]) -> Sequence[str]:
    words.clear()
    return targets


def conditional() -> WorkflowBuilder:
    return WorkflowBuilder("w").set_start(send).add_conditional_edge(send, taking("a"), empties)


def switched() -> WorkflowBuilder:
    cases: list[Case | Default] = [Case(empties, taking("a")), Default(taking("b"))]
    return WorkflowBuilder("w").set_start(send).add_switch_edge(send, cases)


def selected() -> WorkflowBuilder:
    return WorkflowBuilder("w").set_start(send).add_fan_out_edge(send, [taking("a")], select=takes_all)


@pytest.mark.parametrize("build", [conditional, switched, selected])
async def test_what_is_done_to_a_message_while_deciding_about_it_is_not_delivered(
    build: Callable[[], WorkflowBuilder],
) -> None:
    assert (await build().build().run("one two")).outputs == ("a: one two",)


@pytest.mark.parametrize("limit_s", [None, 0.05])
async def test_run_that_ends_while_a_condition_is_asked_does_not_run_the_handler_again(
    limit_s: float | None,
) -> None:
    handled: list[str] = []
    is_asking, may_answer = asyncio.Event(), asyncio.Event()

    @executor(id="work")
    async def work(text: str) -> str:
        handled.append(text)
        return text

    @executor(id="end")
    async def end(text: str) -> str:
        return text

    async def is_good(text: str) -> bool:
        is_asking.set()
        await may_answer.wait()
        return True

    store = MemoryCheckpointStore()
    flow = WorkflowBuilder("asks").set_start(work).add_edge(work, end, is_good).build()
    config = WorkflowConfig(run_timeout_s=limit_s)
    run = asyncio.create_task(flow.run("x", run_id="r", checkpoints=store, config=config))
    await is_asking.wait()
    if limit_s is None:
        run.cancel()
    await asyncio.wait([run])
    may_answer.set()
    result = await flow.resume("r", checkpoints=store)
    assert (handled, result.outputs) == (["x"], ("x",))


@executor(id="both")
async def both(number: int, ctx: WorkflowContext[int | str]) -> None:
    await ctx.send_message("text")
    await ctx.send_message(number)


@executor(id="numbers")
async def numbers(number: int) -> int:
    return number


@executor(id="words")
async def words(text: str) -> str:
    return text


@executor(id="sink")
async def sink(found: int | str) -> int | str:
    return found


class Asked:
    """A condition on numbers; it fails when it is asked about anything else."""

    def __init__(self) -> None:
        self.about: list[object] = []

    def is_positive(self, number: int) -> bool:
        self.about.append(number)
        return number > 0

    def chosen(self, number: int, targets: Sequence[str]) -> list[str]:
        return [target for target in targets if self.is_positive(number)]


CONNECT: dict[str, Callable[[WorkflowBuilder, Asked], WorkflowBuilder]] = {
    "condition": lambda w, asked: w.add_edge(both, numbers, asked.is_positive).add_edge(both, words),
    "selector": lambda w, asked: w.add_fan_out_edge(both, [numbers], select=asked.chosen).add_edge(
        both, words
    ),
    "case": lambda w, asked: w.add_switch_edge(both, [Case(asked.is_positive, numbers), Default(words)]),
    "when": lambda w, asked: (
        w.add_edge(both, numbers)
        .add_edge(both, words)
        .add_edge(numbers, "again")
        .add_retry_edge("again", numbers, when=lambda n: asked.is_positive(n) and False, payload="message")
        .add_edge("again", sink)
    ),
}


@executor(id="again")
async def again(number: int, ctx: WorkflowContext[int | str]) -> None:
    await ctx.send_message(number)
    await ctx.send_message("checked")


@pytest.mark.parametrize("kind", CONNECT)
async def test_user_code_is_asked_only_about_messages_that_its_target_takes(kind: str) -> None:
    asked = Asked()
    builder = WorkflowBuilder("w").set_start(both)
    if kind == "when":
        builder.add_executor(again)
    result = await CONNECT[kind](builder, asked).build().run(1)
    assert set(map(type, asked.about)) == {int}
    assert "text" in result.outputs


async def test_message_that_nobody_takes_is_undeliverable_whatever_a_condition_makes_of_it() -> None:
    flow = WorkflowBuilder("w").set_start(both).add_edge(both, numbers, Asked().is_positive).build()
    with pytest.raises(
        UndeliverableMessageError,
        match="message str from 'both' was not delivered to any executor: 'numbers' does not accept str",
    ):
        await flow.run(1)


async def test_condition_that_says_no_to_a_message_that_nobody_takes_holds_it_back() -> None:
    flow = (
        WorkflowBuilder("w")
        .set_start(both)
        .add_edge(both, numbers, lambda found: isinstance(found, int))
        .build()
    )
    assert (await flow.run(1)).outputs == (1,)


async def test_message_that_another_condition_holds_back_is_not_undeliverable() -> None:
    builder = WorkflowBuilder("w").set_start(both).add_edge(both, numbers, Asked().is_positive)
    assert (await builder.add_edge(both, words, lambda text: False).build().run(1)).outputs == (1,)
