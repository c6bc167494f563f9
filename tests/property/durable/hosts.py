"""Hosts of durable runs, played in one thread and in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TypeVar

from agentic.core import Workflow
from agentic.core.ledger import Lease, LedgerError, LedgerStore
from agentic.executors.durable.runs.catalog import NO_HOOKS, RegisteredWorkflow, RunHooks, WorkflowCatalog
from agentic.executors.durable.runs.local import LocalDispatcher
from agentic.executors.durable.worker.host import Dispatcher, RunHost
from agentic.executors.durable.worker.leases import MAX_BEAT_S, Leases, OnChange
from agentic.executors.durable.worker.ledger_executor import LedgerExecutor, Work, _Job
from agentic.executors.durable.worker.pool import WorkerPool
from agentic.executors.durable.worker.worker import Bounds

R = TypeVar("R")

NAME = "random:w"


class InlineLane(LedgerExecutor):
    """Does in a turn of the loop what a lane's thread does: only the loop decides what comes after what."""

    def __init__(self, store: LedgerStore) -> None:
        super().__init__(store)
        self._asked: list[_Job] = []

    async def do(self, work: Work[R]) -> R:
        return await asyncio.shield(self.ask(work))

    def ask(self, work: Work[R]) -> asyncio.Future[R]:
        """Return what will be set to what ``work`` returns."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[R] = loop.create_future()
        self._asked.append(_Job(work, loop, answer))
        if len(self._asked) == 1:
            loop.call_soon(self.take_turn)
        return answer

    def take_turn(self) -> None:
        """Do what was asked for so far."""
        jobs, self._asked = self._asked, []
        self._do_all(jobs)


class InlineLeases(Leases):
    """Extends leases in turns of the loop, while :meth:`beat` runs."""

    @contextmanager
    def held(self, lease: Lease, on_change: OnChange) -> Iterator[None]:
        self._held[lease] = on_change
        try:
            yield
        finally:
            del self._held[lease]

    async def beat(self) -> None:
        """Extend what is held, again and again."""
        while True:
            await asyncio.sleep(min(self.lease_s / 3, MAX_BEAT_S))
            self.take_turn()

    def take_turn(self) -> None:
        """Extend what is held now."""
        with suppress(LedgerError):
            self._beat()


def catalog_of(workflow: Workflow, hooks: RunHooks = NO_HOOKS) -> WorkflowCatalog:
    """Return a catalog that has one workflow, as :data:`NAME`."""
    return WorkflowCatalog({}, builders={"random": lambda _: RegisteredWorkflow(workflow, hooks)})


def host_on(
    store: LedgerStore,
    ledger_executor: LedgerExecutor,
    leases: Leases,
    catalog: WorkflowCatalog,
    dispatcher: Dispatcher,
    name: str,
) -> RunHost:
    """Return what the parts of a process share."""
    host = RunHost(store=store, catalog=catalog, dispatcher=dispatcher, worker=name, lease_s=leases.lease_s)
    vars(host).update(ledger_executor=ledger_executor, leases=leases)  # in turns of the loop
    return host


async def serve(host: RunHost, dispatcher: LocalDispatcher, bounds: Bounds) -> None:
    """Work off what is dispatched."""
    while True:
        wanted = await dispatcher.wanted.get()
        await WorkerPool(host, bounds).work(wanted)


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
