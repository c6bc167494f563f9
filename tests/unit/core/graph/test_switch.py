"""Switches, and conditions on what a failure says."""

from __future__ import annotations

import pytest

from agentic.core import (
    Case,
    Default,
    Executor,
    ExecutorFailure,
    Workflow,
    WorkflowBuilder,
    executor,
    handler,
)


class Take(Executor):
    """Says that it got it."""

    @handler
    async def take(self, number: int) -> str:
        return f"{self.id} {number}"


@executor(id="number")
async def number(text: str) -> int:
    return int(text)


async def is_odd(value: int) -> bool:
    return value % 2 == 1


def switching() -> Workflow:
    return (
        WorkflowBuilder("switch")
        .set_start(number)
        .add_switch_edge(
            number,
            [
                Case(lambda value: value > 100, Take("large"), "above 100"),
                Default(Take("other")),
                Case(is_odd, Take("odd")),
            ],
        )
        .build()
    )


@pytest.mark.requirement("ED04", "ED20", "BU06")
@pytest.mark.parametrize(("text", "taken"), [("101", "large 101"), ("7", "odd 7"), ("8", "other 8")])
async def test_first_case_that_holds_gets_the_message_and_the_default_the_rest(text: str, taken: str) -> None:
    assert (await switching().run(text)).outputs == (taken,)


async def test_case_that_raises_fails_the_run_with_that_error() -> None:
    flow = (
        WorkflowBuilder("switch")
        .set_start(number)
        .add_switch_edge(number, [Case(lambda value: 1 / value > 0, Take("a")), Default(Take("b"))])
        .build()
    )
    with pytest.raises(ZeroDivisionError):
        await flow.run("0")


async def test_switch_can_choose_who_handles_a_failure() -> None:
    class Mend(Executor):
        @handler
        async def mend(self, failure: ExecutorFailure) -> str:
            return f"{self.id}: {failure.error_type}"

    flow = (
        WorkflowBuilder("switch")
        .set_start(number)
        .add_edge(number, Take("good"))
        .add_switch_edge(
            number,
            [Case(lambda failure: failure.error_type == "ValueError", Mend("ask")), Default(Mend("stop"))],
            on="failure",
        )
        .build()
    )
    assert (await flow.run("no number")).outputs == ("ask: ValueError",)
    assert (await flow.run("3")).outputs == ("good 3",)
