"""A worker that is told to end in the middle of something: it ends, and nothing it had counts as a crash."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest

from agentic.core import Workflow, WorkflowBuilder, executor
from agentic.core.ledger import (
    ActivationStatus,
    Dispatchable,
    LedgerTransaction,
    LedgerUnavailableError,
    MemoryLedger,
)
from agentic.executors.durable import WorkflowCatalog
from agentic.executors.durable.runs.service import RunService
from agentic.executors.durable.worker.host import Dispatcher, RunHost
from agentic.executors.durable.worker.worker import DurableWorker


class Ending:
    """Tells of activations while it calls ``end``, once it is set."""

    def __init__(self) -> None:
        self.end: Callable[[], object] = lambda: None

    async def dispatch(self, activations: Sequence[Dispatchable]) -> None:
        self.end()
        await asyncio.sleep(0)


class Leaving(MemoryLedger):
    """A ledger that may be away."""

    is_away = False

    @contextmanager
    def transaction(self) -> Iterator[LedgerTransaction]:
        if self.is_away:
            raise LedgerUnavailableError("the ledger is away")
        with super().transaction() as transaction:
            yield transaction


def forked(at_work: asyncio.Event) -> Workflow:
    @executor(id="start")
    async def start(number: int) -> int:
        return number

    @executor(id="left")
    async def left(_: int) -> None:
        at_work.set()
        await asyncio.Event().wait()

    @executor(id="right")
    async def right(_: int) -> None: ...

    builder = WorkflowBuilder("forked", version="1").set_start(start)
    return builder.add_edge(start, left).add_edge(start, right).build()


async def submitted(store: MemoryLedger, dispatcher: Dispatcher, at_work: asyncio.Event) -> RunService:
    catalog = WorkflowCatalog({"forked": lambda: forked(at_work)})
    service = RunService(RunHost(store=store, catalog=catalog, dispatcher=dispatcher, is_alone=True))
    await service.submit("forked", 1)
    return service


async def test_what_was_claimed_with_the_last_result_is_given_back() -> None:
    store, dispatcher = MemoryLedger(), Ending()
    service = await submitted(store, dispatcher, asyncio.Event())
    work = asyncio.create_task(DurableWorker(service.host).work())
    dispatcher.end = work.cancel
    with pytest.raises(asyncio.CancelledError):
        await work
    service.close()
    with store.transaction() as ledger:
        left, right, start = sorted(ledger.list_activations(), key=lambda row: row.id.executor_id)
    assert start.status is ActivationStatus.DONE
    assert (left.status, left.crashes, right.status) == (
        ActivationStatus.PENDING,
        0,
        ActivationStatus.PENDING,
    )


async def test_it_ends_although_the_ledger_does_not_take_back_what_it_had() -> None:
    store, at_work = Leaving(), asyncio.Event()
    service = await submitted(store, Ending(), at_work)
    work = asyncio.create_task(DurableWorker(service.host).work())
    await at_work.wait()
    store.is_away = True
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    service.close()
