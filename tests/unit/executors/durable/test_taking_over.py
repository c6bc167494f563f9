"""Who works on one run alone goes on with it at once, whoever was told of it before."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event

from agentic.core import RunStatus, Workflow, WorkflowBuilder, executor
from agentic.core.graph import FunctionExecutor
from agentic.core.ledger import Dispatchable, LedgerTransaction, MemoryLedger
from agentic.core.ledger.memory import _Transaction
from agentic.core.types import RunId
from agentic.executors.durable import LocalRuns, Submission, WorkflowCatalog
from agentic.executors.durable.runs.local import HostOptions, LocalDispatcher
from agentic.executors.durable.runs.service import RunService
from agentic.executors.durable.worker.host import RunHost


class Swept(MemoryLedger):
    """A ledger that shows when it was swept first."""

    def __init__(self) -> None:
        super().__init__()
        self.is_swept = Event()

    @contextmanager
    def transaction(self) -> Iterator[LedgerTransaction]:
        with super().transaction():
            yield _Swept(self._rows, self.is_swept)


class _Swept(_Transaction):
    def __init__(self, rows: object, is_swept: Event) -> None:
        super().__init__(rows)  # type: ignore[arg-type]  # the memory ledger's own
        self._is_swept = is_swept

    def undispatched(self, *, older_than_s: float, limit: int = 100) -> Sequence[Dispatchable]:
        self._is_swept.set()
        return super().undispatched(older_than_s=older_than_s, limit=limit)


@executor(id="one")
async def one(number: int) -> int:
    return number + 1


@executor(id="two")
async def two(number: int) -> int:
    return number + 1


def flow() -> Workflow:
    return WorkflowBuilder("flow", "1").set_start(one).add_edge(one, two).build()


async def test_a_run_that_a_process_was_told_of_that_is_gone_goes_on_at_once() -> None:
    store, catalog = MemoryLedger(), WorkflowCatalog({"flow": flow})
    gone = RunService(RunHost(store=store, catalog=catalog, dispatcher=LocalDispatcher(), is_alone=True))
    mine, other = await gone.submit("flow", 0), await gone.submit("flow", 0)
    gone.close()
    async with LocalRuns(store, catalog, options=HostOptions(only=mine.run_id)) as runs:
        row = await runs.handle(mine.run_id).rest(10)
        status_of_other = await runs.handle(other.run_id).status()
    assert row.status is RunStatus.COMPLETED
    assert status_of_other is RunStatus.RUNNING


async def test_a_process_that_began_before_its_run_gets_a_share_of_it_at_once() -> None:
    both_are_at_work = asyncio.Barrier(2)

    def side_by_side() -> Workflow:
        @executor(id="split")
        async def split(number: int) -> int:
            return number

        def meeting(name: str) -> FunctionExecutor:
            @executor(id=name)
            async def meet(number: int) -> int:
                await both_are_at_work.wait()
                return number

            return meet

        building = WorkflowBuilder("wide", "1").set_start(split)
        return building.add_fan_out_edge(split, [meeting("left"), meeting("right")]).build()

    store, catalog = Swept(), WorkflowCatalog({"wide": side_by_side})
    options = HostOptions(only=RunId("shared"))
    async with LocalRuns(store, catalog, concurrency=1, sweep_s=0.01, options=options) as early:
        await asyncio.to_thread(store.is_swept.wait)
        async with LocalRuns(store, catalog, concurrency=1, options=options) as late:
            handle = await late.submit("wide", 1, Submission(run_id="shared"))
            assert (await early.handle(handle.run_id).rest(10)).status is RunStatus.COMPLETED
