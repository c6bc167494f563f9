"""What people ask of durable runs that are under way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from agentic.core import RunStatus, Workflow, WorkflowBuilder, WorkflowContext, executor
from agentic.core.graph import EventKind
from agentic.core.ledger import MemoryLedger
from agentic.executors.durable import LocalRuns, WorkflowCatalog


def asking(at_work: asyncio.Event, gate: asyncio.Event) -> Workflow:
    """Return two arms: one asks, the other one says that it is at work, and waits."""

    @executor(id="start")
    async def start(number: int) -> int:
        return number

    @executor(id="ask")
    async def ask(number: int, ctx: WorkflowContext) -> str:
        return str(await ctx.request_info("who?", str))

    @executor(id="pass")
    async def hand_on(number: int) -> int:
        return number

    @executor(id="wait")
    async def wait(number: int) -> str:
        at_work.set()
        await gate.wait()
        return "late"

    return (
        WorkflowBuilder("asking", version="1")
        .set_start(start)
        .add_fan_out_edge(start, [ask, hand_on])
        .add_edge(hand_on, wait)
        .build()
    )


@pytest.fixture
def gate() -> asyncio.Event:
    return asyncio.Event()


@pytest.fixture
def at_work() -> asyncio.Event:
    return asyncio.Event()


@pytest.fixture
async def runs(at_work: asyncio.Event, gate: asyncio.Event) -> AsyncIterator[LocalRuns]:
    catalog = WorkflowCatalog({"asking": lambda: asking(at_work, gate)})
    async with LocalRuns(MemoryLedger(), catalog) as made:
        yield made


async def test_a_run_that_waits_for_an_answer_goes_on_waiting_when_it_is_resumed(
    runs: LocalRuns, gate: asyncio.Event
) -> None:
    gate.set()
    handle = await runs.submit("asking", 1)
    before = await handle.result(10)
    await handle.resume()
    after = await handle.result(10)
    assert after.status is RunStatus.WAITING_INPUT
    assert (after.pending_requests, after.events) == (before.pending_requests, before.events)


async def test_an_answer_disturbs_nothing_that_is_at_work_in_the_run(
    runs: LocalRuns, gate: asyncio.Event, at_work: asyncio.Event
) -> None:
    handle = await runs.submit("asking", 1)
    await at_work.wait()
    await handle.answer({f"{handle.run_id}:ask.1.0.1": "ada"})
    gate.set()
    result = await handle.result(10)
    assert sorted(map(str, result.outputs)) == ["ada", "late"]
    kinds = [(event.kind, event.path) for event in result.events]
    assert kinds.count((EventKind.EXECUTOR_INVOKED, "wait")) == 1
    assert (EventKind.RUN_RESUMED, "") not in kinds
