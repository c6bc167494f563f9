"""An exception of a handler says in a note which executor it comes from."""

from __future__ import annotations

import pytest

from agentic.core import RetryPolicy, Workflow, WorkflowBuilder, WorkflowContext, executor


class WrapperError(Exception):
    pass


@executor(id="leaf", retry=RetryPolicy(max_attempts=3, first_delay_s=0))
async def leaf(error: Exception) -> None:
    raise error


def nested(depth: int) -> Workflow:
    flow = WorkflowBuilder("w0").set_start(leaf).build()
    for level in range(1, depth + 1):
        flow = WorkflowBuilder(f"w{level}").set_start(flow.as_executor(f"box{level}")).build()
    return flow


async def notes_of(flow: Workflow, error: Exception) -> list[str]:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever the handler raises
        await flow.run(error)
    return list(caught.value.__notes__)


@pytest.mark.parametrize(("depth", "path"), [(0, "leaf"), (1, "box1/leaf"), (2, "box2/box1/leaf")])
async def test_with_the_path_once_however_deep_it_is_and_often_it_was_tried(depth: int, path: str) -> None:
    assert await notes_of(nested(depth), ValueError("x")) == [f"in executor {path!r}"]


async def test_also_if_a_handler_hands_on_what_it_ran_within_it() -> None:
    inner = nested(0)

    @executor(id="outer")
    async def outer(error: Exception, ctx: WorkflowContext) -> None:
        await ctx.run_workflow(inner, error)

    @executor(id="wrapping")
    async def wrapping(error: Exception, ctx: WorkflowContext) -> None:
        try:
            await ctx.run_workflow(inner, error)
        except ValueError as exc:
            raise WrapperError from exc

    passing = WorkflowBuilder("w").set_start(outer).build()
    assert await notes_of(passing, ValueError("x")) == ["in executor 'outer/leaf'"]
    wrapped = WorkflowBuilder("w").set_start(wrapping).build()
    assert await notes_of(wrapped, ValueError("x")) == ["in executor 'wrapping'"]


async def test_not_if_its_notes_take_none() -> None:
    error = ValueError("x")
    error.__notes__ = ()  # type: ignore[assignment]  # as foreign code may
    assert await notes_of(nested(0), error) == []


async def test_a_builder_given_to_run_workflow_is_refused_with_the_next_step() -> None:
    inner = WorkflowBuilder("inner").set_start(executor(id="same")(echo))

    @executor(id="outer")
    async def outer(number: int, ctx: WorkflowContext) -> None:
        await ctx.run_workflow(inner, number)  # type: ignore[arg-type]  # that is the mistake

    flow = WorkflowBuilder("w").set_start(outer).build()
    with pytest.raises(TypeError, match=r"takes a workflow, not a WorkflowBuilder; call build\(\)") as caught:
        await flow.run(1)
    assert caught.value.__notes__ == ["in executor 'outer'"]


async def echo(number: int) -> int:
    return number
