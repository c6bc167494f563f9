"""What becomes of an activation whose worker is told to stop."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from agentic.core import (
    EventKind,
    RunStatus,
    Workflow,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowContext,
    WorkflowEvent,
    executor,
)
from agentic.core.ledger import ActivationRow, ActivationStatus, MemoryLedger
from agentic.executors.durable import WorkflowCatalog
from agentic.executors.durable.runs.local import HostOptions, LocalDispatcher, LocalRuns
from agentic.executors.durable.runs.service import RunService
from agentic.executors.durable.worker.host import RunHost
from agentic.executors.durable.worker.worker import OVERRAN, DurableWorker
from agentic.executors.workers.lifecycle import STOPPED


def stubborn(log: list[str], at_work: asyncio.Event, config: WorkflowConfig | None = None) -> Workflow:
    """Return a workflow whose first executor keeps a cancellation to itself."""

    @executor(id="first")
    async def first(number: int) -> int:
        log.append("first")
        at_work.set()
        if log.count("first") == 1:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        return number

    @executor(id="then")
    async def then(number: int) -> int:
        log.append("then")
        return number

    builder = WorkflowBuilder("stubborn", version="1", config=config)
    return builder.set_start(first).add_edge(first, then).build()


def endless(at_work: asyncio.Event) -> Workflow:
    @executor(id="wait")
    async def wait(_: int) -> None:
        at_work.set()
        await asyncio.Event().wait()

    return WorkflowBuilder("endless", version="1").set_start(wait).build()


async def stopped_because(reason: str) -> ActivationRow:
    """Stop a worker at work; return the activation it was at."""
    store, at_work = MemoryLedger(), asyncio.Event()
    catalog = WorkflowCatalog({"endless": lambda: endless(at_work)})
    host = RunHost(store=store, catalog=catalog, dispatcher=LocalDispatcher(), is_alone=True)
    service = RunService(host)
    await service.submit("endless", 1)
    work = asyncio.create_task(DurableWorker(host).work())
    await at_work.wait()
    work.cancel(reason)
    with pytest.raises(asyncio.CancelledError):
        await work
    service.close()
    with store.transaction() as ledger:
        (row,) = ledger.list_activations()
        return row


async def test_it_is_given_back_when_the_worker_ends() -> None:
    row = await stopped_because(STOPPED)
    assert (row.status, row.crashes) == (ActivationStatus.PENDING, 0)


async def test_its_try_has_failed_when_it_overran_the_time_limit_of_its_task() -> None:
    assert (await stopped_because(OVERRAN)).status is ActivationStatus.DONE


async def test_handler_that_keeps_a_cancellation_to_itself_has_not_done_its_work() -> None:
    log: list[str] = []
    at_work = asyncio.Event()
    catalog = WorkflowCatalog({"stubborn": lambda: stubborn(log, at_work)})
    options = HostOptions(lease_s=0.3)
    async with asyncio.timeout(10), LocalRuns(MemoryLedger(), catalog, sweep_s=0.1, options=options) as runs:
        handle = await runs.submit("stubborn", 7)
        await at_work.wait()
        await handle.cancel()
        assert (await handle.result()).status is RunStatus.CANCELLED
        assert log == ["first"]
        await handle.resume()
        assert (await handle.result()).outputs == (7,)
    assert log == ["first", "first", "then"]


async def test_handler_that_keeps_a_deadline_to_itself_does_not_outlast_it() -> None:
    log: list[str] = []
    config = WorkflowConfig(run_timeout_s=0.1)
    catalog = WorkflowCatalog({"stubborn": lambda: stubborn(log, asyncio.Event(), config)})
    async with asyncio.timeout(10), LocalRuns(MemoryLedger(), catalog, sweep_s=0.1) as runs:
        handle = await runs.submit("stubborn", 7)
        result = await handle.result()
    assert (result.status, log) == (RunStatus.FAILED, ["first"])
    assert "exceeded its run_timeout_s" in str(result.error)


async def test_an_output_is_shown_while_its_handler_is_at_work() -> None:
    shown = asyncio.Event()
    told: list[WorkflowEvent] = []

    def tell(event: WorkflowEvent) -> None:
        told.append(event)
        if event.kind is EventKind.OUTPUT_PROVISIONAL:
            shown.set()

    @executor(id="say")
    async def say(number: int, ctx: WorkflowContext) -> None:
        await ctx.yield_output(number)
        await shown.wait()

    catalog = WorkflowCatalog({"say": lambda: WorkflowBuilder("say", version="1").set_start(say).build()})
    options = HostOptions(tell=tell)
    async with asyncio.timeout(10), LocalRuns(MemoryLedger(), catalog, options=options) as runs:
        assert (await (await runs.submit("say", 7)).result()).outputs == (7,)
    assert [e.kind for e in told if "output" in e.kind] == [EventKind.OUTPUT_PROVISIONAL, EventKind.OUTPUT]
