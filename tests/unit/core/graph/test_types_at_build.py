"""Which edges are refused because the types at their ends do not fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Never

import pytest

from agentic.core import (
    Case,
    Default,
    Executor,
    ItemResult,
    WorkflowBuilder,
    WorkflowContext,
    executor,
    handler,
)
from agentic.core.graph import ExecutorFailure, InvalidGraphError
from agentic.core.graph.definition.function import FunctionExecutor


@dataclass(frozen=True)
class Good:
    pass


@dataclass(frozen=True)
class Bad:
    pass


Verdict = Good | Bad


def node(id: str, takes: object, returns: object = None) -> FunctionExecutor:
    """Return an executor that declares what it takes and returns."""

    async def function(m: object) -> object:
        raise NotImplementedError

    function.__annotations__.update(m=takes, **{"return": returns})
    return executor(id=id)(function)


def sender(id: str, sends: object) -> FunctionExecutor:
    """Return an executor that declares what it sends through its context."""

    async def function(m: str, ctx: object) -> None:
        raise NotImplementedError

    function.__annotations__["ctx"] = WorkflowContext.__class_getitem__((sends, Never))  # type: ignore[attr-defined]  # at run time
    return executor(id=id)(function)


def text() -> WorkflowBuilder:
    """Return a builder whose start sends text."""
    return WorkflowBuilder("w").set_start(node("a", str, str))


def verdict() -> WorkflowBuilder:
    """Return a builder whose start sends good or bad."""
    return WorkflowBuilder("w").set_start(node("a", str, Verdict))


def numbers() -> WorkflowBuilder:
    """Return a builder whose start sends a list of numbers."""
    return WorkflowBuilder("w").set_start(node("a", str, list[int]))


def faults_of(builder: WorkflowBuilder) -> tuple[str, ...]:
    with pytest.raises(InvalidGraphError) as caught:
        builder.build()
    return caught.value.faults


RESULTS = list[ItemResult]


@pytest.mark.requirement("BU11")
@pytest.mark.parametrize(
    ("builder", "fault"),
    [
        (
            lambda: text().add_edge("a", node("b", int)),
            "'a' sends str to 'b', which takes int; declare its message as `int | str`, or change what 'a'",
        ),
        (
            lambda: WorkflowBuilder("w").set_start(sender("a", bytes)).add_edge("a", node("b", int | str)),
            "'a' sends bytes to 'b', which takes int or str; declare its message as `int | str | bytes`",
        ),
        (
            lambda: text().add_switch_edge("a", [Case(bool, node("b", int)), Default(node("c", str))]),
            "'a' sends str to 'b', which takes int; declare its message as `int | str`, or change what 'a'",
        ),
        (
            lambda: text().add_fan_out_edge("a", [node("b", str), node("c", int)], select=lambda m, ids: ids),
            "'a' sends str to 'c', which takes int; declare its message as `int | str`",
        ),
        (
            lambda: verdict().add_edge("a", node("b", Good)),
            "'a' may send Bad, which no target of its edges takes (b); add it to one of them, or add an",
        ),
        (
            lambda: text().add_edge("a", node("b", str), on="failure"),
            (
                "the edge a->b carries the failure of 'a' to 'b', which takes str; "
                "declare its message as `str | ExecutorFailure`"
            ),
        ),
        (
            lambda: text().add_edge("a", node("b", ExecutorFailure), on="always"),
            (
                "'a' sends str to 'b', which takes ExecutorFailure; "
                "declare its message as `ExecutorFailure | str`"
            ),
        ),
        (
            lambda: text().add_edge("a", node("b", str, str)).add_fan_in_edge(["a", "b"], node("c", str)),
            "the fan-in to 'c' gives it a list, but it takes str; declare its message as `list[str]`",
        ),
        (
            lambda: (
                text().add_edge("a", node("b", str, int)).add_fan_in_edge(["a", "b"], node("c", list[str]))
            ),
            (
                "the fan-in to 'c' lists int from 'b', but it takes list[str]; "
                "declare its message as `list[str | int]`"
            ),
        ),
        (
            lambda: (
                text()
                .add_edge("a", node("b", str, str))
                .add_fan_in_edge(["a", "b"], node("c", list[str]), on="failure")
            ),
            (
                "the fan-in to 'c' lists the failures of its sources, but it takes list[str]; "
                "declare its message as `list[str | ExecutorFailure]`"
            ),
        ),
        (
            lambda: text().add_map_edge("a", node("b", str), node("c", RESULTS)),
            "the map edge from 'a' needs lists, but it sends str; let it return `list[str]`, or use add_edge",
        ),
        (
            lambda: (
                text()
                .add_edge("a", node("b", str, Good | Bad))
                .add_fan_in_edge(["a", "b"], node("c", list[int] | tuple[int, ...]))
            ),
            (
                "the fan-in to 'c' lists str from 'a' and Good or Bad from 'b', but it takes list[int] or "
                "tuple[int, ...]; declare its message as `list[int | str | Good | Bad]`"
            ),
        ),
        (
            lambda: numbers().add_map_edge("a", node("b", str), node("c", RESULTS)),
            (
                "'b' is given the items of list[int] that 'a' sends, but takes str; "
                "declare its message as `str | int`"
            ),
        ),
        (
            lambda: numbers().add_map_edge("a", node("b", int), node("c", list[str])),
            "'c' joins a map edge and takes list[str]; declare its message as `list[ItemResult]`",
        ),
        (
            lambda: WorkflowBuilder("w").set_start(node("a", str)).add_edge("a", node("b", str)),
            "'a' declares that it sends nothing, but has the edge a->b; annotate its messages",
        ),
        (
            lambda: WorkflowBuilder("w").set_start(sender("a", Never)).add_edge("a", node("b", str)),
            "'a' declares that it sends nothing, but has the edge a->b; annotate its messages",
        ),
        (
            lambda: WorkflowBuilder("w").set_start(node("a", str), node("b", int | bytes)),
            (
                "no input fits all start executors: 'a' takes str, 'b' takes int or bytes; "
                "all get the same input, so declare a common type"
            ),
        ),
        (
            lambda: (
                text()
                .add_edge("a", node("b", str, Good))
                .add_retry_edge("b", "a", when=bool, payload="message")
            ),
            "'b' sends Good to 'a', which takes str; declare its message as `str | Good`, or change what 'b'",
        ),
        (
            lambda: (
                text()
                .add_edge("a", node("b", str, Good))
                .add_retry_edge("b", "a", when=bool, exhausted=node("c", Bad))
            ),
            "'b' sends Good to 'c', which takes Bad; declare its message as `Bad | Good`, or change what 'b'",
        ),
    ],
)
def test_misfit_is_the_one_fault(builder: Callable[[], WorkflowBuilder], fault: str) -> None:
    [found] = faults_of(builder())
    assert found.startswith(fault)


class Judge(Executor):
    """Sends by its context what its return value is not."""

    @handler
    async def judge(self, m: str, ctx: WorkflowContext[Bad]) -> Good:
        return Good()


class Untyped(Executor):
    @handler
    async def run(self, m: Any, ctx: WorkflowContext) -> Any:
        return m


@pytest.mark.requirement("BU11")
@pytest.mark.parametrize(
    "builder",
    [
        lambda: text().add_edge("a", node("b", object)),
        lambda: text().add_edge("a", Untyped("b")).add_edge("b", node("c", int)),
        lambda: verdict().add_edge("a", node("b", Good)).add_edge("a", node("c", Bad)),
        lambda: verdict().add_edge("a", node("b", Good), lambda m: isinstance(m, Good)),
        lambda: verdict().add_fan_out_edge("a", [node("b", Good)], select=lambda m, ids: ids),
        lambda: verdict().add_edge("a", node("b", Good)).add_retry_edge("a", "a", when=bool),
        lambda: (
            WorkflowBuilder("w")
            .set_start(Judge("a"))
            .add_switch_edge("a", [Case(bool, node("b", Bad)), Default(node("c", Good))])
        ),
        lambda: text().add_edge("a", node("b", str | ExecutorFailure), on="always"),
        lambda: WorkflowBuilder("w").set_start(node("a", str)).add_edge("a", Untyped("b"), on="failure"),
        lambda: (
            text().add_edge("a", node("b", str, int)).add_fan_in_edge(["a", "b"], node("c", list[int | str]))
        ),
        lambda: text().add_edge("a", node("b", str, int)).add_fan_in_edge(["a", "b"], node("c", list)),
        lambda: (
            text()
            .add_edge("a", node("b", str, int))
            .add_fan_in_edge(["a", "b"], node("c", list[int | str | ExecutorFailure]), on="always")
        ),
        lambda: numbers().add_map_edge("a", node("b", int), node("c", RESULTS)),
        lambda: WorkflowBuilder("w").set_start(Untyped("a")).add_map_edge("a", node("b", int), Untyped("c")),
        lambda: (
            WorkflowBuilder("w")
            .set_start(node("a", str, tuple[int, ...]))
            .add_map_edge("a", node("b", int), node("c", RESULTS))
        ),
        lambda: WorkflowBuilder("w").set_start(node("a", str), node("b", int | str)),
    ],
)
def test_types_that_may_fit_are_left_to_the_run(builder: Callable[[], WorkflowBuilder]) -> None:
    assert builder().build().id == "w"


def test_misfits_are_reported_together_and_with_other_faults() -> None:
    builder = (
        text()
        .add_edge("a", node("b", int))
        .add_edge("a", node("c", bytes))
        .add_edge("a", "gone")
        .add_executor(Untyped("lonely"))
    )
    assert len(faults_of(builder)) == 4
