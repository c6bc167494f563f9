"""What can be an executor."""

import functools
from dataclasses import dataclass
from typing import assert_type

from agentic.core import Executor, ExecutorKind, RetryPolicy, WorkflowContext, executor, handler
from agentic.core.graph.definition.function import FunctionExecutor


@executor(id="async-one")
async def async_one(message: str) -> str:
    return message


@executor(id="async-two")
async def async_two(message: str, ctx: WorkflowContext[int, str]) -> None:
    await ctx.send_message(len(message))


@executor(id="sync-one", kind=ExecutorKind.VALIDATOR, max_parallel=4, timeout_s=1.5)
def sync_one(message: list[int]) -> int:
    return sum(message)


@executor(id="retried", retry=RetryPolicy(max_attempts=2))
async def retried(message: object, ctx: WorkflowContext) -> str | None:
    return None


@executor
async def bare(message: str, ctx: WorkflowContext[int]) -> None:
    await ctx.send_message(len(message))


@executor
def bare_sync(message: str) -> int:
    return len(message)


@executor()
async def named_by_itself(message: str) -> int:
    return len(message)


def repeat(text: str, times: int = 2) -> str:
    return text * times


@dataclass
class Greeter:
    word: str

    async def greet(self, name: str, ctx: WorkflowContext) -> str:
        return f"{self.word} {name}"

    def __call__(self, name: str) -> str:
        return f"{self.word} {name}"


assert_type(async_one, FunctionExecutor)
assert_type(async_two, FunctionExecutor)
assert_type(sync_one, FunctionExecutor)
assert_type(bare, FunctionExecutor)
assert_type(bare_sync, FunctionExecutor)
assert_type(named_by_itself, FunctionExecutor)
assert_type(executor(repeat), FunctionExecutor)
assert_type(executor(id="partial")(functools.partial(repeat, times=3)), FunctionExecutor)
assert_type(executor(id="default")(repeat), FunctionExecutor)
assert_type(executor(id="method")(Greeter("hi").greet), FunctionExecutor)
assert_type(executor(id="object")(Greeter("hi")), FunctionExecutor)


class Node(Executor):
    def __init__(self, id: str, factor: int) -> None:
        super().__init__(id, kind=ExecutorKind.WORKER, retry=RetryPolicy(), timeout_s=2)
        self.factor = factor

    @handler
    async def without_context(self, message: int) -> int:
        return message * self.factor

    @handler
    async def with_context(self, message: str, ctx: WorkflowContext[str]) -> None:
        await ctx.send_message(message)


class Heir(Node):
    async def without_context(self, message: int) -> int:
        return await super().without_context(message)


async def keeps_its_type(node: Node, ctx: WorkflowContext[str]) -> None:
    assert_type(await node.without_context(1), int)
    assert_type(await node.with_context("a", ctx), None)
