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
    executor,
)
from agentic.core.graph import FunctionExecutor

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
