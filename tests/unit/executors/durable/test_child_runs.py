"""What is asked of a run is asked of the child runs it waits for, too."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import pytest
from tests.clocks import Clock
from tests.conftest import Eventually

from agentic.core import (
    RunResult,
    RunStatus,
    Workflow,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowContext,
    executor,
)
from agentic.core.graph.definition.run_services import SubCall
from agentic.core.graph.model.progress import SubRun
from agentic.core.ledger import MemoryLedger, RunRow
from agentic.executors.durable import AsyncRunHandle, LocalRuns, Submission, WorkflowCatalog
from agentic.executors.durable.reconcile.reconciler import Reconciler
from agentic.executors.durable.runs.children import read_child
from agentic.executors.durable.runs.local import HostOptions
from agentic.executors.durable.worker import preparing
from agentic.executors.durable.worker.host import RunHost

DAY = timedelta(days=1)


class Site:
    """Where handlers of a child run tell that they were entered, and wait until they may go on.

    Attributes:
        entered: Executors, as they were entered.
        may_go_on: Set when they may.
        stopped: Set when one was stopped.
    """

    def __init__(self) -> None:
        self.entered: asyncio.Queue[str] = asyncio.Queue()
        self.may_go_on = asyncio.Event()
        self.stopped = asyncio.Event()

    async def wait(self, executor_id: str) -> None:
        self.entered.put_nowait(executor_id)
        try:
            await self.may_go_on.wait()
        except asyncio.CancelledError:
            self.stopped.set()
            raise


def nested(site: Site, config: WorkflowConfig) -> Workflow:
    @executor(id="first")
    async def first(number: int) -> int:
        await site.wait("first")
        return number

    @executor(id="second")
    async def second(number: int) -> int:
        site.entered.put_nowait("second")
        return number

    inner = WorkflowBuilder("inner", version="1").set_start(first).add_edge(first, second).build()
    return WorkflowBuilder("outer", "1", config).set_start(inner.as_executor("child")).build()


def asking(site: Site, limit: timedelta | None = None) -> Workflow:
    @executor(id="ask")
    async def ask(number: int, ctx: WorkflowContext[int, int]) -> int:
        await site.wait("ask")
        answer = await ctx.request_info(number, int, deadline=limit)
        site.entered.put_nowait("answered")
        return answer

    inner = WorkflowBuilder("inner", version="1").set_start(ask).build()
    return WorkflowBuilder("outer", version="1").set_start(inner.as_executor("child")).build()


def deep(site: Site) -> Workflow:
    @executor(id="first")
    async def first(number: int) -> int:
        await site.wait("first")
        return number

    innermost = WorkflowBuilder("innermost", version="1").set_start(first).build()
    inner = WorkflowBuilder("inner", version="1").set_start(innermost.as_executor("in")).build()
    return WorkflowBuilder("outer", version="1").set_start(inner.as_executor("child")).build()


def working(flow: Callable[[], Workflow], store: MemoryLedger) -> LocalRuns:
    options = HostOptions(lease_s=0.3)
    return LocalRuns(store, WorkflowCatalog({"flow": flow}), sweep_s=0.1, options=options)


@asynccontextmanager
async def run_of(
    flow: Callable[[], Workflow], site: Site, store: MemoryLedger
) -> AsyncIterator[AsyncRunHandle]:
    """Begin a run whose innermost executor was entered."""
    async with working(flow, store) as runs:
        handle = await runs.submit("flow", 7)
        await site.entered.get()
        yield handle


@asynccontextmanager
async def nested_run(
    site: Site, store: MemoryLedger, config: WorkflowConfig | None = None
) -> AsyncIterator[AsyncRunHandle]:
    """Begin a run whose child run is at its first executor."""
    catalog = WorkflowCatalog({"nested": lambda: nested(site, config or WorkflowConfig())})
    options = HostOptions(lease_s=0.3)
    async with LocalRuns(store, catalog, sweep_s=0.1, options=options) as runs:
        handle = await runs.submit("nested", 7)
        assert await site.entered.get() == "first"
        yield handle


def child_of(store: MemoryLedger) -> RunRow:
    with store.transaction() as ledger:
        (child,) = [run for run in ledger.list_runs() if run.parent is not None]
    return child


async def test_a_child_run_is_cancelled_with_the_run_around_it_and_goes_on_with_it() -> None:
    site, store = Site(), MemoryLedger()
    async with asyncio.timeout(10), nested_run(site, store) as handle:
        await handle.cancel()
        assert (await handle.result()).status is RunStatus.CANCELLED
        await site.stopped.wait()
        await handle.rest_of_children()
        assert child_of(store).status is RunStatus.CANCELLED
        site.may_go_on.set()
        await handle.resume()
        result = await handle.result()
    assert (result.status, result.outputs) == (RunStatus.COMPLETED, (7,))


async def test_a_child_run_is_cancelled_when_the_time_of_the_run_around_it_is_over() -> None:
    site, store = Site(), MemoryLedger()
    async with asyncio.timeout(10), nested_run(site, store, WorkflowConfig(run_timeout_s=0.2)) as handle:
        assert (await handle.result()).status is RunStatus.FAILED
        await site.stopped.wait()
        await handle.rest_of_children()
        assert child_of(store).status is RunStatus.CANCELLED


async def test_a_child_run_that_was_cancelled_by_itself_fails_what_waits_for_it() -> None:
    site, store = Site(), MemoryLedger()
    async with asyncio.timeout(10), nested_run(site, store) as handle:
        child_id = child_of(store).run_id
        with store.transaction() as ledger:
            assert ledger.request_cancel(child_id, "not this one")
        result = await handle.result()
    assert result.status is RunStatus.FAILED


async def test_what_is_deep_inside_is_cancelled_and_goes_on_with_the_run_around_it() -> None:
    site, store = Site(), MemoryLedger()
    async with asyncio.timeout(10), run_of(lambda: deep(site), site, store) as handle:
        await handle.cancel()
        assert (await handle.result()).status is RunStatus.CANCELLED
        await handle.resume()
        site.may_go_on.set()
        assert (await handle.result()).outputs == (7,)
    with store.transaction() as ledger:
        assert {run.status for run in ledger.list_runs()} == {RunStatus.COMPLETED}


async def test_a_child_run_that_asked_during_a_pause_goes_on_with_the_answer(eventually: Eventually) -> None:
    site, store = Site(), MemoryLedger()
    async with asyncio.timeout(10), run_of(lambda: asking(site), site, store) as handle:
        await handle.pause()
        site.may_go_on.set()
        await eventually(lambda: child_of(store).status is RunStatus.WAITING_INPUT)
        await handle.pause(is_paused=False)
        (asked,) = (await handle.result()).pending_requests
        await handle.answer({asked.id: 9})
        assert (await handle.result()).outputs == (9,)


async def test_a_child_run_that_waits_begins_nothing_once_the_run_around_it_was_stopped() -> None:
    site, clock = Site(), Clock(time.time())
    store = MemoryLedger(clock)
    site.may_go_on.set()
    async with asyncio.timeout(10), working(lambda: asking(site, DAY), store) as runs:
        handle = await runs.submit("flow", 7)
        assert (await handle.result()).status is RunStatus.WAITING_INPUT
        await site.entered.get()
        await handle.cancel()
        assert (await handle.result()).status is RunStatus.CANCELLED
        clock.now += 2 * DAY.total_seconds()
        await Reconciler(runs.host).sweep()
    assert child_of(store).status is RunStatus.CANCELLED
    assert site.entered.empty()


async def test_a_child_run_that_waits_goes_on_with_a_run_around_it_that_was_stopped() -> None:
    site, store = Site(), MemoryLedger()
    site.may_go_on.set()
    async with asyncio.timeout(10), run_of(lambda: asking(site), site, store) as handle:
        (asked,) = (await handle.result()).pending_requests
        await handle.cancel()
        assert (await handle.result()).status is RunStatus.CANCELLED
        await handle.resume()
        (asked,) = (await handle.result()).pending_requests
        await handle.answer({asked.id: 9})
        assert (await handle.result()).outputs == (9,)


async def test_a_limit_that_passes_while_a_nested_run_is_stopped_is_seen_when_it_goes_on() -> None:
    site, clock = Site(), Clock(time.time())
    store = MemoryLedger(clock)
    site.may_go_on.set()
    async with asyncio.timeout(10), run_of(lambda: asking(site, DAY), site, store) as handle:
        await handle.result()
        await handle.cancel()
        await handle.result()
        clock.now += 2 * DAY.total_seconds()
        await handle.resume()
        assert (await handle.result()).status is RunStatus.FAILED
    assert child_of(store).status is RunStatus.FAILED


async def test_a_child_run_that_came_to_rest_when_it_was_to_be_waited_for_is_looked_at_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site, store = Site(), MemoryLedger()
    site.may_go_on.set()
    late = [True]

    async def read_late(
        host: RunHost, around: Workflow, workflow: Workflow, call: SubCall
    ) -> tuple[RunResult, SubRun] | None:
        found = await read_child(host, around, workflow, call)
        return None if found is not None and late and late.pop() else found

    monkeypatch.setattr(preparing, "read_child", read_late)
    async with asyncio.timeout(10), run_of(lambda: asking(site), site, store) as handle:
        (asked,) = (await handle.result()).pending_requests
        await handle.answer({asked.id: 9})
        assert (await handle.result()).outputs == (9,)
    assert not late


@pytest.mark.parametrize("is_paused", [True, False])
async def test_a_child_run_is_paused_with_the_run_around_it(*, is_paused: bool) -> None:
    site, store = Site(), MemoryLedger()
    async with asyncio.timeout(10), nested_run(site, store) as handle:
        await handle.pause()
        await handle.pause(is_paused=is_paused)
        assert child_of(store).is_paused is is_paused


@dataclass(frozen=True)
class Verdict:
    """What only the workflow around a child run knows."""

    draft: str


def reviewed(seen: list[tuple[object, ...]], depth: int) -> Workflow:
    """Return a workflow whose retried worker is a child run that asks somebody in its second superstep."""

    @executor(id="plan")
    async def plan(text: str, ctx: WorkflowContext) -> str:
        return f"{text}{len(ctx.previous_errors)}"

    @executor(id="write")
    async def write(text: str, ctx: WorkflowContext) -> str:
        if ctx.previous_errors:
            await ctx.request_info("go on?", bool)
        seen.append(ctx.previous_errors)
        return text

    @executor(id="judge")
    async def judge(draft: str) -> Verdict:
        return Verdict(draft)

    @executor(id="print")
    async def prints(verdict: Verdict) -> str:
        return verdict.draft

    inner = WorkflowBuilder("inner").set_start(plan).add_edge(plan, write).build()
    for level in range(1, depth):
        inner = WorkflowBuilder(f"level {level}").set_start(inner.as_executor("inner")).build()
    return (
        WorkflowBuilder("outer", version="1")
        .set_start(inner.as_executor("work"))
        .add_edge("work", judge)
        .add_edge(judge, prints, lambda verdict: verdict.draft == "x1")
        .add_retry_edge(judge, "work", when=lambda verdict: verdict.draft != "x1")
        .build()
    )


@pytest.mark.parametrize("depth", [1, 2])
async def test_a_child_run_that_is_done_again_knows_what_was_wrong_with_it_in_each_process(
    depth: int,
) -> None:
    seen: list[tuple[object, ...]] = []
    store, options = MemoryLedger(), HostOptions(lease_s=0.3)
    async with asyncio.timeout(10):
        catalog = WorkflowCatalog({"flow": lambda: reviewed(seen, depth)})
        async with LocalRuns(store, catalog, sweep_s=0.1, options=options) as runs:
            (asked,) = (
                await (await runs.submit("flow", "x", Submission(run_id="r"))).result()
            ).pending_requests
        catalog = WorkflowCatalog({"flow": lambda: reviewed(seen, depth)})
        async with LocalRuns(store, catalog, sweep_s=0.1, options=options) as runs:
            await runs.handle("r").answer({asked.id: True})
            assert (await runs.handle("r").result()).outputs == ("x1",)
    assert seen == [(), (Verdict("x0"),)]
