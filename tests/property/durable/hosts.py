"""Processes that work on one ledger, played in one thread and in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TypeVar

from agentic.core import Workflow
from agentic.core.ledger import Lease, LedgerStore, LedgerTransaction
from agentic.core.ledger.records import DEFAULT_QUEUE
from agentic.executors.durable.catalog import WorkflowCatalog
from agentic.executors.durable.claiming import Claimant
from agentic.executors.durable.host import RunHost
from agentic.executors.durable.images import Images
from agentic.executors.durable.lane import LedgerLane, in_transaction
from agentic.executors.durable.leases import Leases, OnChange
from agentic.executors.durable.local import LocalDispatcher
from agentic.executors.durable.worker import Bounds, DurableWorker

R = TypeVar("R")

LEASE_S = 10_000.0


class InlineLane(LedgerLane):
    """Does work at once, so that only the virtual loop decides what comes after what."""

    async def do(self, work: Callable[[LedgerTransaction], R]) -> R:
        await asyncio.sleep(0)  # others come in between, as they would
        return in_transaction(self._store, work)


class EndlessLeases(Leases):
    """Leases that outlast every test, as no thread extends them."""

    @contextmanager
    def held(self, lease: Lease, on_change: OnChange) -> Iterator[None]:
        yield


def host_on(
    store: LedgerStore, workflow: Workflow, dispatcher: LocalDispatcher, name: str, lease_s: float = LEASE_S
) -> RunHost:
    """Return a process that knows one workflow."""
    lane = InlineLane(store)
    catalog = WorkflowCatalog({"w": lambda: workflow})
    return RunHost(
        lane=lane,
        catalog=catalog,
        images=Images(lane, catalog),
        leases=EndlessLeases(store, lease_s),
        dispatcher=dispatcher,
        me=Claimant(worker=name, queues=frozenset({DEFAULT_QUEUE}), lease_s=lease_s),
    )


async def serve(host: RunHost, dispatcher: LocalDispatcher, bounds: Bounds) -> None:
    """Work off what is dispatched."""
    while True:
        wanted = await dispatcher.wanted.get()
        await DurableWorker(host, bounds).work(wanted)


@asynccontextmanager
async def serving(
    hosts: Sequence[RunHost], dispatcher: LocalDispatcher, bounds: Bounds
) -> AsyncIterator[None]:
    """Let each host work off what is dispatched with two workers; raise what one of them raised."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(serve(host, dispatcher, bounds)) for host in hosts for _ in range(2)]
        yield
        for task in tasks:
            task.cancel()
