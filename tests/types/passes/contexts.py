"""What a context sends and yields."""

from typing import Any, Never, assert_type

from agentic.core import Executor, WorkflowContext, handler


class Both(Executor):
    @handler
    async def run(self, message: str, ctx: WorkflowContext[int, str]) -> None:
        await ctx.send_message(len(message))
        await ctx.send_message(len(message), target="next")
        await ctx.yield_output(message)


class Several(Executor):
    @handler
    async def run(self, message: str, ctx: WorkflowContext[int | str, list[int]]) -> None:
        await ctx.send_message(1)
        await ctx.send_message("one")
        await ctx.yield_output([1])


class Defaults(Executor):
    @handler
    async def nothing_said(self, message: str, ctx: WorkflowContext) -> None:
        assert_type(ctx, WorkflowContext[Any, Any])
        await ctx.send_message(object())
        await ctx.yield_output(None)

    @handler
    async def only_sends(self, message: int, ctx: WorkflowContext[int]) -> None:
        assert_type(ctx, WorkflowContext[int, Any])
        await ctx.send_message(message)
        await ctx.yield_output(object())


class Quiet(Executor):
    @handler
    async def run(self, message: str, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.yield_output(message)


async def facts(ctx: WorkflowContext[int, str]) -> None:
    assert_type(ctx.superstep, int)
    assert_type(ctx.attempt, int)
    ctx.set_state("seen", {"a"})
    ctx.local["count"] = 1
