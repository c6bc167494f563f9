"""A process that runs a workflow, tells its events to NATS, and can be killed in the middle of superstep 2.

``python -m tests.integration.core.bus.replaying NATS_URL RUN_ID DATABASE_URL hang|finish|resume``
"""

from __future__ import annotations

import asyncio
import sys
from typing import Literal, cast

from agentic.core import RetryPolicy, Workflow, WorkflowBuilder, WorkflowContext, executor
from agentic.core.bus import EventPublisher, open_bus
from agentic.core.graph import EventKind, WorkflowEvent
from agentic.core.settings import load_settings
from agentic.mappers import SqlCheckpointStore

PROJECT = "shop"

Mode = Literal["hang", "finish", "resume"]


class Told:
    """What was told so far, and how much of it has arrived."""

    def __init__(self, publisher: EventPublisher) -> None:
        self._publisher = publisher
        self._count = 0
        self._superstep = -1

    async def take(self, event: WorkflowEvent) -> None:
        """Publish an event."""
        await self._publisher.publish(event)
        self._count += 1
        if event.kind is EventKind.EXECUTOR_INVOKED:
            self._superstep = event.superstep

    async def until(self, superstep: int) -> None:
        """Wait until the server has everything up to the begin of a superstep."""
        while self._superstep < superstep or self._publisher.published < self._count:  # noqa: ASYNC110 - no event
            await asyncio.sleep(0.01)


class Scene:
    """The workflow, and what it waits for."""

    def __init__(self, told: Told, *, hangs: bool) -> None:
        self._told = told
        self._hangs = hangs
        self._tries = 0

    async def settle(self) -> None:
        """Never return, if the process is to be killed here; say that it is here."""
        if self._hangs:
            await self._told.until(2)
            print("here", flush=True)  # noqa: T201 - for the process that kills this one
            await asyncio.Event().wait()

    def fail_once(self) -> None:
        """Fail the first time."""
        self._tries += 1
        if self._tries == 1:
            raise ConnectionError("reset by peer")


def build(scene: Scene) -> Workflow:
    """Return a workflow of four steps; the third one may hang."""

    @executor(id="split")
    async def split(text: str, ctx: WorkflowContext) -> None:
        ctx.set_state("words", len(text.split()))
        for word in text.split():
            await ctx.send_message(word)

    @executor(id="shout", retry=RetryPolicy(max_attempts=2, first_delay_s=0, jitter=0))
    async def shout(word: str) -> str:
        scene.fail_once()
        return word.upper()

    @executor(id="slow")
    async def slow(word: str) -> str:
        await scene.settle()
        return f"{word}!"

    @executor(id="say")
    async def say(word: str) -> str:
        return word

    return (
        WorkflowBuilder("loud", version="1")
        .set_start(split)
        .add_edge(split, shout)
        .add_edge(shout, slow)
        .add_edge(slow, say)
        .build()
    )


async def main(nats_url: str, run_id: str, database_url: str, mode: Mode) -> None:
    """Run the workflow, or go on with it."""
    store = SqlCheckpointStore.open(database_url, project=PROJECT)
    async with open_bus(load_settings(nats_url=nats_url)) as bus, EventPublisher(bus, PROJECT) as publisher:
        told = Told(publisher)
        flow = build(Scene(told, hangs=mode == "hang"))
        if mode == "resume":
            stream = flow.resume_stream(run_id, checkpoints=store)
        else:
            stream = flow.run_stream("ho hey", run_id=run_id, checkpoints=store)
        async for event in stream:
            await told.take(event)
    store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], cast(Mode, sys.argv[4])))
