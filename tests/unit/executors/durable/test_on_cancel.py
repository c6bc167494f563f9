"""A durable run that is broken off ends what its executors began elsewhere, before it is noted as ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from structlog.testing import capture_logs
from tests.pace import slowed

from agentic.core import (
    Executor,
    RunStatus,
    Workflow,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowContext,
    executor,
    handler,
)
from agentic.core.ledger import LedgerTransaction, LedgerUnavailableError, MemoryLedger
from agentic.executors.durable import LocalRuns, WorkflowCatalog
from agentic.executors.durable.runs.handle import AsyncRunHandle
from agentic.executors.durable.runs.local import HostOptions


class Elsewhere(Executor):
    """Begins a job elsewhere, waits for it ``rounds`` times, and can end it."""

    def __init__(self, rounds: int = 0) -> None:
        super().__init__("job")
        self.begun = 0
        self.ended: list[tuple[object, object]] = []
        self.waits = asyncio.Event()
        self.gone = asyncio.Event()
        self.statuses: list[RunStatus] = []
        self.status_of: Callable[[], RunStatus] = lambda: RunStatus.RUNNING
        self._rounds = rounds

    @handler
    async def run(self, rounds_done: int, ctx: WorkflowContext) -> int:
        await ctx.once("job", self._begin)
        if rounds_done >= self._rounds:
            self.waits.set()
            await asyncio.Event().wait()
        return rounds_done + 1

    async def _begin(self) -> int:
        self.begun += 1
        return self.begun

    async def on_cancel(self, message: object, ctx: WorkflowContext) -> None:
        self.statuses.append(self.status_of())
        self.ended.append((message, await ctx.once("job", lambda: None)))
        self.gone.set()


@executor(id="fails")
async def fails(_: int) -> None:
    raise ValueError("no more")


def flow(job: Elsewhere, *others: Executor, config: WorkflowConfig | None = None) -> Workflow:
    builder = WorkflowBuilder("flow", "1", config or WorkflowConfig()).set_start(job, *others)
    return builder.add_edge(job, job, lambda _: True).build()


class Leaving(MemoryLedger):
    """A ledger that may be away."""

    is_away = False

    @contextmanager
    def transaction(self) -> Iterator[LedgerTransaction]:
        if self.is_away:
            raise LedgerUnavailableError("the ledger is away")
        with super().transaction() as transaction:
            yield transaction


def serving(workflow: Workflow, store: MemoryLedger) -> LocalRuns:
    options = HostOptions(lease_s=0.3)
    return LocalRuns(store, WorkflowCatalog({"flow": lambda: workflow}), sweep_s=0.1, options=options)


@asynccontextmanager
async def begun(workflow: Workflow, store: MemoryLedger | None = None) -> AsyncIterator[AsyncRunHandle]:
    async with serving(workflow, store or MemoryLedger()) as runs:
        yield await runs.submit("flow", 0)


async def test_a_run_that_is_cancelled_ends_what_is_under_way() -> None:
    job, store = Elsewhere(), MemoryLedger()
    async with begun(flow(job), store) as handle:
        await job.waits.wait()
        job.status_of = lambda: status(store, handle)
        await handle.cancel()
        assert (await handle.rest(5)).status is RunStatus.CANCELLED
    assert job.ended == [(0, 1)]
    assert job.statuses == [RunStatus.RUNNING], "it is noted as ended when that is done"


def status(store: MemoryLedger, handle: AsyncRunHandle) -> RunStatus:
    with store.transaction() as ledger:
        run = ledger.run(handle.run_id)
    assert run is not None
    return run.status


async def test_a_run_that_fails_ends_what_it_was_to_do_next() -> None:
    job = Elsewhere(rounds=5)
    async with begun(flow(job, fails)) as handle:
        assert (await handle.rest(5)).status is RunStatus.FAILED
    assert job.ended == [(1, None)], "a message of another activation, which remembers nothing"


async def test_a_run_that_is_out_of_time_ends_what_is_under_way() -> None:
    job = Elsewhere(rounds=2)
    async with begun(flow(job, config=WorkflowConfig(run_timeout_s=slowed(0.5)))) as handle:
        assert (await handle.rest(slowed(5))).status is RunStatus.FAILED
    assert job.ended == [(2, 3)]


async def test_an_executor_that_fails_alone_ends_what_it_began() -> None:
    class Failing(Elsewhere):
        async def _begin(self) -> int:
            await super()._begin()
            return 7

        @handler
        async def run(self, rounds_done: int, ctx: WorkflowContext) -> int:
            await ctx.once("job", self._begin)
            raise ValueError("no more")

    job = Failing()
    async with begun(flow(job)) as handle:
        row = await handle.rest(5)
    assert (row.status, row.error) == (RunStatus.FAILED, "no more")
    assert job.ended == [(0, 7)]


async def test_a_child_run_that_is_stopped_ends_what_is_under_way() -> None:
    job = Elsewhere()
    inner = WorkflowBuilder("inner", "1").set_start(flow(job).as_executor("in")).build()
    outer = WorkflowBuilder("outer", "1").set_start(inner.as_executor("child")).build()
    async with begun(outer) as handle:
        await job.waits.wait()
        await handle.cancel()
        await handle.rest(5)
        await handle.rest_of_children(5)
        assert job.ended == [(0, 1)]


async def test_a_run_whose_process_is_stopped_ends_nothing() -> None:
    job = Elsewhere()
    async with begun(flow(job)):
        await job.waits.wait()
    assert job.ended == []


async def test_who_dies_while_it_ends_something_leaves_that_to_the_next() -> None:
    store = Leaving()

    class Dying(Elsewhere):
        async def on_cancel(self, message: object, ctx: WorkflowContext) -> None:
            await super().on_cancel(message, ctx)
            store.is_away = True

    first, second = Dying(), Elsewhere()
    async with begun(flow(first), store) as handle:
        await first.waits.wait()
        await handle.cancel()
        await first.gone.wait()
    store.is_away = False
    assert status(store, handle) is RunStatus.RUNNING
    async with serving(flow(second), store) as runs:
        assert (await runs.handle(handle.run_id).rest(5)).status is RunStatus.CANCELLED
    assert first.ended == second.ended == [(0, 1)], "also by one that has begun nothing itself"


class Damaged(MemoryLedger):
    """A ledger in which what calls did once may have become something else."""

    is_damaged = False

    @contextmanager
    def transaction(self) -> Iterator[LedgerTransaction]:
        with super().transaction() as transaction:
            if self.is_damaged:
                setattr(transaction, "effects", lambda *_: {"job": "{"})  # noqa: B010 - it is declared as a method
            yield transaction


async def test_a_run_ends_though_nobody_can_read_what_a_call_had_done() -> None:
    job, store = Elsewhere(), Damaged()
    with capture_logs() as logs:
        async with begun(flow(job), store) as handle:
            await job.waits.wait()
            store.is_damaged = True
            await handle.cancel()
            assert (await handle.rest(5)).status is RunStatus.CANCELLED
    assert job.ended == []
    [told] = [line for line in logs if line["event"] == "call.unreadable"]
    assert told["executor_id"] == "job"
