"""What an executor is told of other runs."""

from __future__ import annotations

import pytest

from agentic.core import (
    MemoryCheckpointStore,
    RetryPolicy,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowContext,
    executor,
)
from agentic.core.graph import MemoryHistory, Workflow


def learning(failures: int) -> Workflow:
    @executor(id="fetch", retry=RetryPolicy(max_attempts=3, first_delay_s=0))
    async def fetch(text: str, ctx: WorkflowContext) -> str:
        if ctx.attempt <= failures:
            raise ConnectionError("refused")
        return text

    return WorkflowBuilder("learning").set_start(fetch).build()


@pytest.mark.requirement("CX07", "CX12", "CX13", "CX14", "CX15", "EX18")
async def test_executor_is_told_what_failed_and_what_worked_in_other_runs() -> None:
    past = MemoryHistory()
    past.record((await learning(1).run("x")).events)
    with pytest.raises(ConnectionError) as caught:
        await learning(9).run("x")
    past.record(caught.value.result.events)  # type: ignore[attr-defined]  # documented

    @executor(id="fetch")
    async def fetch(text: str, ctx: WorkflowContext) -> str:
        told = await ctx.history()
        (error,) = told.errors
        (pattern,) = told.successful_patterns
        known = f"{error.count} {error.error_type}: {error.suggestion}"
        return f"{len(told.attempts)}; {known}; {pattern.description}"

    flow = WorkflowBuilder("w", config=WorkflowConfig(history=past)).set_start(fetch).build()
    assert (await flow.run("x")).outputs == (
        "5; 4 ConnectionError: a later attempt succeeded in 1 of 4 cases: retry; succeeded on attempt 2",
    )


async def test_there_is_no_past_where_nobody_knows_it() -> None:
    @executor(id="fetch")
    async def fetch(text: str, ctx: WorkflowContext) -> int:
        return len((await ctx.history()).attempts)

    assert (await WorkflowBuilder("w").set_start(fetch).build().run("x")).outputs == (0,)


async def test_history_is_an_input_that_stays_the_same_when_the_handler_is_entered_again() -> None:
    past = MemoryHistory()

    @executor(id="fetch")
    async def fetch(text: str, ctx: WorkflowContext) -> int:
        known = len((await ctx.history()).attempts)
        await ctx.request_info("go on?", bool)
        return known

    flow = WorkflowBuilder("w", version="1", config=WorkflowConfig(history=past)).set_start(fetch).build()
    store = MemoryCheckpointStore()
    await flow.run("x", run_id="r", checkpoints=store)
    past.record((await learning(0).run("x")).events)
    assert (await flow.resume("r", checkpoints=store, responses={"r:fetch.0.0.1": True})).outputs == (0,)
