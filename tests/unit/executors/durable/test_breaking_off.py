"""What is kept of a superstep that is broken off."""

from __future__ import annotations

import asyncio

from tests.conftest import Eventually

from agentic.core import RetryPolicy, RunStatus, Workflow, WorkflowBuilder, WorkflowContext, executor
from agentic.core.ledger import ActivationStatus, MemoryLedger
from agentic.executors.durable import LocalRuns, WorkflowCatalog


def stumbling(attempts: asyncio.Queue[int]) -> Workflow:
    policy = RetryPolicy(max_attempts=2, first_delay_s=60)

    @executor(id="stumble", retry=policy)
    async def stumble(_: int, ctx: WorkflowContext[int, int]) -> None:
        attempts.put_nowait(ctx.attempt)
        if ctx.attempt == 1:
            raise ValueError("not yet")

    return WorkflowBuilder("stumbling", version="1").set_start(stumble).build()


async def test_a_failed_try_is_not_made_again_after_a_cancellation_between_two_tries(
    eventually: Eventually,
) -> None:
    store, attempts = MemoryLedger(), asyncio.Queue[int]()
    catalog = WorkflowCatalog({"stumbling": lambda: stumbling(attempts)})
    async with LocalRuns(store, catalog) as runs:
        handle = await runs.submit("stumbling", 1)
        assert await attempts.get() == 1
        await eventually(lambda: waits(store))
        await handle.cancel()
        assert (await handle.result(5)).status is RunStatus.CANCELLED
        await handle.resume()
        assert await attempts.get() == 2


def waits(store: MemoryLedger) -> bool:
    with store.transaction() as ledger:
        (row,) = ledger.list_activations()
    return row.status is ActivationStatus.PENDING and row.fence == 1
