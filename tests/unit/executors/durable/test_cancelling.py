"""A run that is cancelled ends, whoever has its code, and no answer brings it back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from tests.clocks import Clock

from agentic.core import RunStatus, Workflow, WorkflowBuilder, WorkflowContext, executor
from agentic.core.graph import EventKind
from agentic.core.ledger import MemoryLedger
from agentic.executors.durable import LocalRuns, WorkflowCatalog
from agentic.executors.durable.errors import CancelledRunError, LateAnswerError
from agentic.executors.durable.reconcile.reconciler import Reconciler
from agentic.executors.durable.runs import cutting_off
from agentic.executors.durable.runs.local import LocalDispatcher
from agentic.executors.durable.runs.service import RunService
from agentic.executors.durable.worker.host import RunHost


@pytest.fixture
def clock() -> Clock:
    return Clock(1_000_000.0)


@pytest.fixture
def ledger(clock: Clock) -> MemoryLedger:
    return MemoryLedger(clock)


@pytest.fixture(autouse=True)
def without_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting_off, "PATIENCE_S", 0.0)


def asking(deadline: timedelta | None = None) -> Workflow:
    """Return a workflow that asks in itself, and in a child run."""

    @executor(id="start")
    async def start(number: int) -> int:
        return number

    @executor(id="gate")
    async def gate(number: int, ctx: WorkflowContext[int, str]) -> str:
        return str(await ctx.request_info("go?", str, deadline=deadline))

    child = WorkflowBuilder("child", version="1").set_start(gate).build().as_executor("child")
    builder = WorkflowBuilder("asking", version="1").set_start(start).add_edge(start, child)
    return builder.build()


def at(ledger: MemoryLedger, build: Callable[[], Workflow] | None) -> RunService:
    """Return what decides about runs with this code, or without any, and works on none."""
    catalog = WorkflowCatalog({} if build is None else {"asking": build})
    return RunService(RunHost(store=ledger, catalog=catalog, dispatcher=LocalDispatcher(), is_alone=True))


def working(ledger: MemoryLedger, build: Callable[[], Workflow]) -> LocalRuns:
    return LocalRuns(ledger, WorkflowCatalog({"asking": build}), sweep_s=0.02)


async def waiting(ledger: MemoryLedger, build: Callable[[], Workflow]) -> str:
    """Return a run that waits for an answer."""
    async with working(ledger, build) as runs:
        handle = await runs.submit("asking", 1)
        assert (await handle.result(10)).status is RunStatus.WAITING_INPUT
        return handle.run_id


def statuses(ledger: MemoryLedger) -> list[tuple[str, str]]:
    with ledger.transaction() as reading:
        return sorted((run.run_id.rpartition("/")[2], str(run.status)) for run in reading.list_runs())


@pytest.mark.parametrize("build", [asking, None], ids=["with its code", "without its code"])
async def test_its_child_runs_that_wait_for_an_answer_end_with_it(
    ledger: MemoryLedger, build: Callable[[], Workflow] | None
) -> None:
    run_id = await waiting(ledger, asking)
    assert await at(ledger, build).handle(run_id).cancel("wrong")
    assert [status for _, status in statuses(ledger)] == ["cancelled", "cancelled"]


@pytest.mark.parametrize("build", [asking, None], ids=["with its code", "without its code"])
async def test_an_answer_does_not_bring_it_back_but_a_retry_does(
    ledger: MemoryLedger, build: Callable[[], Workflow] | None
) -> None:
    run_id = await waiting(ledger, asking)
    await at(ledger, build).handle(run_id).cancel("wrong")
    request = f"{run_id}:child.1.0/gate.0.0.1"
    async with working(ledger, asking) as runs:
        handle = runs.handle(run_id)
        with pytest.raises(CancelledRunError, match=r"is cancelled and cannot be answered.*runs retry"):
            await handle.answer({request: "yes"})
        assert await handle.status() is RunStatus.CANCELLED
        await handle.resume()
        (asked,) = (await handle.result(10)).pending_requests
        await handle.answer({asked.id: "yes"})
        assert (await handle.result(10)).outputs == ("yes",)


async def test_an_answer_that_comes_while_it_is_to_be_cancelled_is_refused(ledger: MemoryLedger) -> None:
    run_id = await waiting(ledger, asking)
    with ledger.transaction() as writing:
        writing.request_cancel(run_id, "wrong")  # type: ignore[arg-type]
    service = at(ledger, asking)
    with pytest.raises(CancelledRunError, match="is to be cancelled"):
        await service.handle(run_id).answer({f"{run_id}:child.1.0/gate.0.0.1": "yes"})


async def test_what_had_finished_is_not_done_again_when_it_goes_on(ledger: MemoryLedger) -> None:
    done: list[str] = []
    may_end, is_at_work, is_done = (asyncio.Event() for _ in range(3))

    def build() -> Workflow:
        @executor(id="start")
        async def start(number: int) -> int:
            return number

        @executor(id="quick")
        async def quick(number: int, ctx: WorkflowContext[int, str]) -> None:
            done.append("quick")
            is_done.set()
            await ctx.yield_output("quick")

        @executor(id="slow")
        async def slow(number: int, ctx: WorkflowContext[int, str]) -> None:
            is_at_work.set()
            await may_end.wait()
            done.append("slow")
            await ctx.yield_output("slow")

        builder = WorkflowBuilder("asking", version="1").set_start(start)
        return builder.add_fan_out_edge(start, [quick, slow]).build()

    async with working(ledger, build) as runs:
        handle = await runs.submit("asking", 1)
        await is_at_work.wait()
        await is_done.wait()
    await at(ledger, None).handle(handle.run_id).cancel("wrong")
    assert [status for _, status in statuses(ledger)] == ["cancelled"]
    may_end.set()
    async with working(ledger, build) as runs:
        handle = runs.handle(handle.run_id)
        await handle.resume()
        result = await handle.result(10)
    assert (sorted(map(str, result.outputs)), done) == (["quick", "slow"], ["quick", "slow"])
    sequences = [event.sequence for event in result.events]
    assert sequences == list(range(1, len(sequences) + 1))
    assert EventKind.RUN_CANCELLED in {event.kind for event in result.events}


async def test_who_has_the_code_may_end_it_first(
    ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setattr(cutting_off, "PATIENCE_S", 60.0)
    run_id = await waiting(ledger, asking)
    with ledger.transaction() as writing:
        writing.request_cancel(run_id, "wrong")  # type: ignore[arg-type]
    await Reconciler(at(ledger, None).host).sweep()
    assert "cancelled" not in dict(statuses(ledger)).values()
    clock.now += 61.0
    await Reconciler(at(ledger, None).host).sweep()
    assert set(dict(statuses(ledger)).values()) == {"cancelled"}


async def test_an_answer_counts_that_came_in_time_and_none_that_came_late(
    ledger: MemoryLedger, clock: Clock
) -> None:
    build = partial(asking, timedelta(days=1))
    in_time, late = await waiting(ledger, build), await waiting(ledger, build)
    nobody = at(ledger, build)
    clock.now = _deadline(ledger, in_time) - 1.0
    await nobody.handle(in_time).answer({f"{in_time}:child.1.0/gate.0.0.1": "yes"})
    clock.now += 2.0
    with pytest.raises(LateAnswerError, match="expired"):
        await nobody.handle(late).answer({f"{late}:child.1.0/gate.0.0.1": "yes"})
    clock.now += 60.0  # who was told of the runs is held to be lost
    async with working(ledger, build) as runs:
        assert (await runs.handle(in_time).result(10)).outputs == ("yes",)
        failed = await runs.handle(late).result(10)
    assert failed.status is RunStatus.FAILED
    assert "expired unanswered" in str(failed.error)


def _deadline(ledger: MemoryLedger, run_id: str) -> float:
    with ledger.transaction() as reading:
        (found,) = [run for run in reading.list_runs() if run.run_id == run_id]
    assert found.wake_at is not None
    return found.wake_at
