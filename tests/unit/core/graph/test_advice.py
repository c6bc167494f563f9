"""What errors and warnings advise works."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable

import pytest

from agentic.core import (
    ExecutorFailure,
    ItemResult,
    MemoryCheckpointStore,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowContext,
    executor,
)
from agentic.core.graph import FunctionExecutor, GraphWarning, InvalidGraphError, UndeliverableMessageError

NAMES = {"ExecutorFailure": ExecutorFailure, "ItemResult": ItemResult}


def taking(annotation: object, id: str = "end") -> FunctionExecutor:
    """Return an executor whose message is annotated so."""

    async def takes(message: object) -> None: ...

    takes.__annotations__["message"] = annotation
    return executor(id=id)(takes)


@executor(id="number")
async def number(given: object) -> int:
    return 1


@executor(id="text")
async def text(given: object) -> str:
    return "x"


@executor(id="numbers")
async def numbers(given: object) -> list[int]:
    return [1, 2]


def _by_an_edge(end: FunctionExecutor) -> WorkflowBuilder:
    return WorkflowBuilder("w").set_start(number).add_edge(number, end)


def _by_a_failure_edge(end: FunctionExecutor) -> WorkflowBuilder:
    return WorkflowBuilder("w").set_start(number).add_edge(number, end, on="always")


def _by_a_fan_in(end: FunctionExecutor) -> WorkflowBuilder:
    return WorkflowBuilder("w").set_start(number, text).add_fan_in_edge([number, text], end)


def _by_a_fan_in_of_failures(end: FunctionExecutor) -> WorkflowBuilder:
    return WorkflowBuilder("w").set_start(number, text).add_fan_in_edge([number, text], end, on="always")


def _as_a_body(end: FunctionExecutor) -> WorkflowBuilder:
    join = taking(list[ItemResult], "join")
    return WorkflowBuilder("w").set_start(numbers).add_map_edge(numbers, end, join)


def _as_a_join(end: FunctionExecutor) -> WorkflowBuilder:
    return WorkflowBuilder("w").set_start(numbers).add_map_edge(numbers, taking(int, "body"), end)


@pytest.mark.parametrize(
    ("connect", "annotation"),
    [
        (_by_an_edge, str),
        (_by_a_failure_edge, int),
        (_by_a_fan_in, str),
        (_by_a_fan_in, list[int]),
        (_by_a_fan_in_of_failures, list[int | str]),
        (_by_a_fan_in_of_failures, bytes),
        (_as_a_body, str),
        (_as_a_join, list[int]),
    ],
)
def test_a_target_that_takes_what_a_fault_says_can_be_built(
    connect: Callable[[FunctionExecutor], WorkflowBuilder], annotation: object
) -> None:
    with pytest.raises(InvalidGraphError) as refused:
        connect(taking(annotation)).build()
    (fault,) = refused.value.faults
    advised = re.search(r"declare its message as `(.+?)`", fault)
    assert advised is not None, fault
    connect(taking(eval(advised[1], NAMES))).build()  # it is our own text


async def test_a_message_that_reached_nobody_is_only_recorded_by_a_run_that_is_not_strict() -> None:
    @executor(id="stray")
    async def stray(given: int, ctx: WorkflowContext) -> None:
        await ctx.send_message(given, target="nobody")

    flow = WorkflowBuilder("w").set_start(stray).add_edge(stray, number).build()
    store = MemoryCheckpointStore()
    with pytest.raises(UndeliverableMessageError, match=r"WorkflowConfig\(strict=False\)"):
        await flow.run(1, run_id="r", checkpoints=store)
    result = await flow.resume("r", checkpoints=store, config=WorkflowConfig(strict=False))
    assert result.is_success


def _half_retried(mode: str) -> WorkflowBuilder:
    @executor(id="grade")
    async def grade(pair: list[object]) -> list[object]:
        return pair

    @executor(id="draft")
    async def draft(given: object, ctx: WorkflowContext) -> int:
        return len(ctx.previous_errors)

    return (
        WorkflowBuilder("w")
        .set_start(text, draft)
        .add_fan_in_edge([text, draft], grade, mode=mode)  # type: ignore[arg-type]  # a word of the two below
        .add_retry_edge(grade, draft, when=lambda pair: pair[1] != 1)
        .add_edge(grade, taking(list[object]), lambda pair: pair[1] == 1)
    )


async def test_a_join_that_a_retry_leaves_half_full_works_as_the_warning_says() -> None:
    with pytest.warns(GraphWarning, match="use mode='latest' there"):
        starving = await _half_retried("all").build().run("x")
    assert starving.waiting_fan_ins == ("grade",)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = await _half_retried("latest").build().run("x")
    assert (result.is_success, result.waiting_fan_ins) == (True, ())
