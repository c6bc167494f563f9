"""``agentic reconcile`` beside a real NATS server: once, and as it runs beside each worker."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentic.core.bus.nats_bus import NatsBus
from agentic.core.services import Supervisor, nats_service
from agentic.core.types import RunId

if TYPE_CHECKING:
    from tests.conftest import Eventually
    from tests.integration.executors.durable.conftest import Office

pytestmark = pytest.mark.integration

Start = Callable[[], "subprocess.Popen[bytes]"]


@pytest.fixture
async def bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[NatsBus]:
    """A bus on a server that this process, and those it starts, find in their settings."""
    async with Supervisor(tmp_path, [nats_service(tmp_path)]) as supervisor:
        monkeypatch.setenv("AGENTIC_NATS_URL", supervisor.urls["nats"])
        bus = NatsBus(supervisor.urls["nats"])
        yield bus
        await bus.aclose()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts what a worker starts beside it."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "agentic.core.cli", "reconcile", "--every", "0.5"]
        started.append(subprocess.Popen(command, cwd=tmp_path))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def work(office: Office, run_id: str) -> int:
    """Begin a run and work it off; return how many events it told."""
    office.floor.submit("adding", 1, run_id)
    office.floor.work()
    with office.floor.store.transaction() as ledger:
        return ledger.events(RunId(run_id))[-1].last


def unpublished(office: Office) -> int:
    with office.floor.store.transaction() as ledger:
        return len(ledger.unpublished())


async def test_once_it_publishes_all_there_is(office: Office, bus: NatsBus) -> None:
    count = await asyncio.to_thread(work, office, "one")
    assert (await asyncio.to_thread(office.json, "reconcile"))["published"] == count
    assert (await bus.state()).count == count


async def test_it_goes_on_where_it_was_killed(
    office: Office, bus: NatsBus, start: Start, eventually: Eventually
) -> None:
    first = start()
    count = await asyncio.to_thread(work, office, "one")
    await eventually(lambda: not unpublished(office))
    first.kill()
    first.wait()
    count += await asyncio.to_thread(work, office, "two")
    start()
    await eventually(lambda: not unpublished(office))
    assert (await bus.state()).count == count
