"""The events of runs outlive whoever publishes and whoever reads them: they are in the ledger."""

from __future__ import annotations

import asyncio
import random
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.faults.executors.disturbing import OUTAGE_S
from tests.faults.executors.history import log_of
from tests.faults.executors.killing import kill_one_at_work
from tests.faults.executors.scene import undisturbed

from agentic.core import WorkflowEvent
from agentic.core.bus import read_events
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.services import nats_service

if TYPE_CHECKING:
    from tests.faults.executors.conftest import MakeStage, Note
    from tests.faults.executors.scene import Scene

pytestmark = [pytest.mark.faults, pytest.mark.integration]

UNPUBLISHED = "SELECT count(*) FROM run_events WHERE published_at IS NULL"


class NatsServer:
    """A NATS server that can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        service = nats_service(folder)
        self.url = service.urls["nats"]
        self._command = service.command
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, where it was and with what it had before."""
        self._process = subprocess.Popen(self._command, stderr=subprocess.DEVNULL)

    def close(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@pytest.fixture
def nats_server(tmp_path: Path) -> Iterator[NatsServer]:
    """A server of the test's own."""
    with closing(NatsServer(tmp_path)) as server:
        server.start()
        yield server


def test_who_reads_goes_on_where_it_stopped(scene: Scene, note: Note) -> None:
    (handle,) = scene.march(1)
    scene.place.eventually(handle.events)
    seen = handle.events()
    scene.until_under_way()
    kill_one_at_work(scene, random.Random(17))
    scene.until_ended()
    seen += handle.events(after=len(seen))
    assert log_of(seen, handle.run_id) == undisturbed("march", 0).log
    note(scene.check())


def test_nats_has_all_events_when_it_was_killed_and_away(
    configured_stage: MakeStage, nats_server: NatsServer, note: Note
) -> None:
    scene = configured_stage(7, "")
    with scene.env(AGENTIC_NATS_URL=nats_server.url):
        scene.worker()
    scene.clear()
    handles = scene.march(6)
    scene.place.eventually(lambda: scene.read("SELECT 1 FROM run_events WHERE published_at IS NOT NULL"))
    nats_server.close()
    kill_one_at_work(scene, random.Random(7))
    time.sleep(OUTAGE_S)
    nats_server.start()
    note(scene.check())
    scene.place.eventually(lambda: scene.read(UNPUBLISHED) == [(0,)])
    published = asyncio.run(stored_events(nats_server.url))
    assert published == {handle.run_id: handle.events() for handle in handles}


async def stored_events(url: str) -> Mapping[str, Sequence[WorkflowEvent]]:
    """Return the durable events that a server has, by run, each once and in their order."""
    found: dict[str, list[WorkflowEvent]] = defaultdict(list)
    bus = NatsBus(url)
    last = (await bus.state()).last
    async with aclosing(read_events(bus, until=last)) as events:
        async for published in events:
            if published.event.sequence is not None:
                found[published.event.run_id].append(published.event)
    await bus.aclose()
    return {run_id: sorted(events, key=lambda event: event.sequence or 0) for run_id, events in found.items()}
