"""Events on their way while the server is killed again and again."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentic.core.bus import EventPublisher, PublishedEvent, read_events
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.graph import EventKind, WorkflowEvent
from agentic.core.services import ServiceSupervisor, nats_service
from agentic.core.types import RunId

if TYPE_CHECKING:
    from tests.conftest import Eventually

pytestmark = pytest.mark.faults

EVENT_COUNT = 20_000
KILLS = 3


def an_event(sequence: int) -> WorkflowEvent:
    return WorkflowEvent(
        kind=EventKind.EXECUTOR_COMPLETED, run_id=RunId("r1"), time=1.0, sequence=sequence, path="fetch"
    )


async def read_all(bus: NatsBus) -> list[PublishedEvent]:
    found: list[PublishedEvent] = []
    async for published in read_events(bus):
        found.append(published)
        if published.event.sequence == EVENT_COUNT:
            break
    return found


async def test_killing_the_server_loses_doubles_and_mixes_up_no_event(
    tmp_path: Path, eventually: Eventually
) -> None:
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]) as supervisor:
        writing, reading = (NatsBus(supervisor.urls["nats"]) for _ in range(2))
        await reading.state()
        reader = asyncio.create_task(read_all(reading))
        publisher = EventPublisher(writing, "shop")
        for sequence in range(1, EVENT_COUNT + 1):
            await publisher.publish(an_event(sequence))
        for kill in range(KILLS):
            # More are on their way at this moment.
            await eventually(partial(has_published, publisher, kill * EVENT_COUNT // KILLS))
            kill_server(tmp_path)
        await publisher.close(timeout_s=30)
        async with asyncio.timeout(30):
            found = await reader
        await writing.aclose()
        await reading.aclose()
    assert (publisher.published, publisher.failed) == (EVENT_COUNT, 0)
    assert [published.event.sequence for published in found] == list(range(1, EVENT_COUNT + 1))
    places = [published.stream_sequence for published in found]
    assert places == sorted(set(places))


def has_published(publisher: EventPublisher, count: int) -> bool:
    return publisher.published > count


def kill_server(home: Path) -> None:
    note = json.loads((home / "runtime.json").read_text(encoding="utf-8"))
    os.kill(note["pids"]["nats"], signal.SIGKILL)
