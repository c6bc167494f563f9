"""What becomes of an activation whose worker is told to stop."""

from __future__ import annotations

import asyncio

import pytest

from agentic.core import Workflow, WorkflowBuilder, executor
from agentic.core.ledger import ActivationRow, ActivationStatus, MemoryLedger
from agentic.executors.durable import WorkflowCatalog
from agentic.executors.durable.local import LocalDispatcher
from agentic.executors.durable.service import HostOptions, RunService, make_host
from agentic.executors.durable.worker import OVERRAN, DurableWorker
from agentic.executors.lifecycle import STOPPED


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
    host = make_host(store, catalog, LocalDispatcher(), HostOptions(is_alone=True))
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
