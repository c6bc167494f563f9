"""A run that ends before its messages are handled lets executors end what they began elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from agentic.core import (
    Executor,
    Workflow,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowContext,
    executor,
    handler,
)
from agentic.core.graph import EventKind, RunTimeoutError
from agentic.core.graph.running import on_cancel


class Elsewhere(Executor):
    """Begins a job elsewhere, asks for it ``rounds`` times, and can end it."""

    def __init__(self, id: str = "job", rounds: int = 2, *, waits: bool = False) -> None:
        super().__init__(id)
        self.begun: list[str] = []
        self.ended: list[tuple[object, object]] = []
        self.is_there = asyncio.Event()
        self.is_out_of_reach = False
        self._rounds = rounds
        self._waits = waits

    @handler
    async def run(self, rounds_done: int, ctx: WorkflowContext) -> int | str:
        await ctx.once("job", self._begin)
        if rounds_done == self._rounds:
            self.is_there.set()
            if self._waits:
                await asyncio.Event().wait()
            return "done"
        return rounds_done + 1

    async def _begin(self) -> str:
        self.begun.append(self.id)
        return self.id

    async def on_cancel(self, message: object, ctx: WorkflowContext) -> None:
        self.ended.append((message, await ctx.once("job", lambda: None)))
        if self.is_out_of_reach:
            raise ConnectionError("nobody there")


def flow(*nodes: Executor, config: WorkflowConfig | None = None) -> Workflow:
    builder = WorkflowBuilder("flow", "1", config or WorkflowConfig()).set_start(*nodes)
    for node in nodes:
        builder.add_edge(node, node, lambda message: isinstance(message, int))
    return builder.build()


def failing(after: int) -> Executor:
    @executor(id="fails")
    async def fails(round_number: int) -> int:
        if round_number == after:
            raise ValueError("no more")
        return round_number + 1

    return fails


async def cancelled(job: Elsewhere, run: Callable[[], Awaitable[object]]) -> None:
    task = asyncio.ensure_future(run())
    await job.is_there.wait()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


class TestACallIsCancelled:
    async def test_when_the_run_is_cancelled_in_its_middle(self) -> None:
        job = Elsewhere(rounds=0, waits=True)
        await cancelled(job, lambda: flow(job).run(0))
        assert job.ended == [(0, "job")]

    async def test_when_the_run_is_out_of_time(self) -> None:
        job = Elsewhere(rounds=0, waits=True)
        with pytest.raises(RunTimeoutError):
            await flow(job, config=WorkflowConfig(run_timeout_s=0.05)).run(0)
        assert job.ended == [(0, "job")]

    async def test_when_another_executor_fails_the_run_before_its_next_message(self) -> None:
        job = Elsewhere(rounds=5)
        with pytest.raises(ValueError, match="no more"):
            await flow(job, failing(after=1)).run(0)
        assert [message for message, _ in job.ended] == [2], "the message that it was to handle next"

    async def test_when_it_is_stopped_as_another_executor_fails(self) -> None:
        job = Elsewhere(rounds=0, waits=True)
        with pytest.raises(ValueError, match="no more"):
            await flow(job, failing(after=0), config=WorkflowConfig(fail_fast=True)).run(0)
        assert job.ended == [(0, "job")]

    async def test_when_it_failed_itself(self) -> None:
        class Failing(Elsewhere):
            async def _begin(self) -> str:
                raise ValueError("not today")

        job = Failing()
        with pytest.raises(ValueError, match="not today"):
            await flow(job).run(0)
        assert job.ended == [(0, None)], "nothing was begun"

    async def test_when_the_run_has_too_many_supersteps(self) -> None:
        job = Elsewhere(rounds=50)
        with pytest.raises(Exception, match="3"):
            await flow(job, config=WorkflowConfig(max_supersteps=3)).run(0)
        assert [message for message, _ in job.ended] == [3]

    async def test_within_a_sub_workflow(self) -> None:
        job = Elsewhere(rounds=0, waits=True)
        outer = WorkflowBuilder("outer", "1").set_start(flow(job).as_executor("inner")).build()
        await cancelled(job, lambda: outer.run(0))
        assert job.ended == [(0, "job")]


async def test_a_finished_call_is_not_cancelled() -> None:
    job = Elsewhere()
    await flow(job).run(0)
    other = Elsewhere("other", rounds=0)
    with pytest.raises(ValueError, match="no more"):
        await flow(other, failing(after=1)).run(0)
    assert (job.ended, other.ended) == ([], [])


async def test_what_cannot_be_ended_is_told_and_changes_nothing() -> None:
    job = Elsewhere(rounds=5)
    job.is_out_of_reach = True
    stream = flow(job, failing(after=1)).run_stream(0)
    told = [event async for event in stream]
    with pytest.raises(ValueError, match="no more"):
        await stream.result()
    (line,) = [event for event in told if event.kind is EventKind.EXECUTOR_LOG]
    assert (line.path, line.data["level"]) == ("job", "warning")
    assert "nobody there" in str(line.data)


async def test_an_end_that_takes_too_long_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Elsewhere):
        async def on_cancel(self, message: object, ctx: WorkflowContext) -> None:
            await asyncio.Event().wait()

    monkeypatch.setattr(on_cancel, "CANCEL_HOOK_S", 0.01)
    with pytest.raises(ValueError, match="no more"):
        await flow(Slow(rounds=5), failing(after=1)).run(0)
