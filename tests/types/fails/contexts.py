"""What a context must not send or yield."""

from typing import Never

from agentic.core import Executor, WorkflowContext, handler


class Both(Executor):
    @handler
    async def run(self, message: str, ctx: WorkflowContext[int, str]) -> None:
        await ctx.send_message(message)  # error: mypy[arg-type] pyright[reportArgumentType]
        await ctx.yield_output(1)  # error: mypy[arg-type] pyright[reportArgumentType]
        await ctx.send_message(1, target=2)  # error: mypy[arg-type] pyright[reportArgumentType]
        ctx.send_message(1)  # error: mypy[unused-coroutine] pyright[reportUnusedCoroutine]


class Elements(Executor):
    @handler
    async def run(self, message: str, ctx: WorkflowContext[list[int]]) -> None:
        await ctx.send_message([message])  # error: mypy[list-item] pyright[reportArgumentType]


class Quiet(Executor):
    @handler
    async def run(self, message: str, ctx: WorkflowContext[Never, Never]) -> None:
        await ctx.send_message(message)  # error: mypy[arg-type] pyright[reportArgumentType]
        await ctx.yield_output(message)  # error: mypy[arg-type] pyright[reportArgumentType]


class TooMany(Executor):
    @handler
    async def run(self, message: str, ctx: WorkflowContext[int, int, int]) -> None:  # error: mypy[type-arg] pyright[reportInvalidTypeArguments]
        pass


def facts(ctx: WorkflowContext) -> None:
    ctx.superstep = 1  # error: mypy[misc] pyright[reportAttributeAccessIssue]
    ctx.unheard_of()  # error: mypy[attr-defined] pyright[reportAttributeAccessIssue]
