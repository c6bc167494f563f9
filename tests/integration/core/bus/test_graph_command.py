"""``agentic graph``: pictures on the command line."""

from __future__ import annotations

import asyncio
import os
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from tests.commands import run_command

from agentic.core.bus import EventPublisher, open_bus
from agentic.core.graph import WorkflowBuilder, WorkflowContext, executor
from agentic.core.settings import load_settings

pytestmark = pytest.mark.integration


async def agentic(nats_url: str, *args: str) -> tuple[int | None, str, str]:
    done = await asyncio.to_thread(run_command, args, {**os.environ, "AGENTIC_NATS_URL": nats_url}, Path())
    return done.returncode, done.stdout, done.stderr


async def run_stored(nats_url: str, run_id: str) -> None:
    @executor(id="split")
    async def split(text: str, ctx: WorkflowContext) -> None:
        for letter in text:
            await ctx.send_message(letter)

    @executor(id="shout")
    async def shout(letter: str) -> str:
        return letter.upper()

    inner = WorkflowBuilder("loud").set_start(shout).build()
    flow = WorkflowBuilder("letters").set_start(split).add_edge(split, inner).build()
    async with (
        open_bus(load_settings(nats_url=nats_url)) as bus,
        EventPublisher(bus, "p") as publisher,
    ):
        async for event in flow.run_stream("abc", run_id=run_id):
            await publisher.publish(event)


async def test_run_is_drawn_from_its_events_alone(nats_url: str) -> None:
    await run_stored(nats_url, "drawn-1")
    code, out, err = await agentic(nats_url, "graph", "svg", "--run", "drawn-1")
    assert (code, err) == (0, "")
    words = " ".join(ET.fromstring(out).itertext())
    assert all(name in words for name in ("split", "loud", "shout", "completed", "3"))


async def test_run_that_is_not_there_is_named(nats_url: str) -> None:
    code, _, err = await agentic(nats_url, "graph", "svg", "--run", "nobody")
    assert code == 1
    assert "no events of run 'nobody'" in err


async def test_nothing_to_draw_is_told(nats_url: str) -> None:
    code, _, err = await agentic(nats_url, "graph", "svg")
    assert code == 1
    assert "name a workflow" in err
