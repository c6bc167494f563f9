"""What the projector leaves in buckets, whatever happens to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.conftest import Eventually
from tests.unit.core.bus.told import ended, shaky, told

from agentic.core.bus import Bus, BusUnavailableError, KeyWrite, MemoryBus, learnt_patterns, live_state
from agentic.core.bus.envelope import to_message
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.bus.projections.patterns import apply_patterns
from agentic.core.bus.projections.projection import Documents, apply_state
from agentic.core.bus.projections.projector import Projector
from agentic.core.graph import WorkflowEvent
from agentic.core.services import ServiceSupervisor, nats_service
from agentic.core.types import RunId

pytestmark = [pytest.mark.integration, pytest.mark.requirement("NA15", "NA16", "NA18", "NA19", "LE02")]


class DiedError(Exception):
    """Nothing is done any more."""


class DyingBus(MemoryBus):
    """Its buckets break after some more writes, before or after they have written."""

    def __init__(self) -> None:
        super().__init__()
        self.writes_left: int | None = None
        self.is_late = False

    def bucket(self, name: str, *, project: str, ttl_s: float | None = None) -> Any:
        bucket = super().bucket(name, project=project, ttl_s=ttl_s)
        if name == "AGENTIC_LEASES":
            return bucket
        return _Dying(self, bucket)


class _Dying:
    def __init__(self, bus: DyingBus, bucket: Any) -> None:
        self._bus = bus
        self._bucket = bucket

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bucket, name)

    async def write(self, changes: Sequence[KeyWrite]) -> None:
        if self._bus.writes_left == 0:
            if self._bus.is_late:
                await self._bucket.write(changes)
            raise DiedError
        if self._bus.writes_left is not None:
            self._bus.writes_left -= 1
        await self._bucket.write(changes)


@pytest.fixture(params=["memory", "nats"])
async def bus(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bus]:
    """A bus with nothing on it."""
    if request.param == "memory":
        yield MemoryBus()
        return
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]) as supervisor:
        bus = NatsBus(supervisor.urls["nats"])
        yield bus
        await bus.aclose()


async def publish(bus: Bus, events: Sequence[WorkflowEvent], project: str = "shop") -> None:
    await bus.publish([to_message(event, project) for event in events if event.sequence is not None])


async def run_of(failures: int, run_id: str) -> list[WorkflowEvent]:
    return [event async for event in shaky(failures).run_stream(1, run_id=RunId(run_id))]


async def read(bus: Bus, kind: str, project: str = "shop") -> Documents:
    """Return what stands in a bucket."""
    bucket = live_state(bus, project) if kind == "state" else learnt_patterns(bus, project)
    entries = await bucket.get_many(list(await bucket.keys()))
    return {key: json.loads(e.value) for key, e in entries.items() if key != "projector.position"}


async def catch_up(projector: Projector) -> None:
    while await projector.look():
        pass


async def test_buckets_hold_what_the_events_tell(bus: Bus) -> None:
    first, second = await run_of(1, "r1"), await run_of(0, "r2")
    await publish(bus, first)
    projector = Projector(bus, "test")
    await catch_up(projector)
    await publish(bus, second)
    await publish(bus, second, project="other")
    await catch_up(projector)

    expected: Documents = {}
    others: Documents = {}
    apply_state(told([*first, *second]), expected)
    apply_state(told(second, project="other"), others)
    assert await read(bus, "state") == expected
    assert await read(bus, "state", "other") == others
    known: Documents = {}
    apply_patterns(told([*first, *second]), known)
    assert await read(bus, "patterns") == known


@pytest.mark.parametrize("is_late", [False, True], ids=["before it wrote", "after it wrote"])
async def test_what_one_left_half_done_the_next_does_not_count_twice(is_late: bool) -> None:
    bus = DyingBus()
    bus.is_late = is_late
    events = [ended(f"r{number}", error="gone") for number in range(1_300)]
    await publish(bus, events)
    expected: Documents = {}
    apply_patterns(told(events), expected)

    deaths = 0
    for writes in range(1, 40):
        bus.writes_left = writes % 3
        projector = Projector(bus, "same")
        try:
            await catch_up(projector)
        except DiedError:
            deaths += 1
            await bus.bucket("AGENTIC_LEASES", project="").delete("projector")
        else:
            break

    assert deaths > 2
    assert (await read(bus, "patterns")) == expected
    assert len(await read(bus, "state")) == 1_300 * 6


async def test_of_two_only_one_is_at_it_and_the_other_takes_over(bus: Bus) -> None:
    await publish(bus, await run_of(0, "r1"))
    one, other = Projector(bus, "one"), Projector(bus, "other")

    await catch_up(one)
    assert not await other.look()
    await publish(bus, await run_of(0, "r2"))
    assert not await other.look()
    await catch_up(one)

    counts = (await read(bus, "patterns"))["patterns.write.success"]
    assert counts["count"] == 2


@pytest.mark.requirement("NA22")
async def test_how_fast_executors_were_is_told_once_for_what_is_new(bus: Bus) -> None:
    await publish(bus, await run_of(2, "r1"))
    await publish(bus, await run_of(0, "r1"), project="other")
    await catch_up(Projector(bus, "same"))
    await bus.bucket("AGENTIC_LEASES", project="").delete("projector")
    await publish(bus, await run_of(0, "r2"))
    await catch_up(Projector(bus, "same"))

    async with aclosing(bus.metrics.read(until=(await bus.metrics.state()).last)) as messages:
        told = [(message.subject, json.loads(message.payload)) async for message in messages]
    counts = [(s, facts["completed_count"], facts["failed_count"]) for s, facts in told if "write" in s]
    assert counts == [
        ("agentic.metrics.shop.executor.write", 1, 2),
        ("agentic.metrics.other.executor.write", 1, 0),
        ("agentic.metrics.shop.executor.write", 1, 0),
    ]
    assert all(0 < facts["max_s"] <= facts["total_s"] < 1 for _, facts in told)
    assert all(facts["since"] <= facts["until"] for _, facts in told)


async def test_a_stream_that_was_made_anew_is_read_from_its_begin(nats_bus: NatsBus, nats_url: str) -> None:
    import nats

    first = await run_of(3, "r1")
    await publish(nats_bus, first)
    projector = Projector(nats_bus, "test")
    await catch_up(projector)
    client = await nats.connect(nats_url)
    await client.jetstream().delete_stream("AGENTIC_EVENTS")
    await client.close()

    with pytest.raises(BusUnavailableError):
        await publish(nats_bus, await run_of(0, "r2"))
    await publish(nats_bus, await run_of(0, "r2"))
    await catch_up(projector)

    # The ledger tells what it has again, also when the new stream is longer than the old one was.
    await publish(nats_bus, first)
    await publish(nats_bus, await run_of(0, "r3"))
    await catch_up(projector)
    assert (await read(nats_bus, "state"))["workflow.shop/r2.state"]["status"] == "completed"
    patterns = await read(nats_bus, "patterns")
    assert patterns["patterns.write.success"]["count"] == 3
    assert patterns["patterns.write.failure"]["count"] == 3


async def test_a_bus_that_is_away_is_told_of_once_and_caught_up_with(eventually: Eventually) -> None:
    bus = DyingBus()
    broken = True

    async def state() -> Any:
        if broken:
            raise ConnectionError("nobody is there")
        return await MemoryBus.state(bus)

    bus.state = state  # type: ignore[method-assign]
    await publish(bus, await run_of(0, "r1"))
    with capture_logs() as logs:
        task = asyncio.create_task(Projector(bus, "test").keep_projecting())
        await eventually(lambda: bool(logs))
        await asyncio.sleep(1.2)
        broken = False

        async with asyncio.timeout(20):
            await anext(live_state(bus, "shop").watch("workflow.*.state"))
        task.cancel()

    assert [entry["event"] for entry in logs] == ["projections.waiting"]
    assert logs[0]["error"] == "nobody is there"
