"""Runs to tell again."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from agentic.core import MemoryCheckpointStore, Workflow, WorkflowBuilder, WorkflowContext, executor
from agentic.core.graph import RetryPolicy, WorkflowEvent

Events = Sequence[WorkflowEvent]


@dataclass(frozen=True)
class Killed:
    """A run whose process died in superstep 1, and was gone on with.

    Attributes:
        before: What was told until then.
        since: What was told by who went on.
    """

    before: Events
    since: Events


@pytest.fixture
async def shopping() -> Events:
    """Return the events of a run ``r`` that went well, at the second try."""
    tries: list[str] = []

    @executor(id="fetch", retry=RetryPolicy(max_attempts=2, first_delay_s=0, jitter=0))
    async def fetch(url: str, ctx: WorkflowContext) -> int:
        tries.append(url)
        if len(tries) == 1:
            raise ConnectionError("reset by peer")
        ctx.set_state("seen", [url])
        return 7

    @executor(id="price")
    async def price(number: int) -> str:
        return f"{number} €"

    flow = WorkflowBuilder("shop", version="2").set_start(fetch).add_edge(fetch, price).build()
    return (await flow.run("http://shop", run_id="r")).events


def asking() -> Workflow:
    """Return a workflow that asks for a name."""

    @executor(id="greet")
    async def greet(word: str, ctx: WorkflowContext) -> str:
        return f"{word} {await ctx.request_info({'who': word}, str)}"

    return WorkflowBuilder("asking", version="1").set_start(greet).build()


@pytest.fixture
async def asked() -> Events:
    """Return the events of a run that waited for an answer, and got it."""
    store, flow = MemoryCheckpointStore(), asking()
    first = await flow.run("hello", run_id="r", checkpoints=store)
    (request,) = first.pending_requests
    second = await flow.resume("r", checkpoints=store, responses={request.id: "ada"}, answered_by="bob")
    return [*first.events, *second.events]


@pytest.fixture
async def killed() -> Killed:
    store = MemoryCheckpointStore()
    is_there, may_go = asyncio.Event(), asyncio.Event()

    @executor(id="first")
    async def first(number: int) -> int:
        return number + 1

    @executor(id="slow")
    async def slow(number: int) -> int:
        is_there.set()
        await may_go.wait()
        return number * 10

    flow = WorkflowBuilder("w", version="1").set_start(first).add_edge(first, slow).build()
    told: list[WorkflowEvent] = []

    async def run() -> None:
        async for event in flow.run_stream(1, run_id="r", checkpoints=store):
            told.append(event)  # noqa: PERF401 - what is told before the end is what matters

    task = asyncio.create_task(run())
    await is_there.wait()
    left, before = copy.deepcopy(store), list(told)  # as a process leaves them that is killed now
    task.cancel()
    await asyncio.wait({task})
    may_go.set()
    return Killed(before, (await flow.resume("r", checkpoints=left)).events)
