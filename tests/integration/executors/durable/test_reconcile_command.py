"""``agentic reconcile`` beside a real NATS server: once, and as it runs beside each worker."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from agentic.core.bus.nats.bus import NatsBus
from agentic.core.types import RunId

if TYPE_CHECKING:
    from tests.conftest import Eventually
    from tests.integration.executors.durable.conftest import Office, Start

pytestmark = pytest.mark.integration


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
