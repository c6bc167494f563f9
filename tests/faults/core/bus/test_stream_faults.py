"""Events while the disk of the server is full, and when the stream is deleted."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path

import nats
import pytest
from structlog.testing import capture_logs
from tests.conftest import Eventually
from tests.faults.disks import filled, small_disk

from agentic.core.bus import EventPublisher, PublishedEvent, read_events
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.graph import EventKind, WorkflowEvent
from agentic.core.services import ServiceSupervisor, nats_service
from agentic.core.types import RunId

pytestmark = pytest.mark.faults

Events = AsyncGenerator[PublishedEvent, None]

EVENT_BYTES = 50_000


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ServiceSupervisor]:
    """A server of the test's own."""
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]) as supervisor:
        yield supervisor


@pytest.fixture
async def bus(server: ServiceSupervisor) -> AsyncIterator[NatsBus]:
    """A bus on that server, for who writes."""
    bus = NatsBus(server.urls["nats"])
    yield bus
    await bus.aclose()


@pytest.fixture
async def events(server: ServiceSupervisor) -> AsyncIterator[Events]:
    """What is stored there, by a bus of its own."""
    bus = NatsBus(server.urls["nats"])
    await bus.state()
    async with aclosing(read_events(bus)) as found:
        yield found
    await bus.aclose()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """The folder of the server, on a disk of its own."""
    folder = tmp_path / "nats"
    folder.mkdir()
    with small_disk(folder, "6m"):
        yield folder


def an_event(sequence: int, size: int = 0) -> WorkflowEvent:
    return WorkflowEvent(
        kind=EventKind.EXECUTOR_COMPLETED,
        run_id=RunId("r1"),
        time=1.0,
        sequence=sequence,
        path="fetch",
        data={"text": "x" * size},
    )


async def test_events_wait_while_the_disk_is_full_until_the_server_is_started_again(
    disk: Path, bus: NatsBus, events: Events, eventually: Eventually
) -> None:
    """NATS takes nothing any more once its disk was full, also when there is room again."""
    async with EventPublisher(bus, "shop") as publisher:
        await publisher.publish(an_event(1))
        assert await sequences(events, last=1) == [1]
        with capture_logs() as logs, filled(disk):
            await publisher.publish(an_event(2, EVENT_BYTES))
            await eventually(lambda: any(entry["event"] == "events.waiting" for entry in logs))
        kill_server(disk.parent)
        assert await sequences(events, last=2) == [2]
    assert (publisher.published, publisher.failed) == (2, 0)


async def test_who_follows_a_stream_that_is_deleted_goes_on_with_what_comes_after(
    server: ServiceSupervisor, bus: NatsBus, events: Events
) -> None:
    async with EventPublisher(bus, "shop") as publisher:
        for sequence in range(1, 9):
            await publisher.publish(an_event(sequence))
        assert await sequences(events, last=8) == [*range(1, 9)]
        async with await nats.connect(server.urls["nats"]) as client:
            await client.jetstream().delete_stream("AGENTIC_EVENTS")
        await publisher.publish(an_event(9))
        await publisher.publish(an_event(10))

        assert await sequences(events, last=10) == [9, 10]
    assert (publisher.published, publisher.failed) == (10, 0)


async def sequences(events: Events, *, last: int) -> list[int | None]:
    """Return the sequences of the events that come, up to this one."""
    found: list[int | None] = []
    async with asyncio.timeout(30):
        while last not in found:
            found.append((await anext(events)).event.sequence)
    return found


def kill_server(home: Path) -> None:
    note = json.loads((home / "runtime.json").read_text(encoding="utf-8"))
    os.kill(note["pids"]["nats"], signal.SIGKILL)
