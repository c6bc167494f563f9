"""Fan-ins: who waits for whom, and what the target gets."""

from __future__ import annotations

import pytest

from agentic.core import EventKind, Executor, Workflow, WorkflowBuilder, WorkflowContext, executor, handler
from agentic.core.graph import FunctionExecutor


def step(name: str) -> FunctionExecutor:
    @executor(id=name)
    async def forward(text: str) -> str:
        return f"{text}{name}"

    return forward


class Join(Executor):
    """Yields what it gets, joined."""

    @handler
    async def join(self, parts: list[str]) -> str:
        return "+".join(parts)


def kinds(flow_events: object) -> list[str]:
    return [str(event.kind) for event in flow_events]  # type: ignore[attr-defined]  # events of a result


@pytest.mark.requirement("ED06", "BU09")
async def test_all_waits_for_the_last_source_and_keeps_declared_order() -> None:
    flow = (
        WorkflowBuilder("all")
        .set_start(step("a"), step("b"))
        .add_edge("a", step("late"))
        .add_fan_in_edge(["late", "b"], Join("join"))
        .build()
    )
    result = await flow.run("")
    assert result.outputs == ("alate+b",)


def feedback_loop(rounds: int) -> Workflow:
    """``types`` sends once; ``impl`` sends again each time the join says so."""

    @executor(id="types")
    async def types(text: str) -> str:
        return "t"

    class Impl(Executor):
        @handler
        async def first(self, text: str, ctx: WorkflowContext) -> str:
            return "i0"

        @handler
        async def again(self, count: int) -> str:
            return f"i{count}"

    class Assemble(Executor):
        @handler
        async def assemble(self, parts: list[str], ctx: WorkflowContext) -> int | None:
            done = int(parts[1].removeprefix("i"))
            await ctx.yield_output("+".join(parts))
            return done + 1 if done < rounds else None

    return (
        WorkflowBuilder("feedback")
        .set_start(types, Impl("impl"))
        .add_fan_in_edge(["types", "impl"], Assemble("assemble"), mode="latest")
        .add_conditional_edge("assemble", "impl", lambda count: count <= rounds)
        .build()
    )


async def test_latest_joins_again_with_the_newest_value_of_each_source() -> None:
    result = await feedback_loop(2).run("go")
    assert result.outputs == ("t+i0", "t+i1", "t+i2")


async def test_what_latest_replaces_is_told() -> None:
    result = await feedback_loop(2).run("go")
    superseded = [e.data["message"] for e in result.events if e.kind is EventKind.MESSAGE_SUPERSEDED]
    assert superseded == ["i0", "i1"]


async def test_latest_gives_nobody_a_value_that_others_can_change() -> None:
    @executor(id="once")
    async def once(text: str) -> list[str]:
        return ["kept"]

    @executor(id="often")
    async def often(number: int | str) -> list[str]:
        return [str(number)]

    @executor(id="spoil")
    async def spoil(parts: list[list[str]], ctx: WorkflowContext) -> int | None:
        await ctx.yield_output([list(part) for part in parts])
        for part in parts:
            part.clear()
        return 1 if parts and len(ctx.local) == 0 and not ctx.local.setdefault("seen", True) else None

    flow = (
        WorkflowBuilder("spoil")
        .set_start(once, often)
        .add_fan_in_edge([once, often], spoil, mode="latest")
        .add_conditional_edge(spoil, often, lambda number: True)
        .build()
    )
    assert (await flow.run("x")).outputs == ([["kept"], ["x"]],)


async def test_available_does_not_wait_for_an_arm_that_was_not_taken() -> None:
    flow = (
        WorkflowBuilder("branch")
        .set_start(step("s"))
        .add_conditional_edge("s", step("a"), lambda text: True)
        .add_conditional_edge("s", step("b"), lambda text: False)
        .add_fan_in_edge(["a", "b"], Join("join"), mode="available")
        .build()
    )
    result = await flow.run("")
    assert result.outputs == ("sa",)
    assert result.waiting_fan_ins == ()


async def test_available_waits_for_a_long_arm_that_is_still_under_way() -> None:
    flow = (
        WorkflowBuilder("long")
        .set_start(step("s"))
        .add_fan_out_edge("s", [step("a"), step("b1")])
        .add_edge("b1", step("b2"))
        .add_edge("b2", step("b3"))
        .add_fan_in_edge(["a", "b3"], Join("join"), mode="available")
        .build()
    )
    assert (await flow.run("")).outputs == ("sa+sb1b2b3",)


@pytest.mark.filterwarnings("ignore:.*the cycle")
async def test_joins_that_wait_for_each_other_fire_in_declaration_order_when_nothing_else_moves() -> None:
    def joins(name: str) -> FunctionExecutor:
        @executor(id=name, max_parallel=1)
        async def join(parts: list[str], ctx: WorkflowContext) -> str | None:
            await ctx.yield_output(f"{name}:{'+'.join(parts)}")
            return f"<{name}>" if "count" not in ctx.local and not ctx.local.update(count=1) else None

        return join

    flow = (
        WorkflowBuilder("mutual")
        .set_start(step("x"), step("y"))
        .add_fan_in_edge(["x", "right"], joins("left"), mode="available")
        .add_fan_in_edge(["y", "left"], joins("right"), mode="available")
        .build()
    )
    result = await flow.run("")
    assert result.outputs[0] == "left:x"
    assert result.outputs[1] == "right:y+<left>"


async def test_fan_in_that_starves_is_named_in_the_result() -> None:
    flow = (
        WorkflowBuilder("starve")
        .set_start(step("s"))
        .add_conditional_edge("s", step("a"), lambda text: True)
        .add_conditional_edge("s", step("b"), lambda text: False)
        .add_fan_in_edge(["a", "b"], Join("join"))
        .build()
    )
    result = await flow.run("")
    assert result.waiting_fan_ins == ("join",)
    waiting = [e.data for e in result.events if e.kind is EventKind.FAN_IN_WAITING]
    assert waiting == [{"target": "join", "missing": ["b"]}]
