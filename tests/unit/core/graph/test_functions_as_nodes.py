"""Functions as nodes: with ``@executor`` alone, or as they are."""

from __future__ import annotations

import functools

import pytest

from agentic.core import Case, Default, WorkflowBuilder, WorkflowContext, executor
from agentic.core.graph import HandlerError, InvalidGraphError


async def double(number: int) -> int:
    return 2 * number


def as_text(number: int) -> str:
    return str(number)


async def say(text: str, ctx: WorkflowContext[object, str]) -> None:
    await ctx.yield_output(f"{text} {ctx.executor_id}")


class Greeter:
    async def greet(self, name: str) -> str:
        return f"hello {name}"


async def test_functions_are_nodes_named_after_themselves() -> None:
    flow = WorkflowBuilder("w").set_start(double).add_edge(double, as_text).add_edge(as_text, say).build()
    assert list(flow.graph.executors) == ["double", "as_text", "say"]
    assert (await flow.run(2)).outputs == ("4 say",)


async def test_function_that_is_named_twice_is_one_node_and_so_is_a_method() -> None:
    greeter = Greeter()
    builder = WorkflowBuilder("w").set_start(as_text).add_edge(as_text, greeter.greet)
    flow = builder.add_switch_edge(greeter.greet, [Case(str.isupper, "say"), Default(say)]).build()
    assert (await flow.run(2)).outputs == ("hello 2 say",)


async def test_decorator_without_an_id_takes_the_name_of_the_function() -> None:
    for made in (executor(double), executor()(double), executor(timeout_s=1)(double)):
        assert made.id == "double"
        assert (await WorkflowBuilder("w").set_start(made).build().run(2)).outputs == (4,)


@pytest.mark.parametrize(
    ("node", "fault"),
    [
        (
            lambda text: text,
            r"<lambda>.* has no name to use as id; .* executor\(id=\.\.\.\)\(function\)",
        ),
        (functools.partial(as_text, 1), "has no name to use as id"),
        (Greeter, r"Greeter is a class; give an instance: Greeter\(\.\.\.\)"),
        (3, "3 is not an executor; give an Executor, a function, a workflow or the id of one"),
    ],
)
def test_what_has_no_name_or_cannot_be_called_is_refused(node: object, fault: str) -> None:
    with pytest.raises(HandlerError, match=fault):
        WorkflowBuilder("w").set_start(node)  # type: ignore[arg-type]  # as a user may
    with pytest.raises(HandlerError, match=r"has no name|is a class|is not an executor|NoneType|decorator"):
        executor(node)  # type: ignore[call-overload]  # as a user may


def test_id_without_its_name_is_refused() -> None:
    with pytest.raises(HandlerError, match=r"executor\(id='a'\)"):
        executor("a")  # type: ignore[call-overload]  # as a user may


def test_two_functions_of_one_name_are_refused() -> None:
    def other() -> object:
        async def double(number: int) -> int:
            return number

        return double

    builder = WorkflowBuilder("w").set_start(double)
    builder.add_edge(double, other())  # type: ignore[arg-type]  # a function
    with pytest.raises(InvalidGraphError, match="two executors have the id 'double'; rename one"):
        builder.build()
