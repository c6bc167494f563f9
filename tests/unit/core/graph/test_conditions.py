"""What conditions, selectors and switches see of a message, and what becomes of what they do to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from agentic.core import Case, Default, WorkflowBuilder, executor
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
