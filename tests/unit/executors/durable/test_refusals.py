"""A durable run whose superstep could not be merged or routed goes on once its code is corrected."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import pytest

from agentic.core import (
    RunStatus,
    Workflow,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowContext,
    executor,
)
from agentic.core.ledger import LedgerTransaction, MemoryLedger, OnCommit
from agentic.core.ledger.memory import _Transaction
from agentic.executors.durable import LocalRuns, WorkflowCatalog


class Joinable(MemoryLedger):
    """A ledger whose transactions functions may join."""

    @contextmanager
    def transaction(self) -> Iterator[LedgerTransaction]:
        with super().transaction():
            yield _Joinable(self._rows)


class _Joinable(_Transaction):
    def apply(self, functions: Sequence[OnCommit]) -> None:
        for function in functions:
            function(None)


class Code:
    """Code that is faulty until it is corrected; ``ran`` holds what ran, ``kept`` what joined a commit."""

    def __init__(self) -> None:
        self.is_right = False
        self.ran: list[str] = []
        self.kept: list[str] = []


@executor(id="start")
async def start(number: int) -> int:
    return number


def conflicting(code: Code) -> Workflow:
    @executor(id="a")
    async def a(number: int, ctx: WorkflowContext) -> int:
        code.ran.append("a")
        ctx.set_state("k", 1)
        return number

    @executor(id="b")
    async def b(number: int, ctx: WorkflowContext) -> int:
        code.ran.append("b")
        ctx.set_state("l" if code.is_right else "k", 2)
        return number

    @executor(id="c")
    async def c(number: int) -> int:
        code.ran.append("c")
        return number

    return WorkflowBuilder("w", version="1").set_start(start).add_fan_out_edge(start, [a, b, c]).build()


def mistyped(code: Code) -> Workflow:
    @executor(id="send")
    async def send(number: int, ctx: WorkflowContext) -> None:
        code.ran.append("send")
        ctx.on_commit(lambda _: code.kept.append("send"))
        await ctx.send_message(number if code.is_right else "text")

    @executor(id="take")
    async def take(number: int) -> int:
        return number

    return WorkflowBuilder("w", version="1").set_start(send).add_edge(send, take).build()


@pytest.mark.parametrize(
    ("make", "error", "again", "kept", "outputs"),
    [
        (conflicting, "wrote the state key 'k'", ["a", "b"], [], (7, 7, 7)),
        (mistyped, "was not delivered to any executor: 'take' does not accept str", ["send"], ["send"], (7,)),
    ],
)
async def test_what_was_refused_runs_again_and_nothing_else(
    make: Callable[[Code], Workflow], error: str, again: list[str], kept: list[str], outputs: tuple[int, ...]
) -> None:
    code = Code()
    async with (
        asyncio.timeout(20),
        LocalRuns(Joinable(), WorkflowCatalog({"w": lambda: make(code)})) as runs,
    ):
        handle = await runs.submit("w", 7)
        for _ in range(2):
            failed = await handle.result()
            assert (failed.status, code.kept) == (RunStatus.FAILED, [])
            assert error in str(failed.error)
            code.ran.clear()
            await handle.resume()
        await handle.result()
        assert sorted(code.ran) == again
        code.is_right = True
        await handle.resume()
        done = await handle.result()
    assert (done.status, done.outputs, code.kept) == (RunStatus.COMPLETED, outputs, kept)


def endless(code: Code) -> Workflow:
    @executor(id="send")
    async def send(number: int, ctx: WorkflowContext) -> int:
        ctx.on_commit(lambda _: code.kept.append("send"))
        return number

    @executor(id="take")
    async def take(number: int) -> int:
        return number

    config = WorkflowConfig(max_supersteps=1)
    return WorkflowBuilder("w", version="1", config=config).set_start(send).add_edge(send, take).build()


async def test_the_last_superstep_that_is_allowed_keeps_what_it_has_done() -> None:
    code = Code()
    async with (
        asyncio.timeout(20),
        LocalRuns(Joinable(), WorkflowCatalog({"w": lambda: endless(code)})) as runs,
    ):
        failed = await (await runs.submit("w", 7)).result()
    assert (failed.status, code.kept) == (RunStatus.FAILED, ["send"])
    assert "did not finish within 1 supersteps" in str(failed.error)


def grading(limits: Mapping[str, int]) -> Workflow:
    """Return a workflow whose validator, in a child run, is content with the third draft."""

    @executor(id="write")
    async def write(text: str, ctx: WorkflowContext) -> str:
        return f"{text}{len(ctx.previous_errors)}"

    @executor(id="grade")
    async def grade(text: str) -> str:
        return text

    @executor(id="print")
    async def prints(text: str) -> str:
        return text

    inner = (
        WorkflowBuilder("inner", "1", WorkflowConfig(max_supersteps=limits["max_supersteps"]))
        .set_start(write)
        .add_edge(write, grade)
        .add_edge(grade, prints, lambda text: text.endswith("2"))
        .add_retry_edge(
            grade, write, when=lambda text: not text.endswith("2"), max_passes=limits["max_passes"]
        )
        .build()
    )
    return WorkflowBuilder("outer", "1").set_start(inner.as_executor("in")).build()


@pytest.mark.parametrize("limit", [{"max_passes": 1}, {"max_supersteps": 3}], ids=str)
async def test_a_run_that_failed_by_a_limit_goes_on_once_that_is_raised(limit: Mapping[str, int]) -> None:
    store, high = MemoryLedger(), {"max_passes": 2, "max_supersteps": 100}
    async with asyncio.timeout(20):
        async with LocalRuns(store, WorkflowCatalog({"flow": lambda: grading({**high, **limit})})) as runs:
            handle = await runs.submit("flow", "x")
            failed = await handle.result()
            assert (failed.status, type(failed.error).__name__) == (RunStatus.FAILED, "RestoredError")
        async with LocalRuns(store, WorkflowCatalog({"flow": lambda: grading(high)})) as runs:
            handle = runs.handle(handle.run_id)
            await handle.resume()
            assert (await handle.result()).outputs == ("x2",)
