from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from agentic.core.bus import EventBus, EventPublisher, read_events
from agentic.core.types import JSONValue

if TYPE_CHECKING:
    from tests.unit.core.bus.conftest import FlakyBus, MakeEvent


async def sequences(bus: EventBus) -> list[int | None]:
    end = (await bus.state()).last
    return [found.event.sequence async for found in read_events(bus, until=end)]


async def test_events_are_stored_in_the_order_they_were_given(bus: FlakyBus, make_event: MakeEvent) -> None:
    async with EventPublisher(bus, "shop") as publisher:
        for number in range(1, 2001):
            await publisher.publish(make_event(number))
    assert await sequences(bus) == list(range(1, 2001))
    assert (publisher.published, publisher.failed) == (2000, 0)


async def test_events_go_out_in_batches_not_one_by_one(bus: FlakyBus, make_event: MakeEvent) -> None:
    async with EventPublisher(bus, "shop") as publisher:
        for number in range(1, 1001):
            await publisher.publish(make_event(number))
    assert bus.attempt_count == 2


async def test_events_reach_the_bus_while_the_run_goes_on(bus: FlakyBus, make_event: MakeEvent) -> None:
    async with EventPublisher(bus, "shop") as publisher:
        await publisher.publish(make_event(1))
        async for found in read_events(bus):
            assert found.project == "shop"
            break


async def test_nothing_is_published_for_a_run_without_events(bus: FlakyBus) -> None:
    async with EventPublisher(bus, "shop"):
        pass
    assert bus.attempt_count == 0


async def test_a_bus_that_is_down_fails_no_run_and_is_counted(bus: FlakyBus, make_event: MakeEvent) -> None:
    bus.is_down = True
    publisher = EventPublisher(bus, "shop")
    with capture_logs() as logs:
        for number in range(1, 4):
            await publisher.publish(make_event(number))
        await publisher.close(timeout_s=0.01)
    assert (publisher.published, publisher.failed) == (0, 3)
    assert [entry["event"] for entry in logs] == ["events.waiting", "events.lost"]
    assert "secret" not in str(logs)


async def test_events_of_an_outage_are_stored_when_the_bus_is_back(
    bus: FlakyBus, make_event: MakeEvent
) -> None:
    bus.is_down = True
    with capture_logs() as logs:
        async with EventPublisher(bus, "shop") as publisher:
            await publisher.publish(make_event(1))
            await bus.attempted.wait()
            await publisher.publish(make_event(2))
            bus.is_down = False
    assert await sequences(bus) == [1, 2]
    assert publisher.failed == 0
    assert [entry["event"] for entry in logs] == ["events.waiting", "events.resumed"]


async def test_a_full_queue_drops_new_events_while_the_bus_is_down(
    bus: FlakyBus, make_event: MakeEvent
) -> None:
    bus.is_down = True
    publisher = EventPublisher(bus, "shop", max_queued=2)
    async with asyncio.timeout(5):
        for number in range(1, 11):
            await publisher.publish(make_event(number))
    bus.is_down = False
    await publisher.close()
    stored = await sequences(bus)
    assert stored[:2] == [1, 2]
    assert publisher.published == len(stored)
    assert publisher.published + publisher.failed == 10


async def test_a_full_queue_waits_for_a_bus_that_works(bus: FlakyBus, make_event: MakeEvent) -> None:
    async with EventPublisher(bus, "shop", max_queued=2) as publisher:
        for number in range(1, 101):
            await publisher.publish(make_event(number))
    assert (publisher.published, publisher.failed) == (100, 0)


async def test_an_event_too_large_is_stored_without_its_data(bus: FlakyBus, make_event: MakeEvent) -> None:
    async with EventPublisher(bus, "shop") as publisher:
        await publisher.publish(make_event(1))
        await publisher.publish(make_event(2, data={"page": "x" * 5000}))
        await publisher.publish(make_event(3))
    found = [published.event async for published in read_events(bus, until=3)]
    assert [event.sequence for event in found] == [1, 2, 3]
    assert list(found[1].data) == ["dropped_bytes"]
    assert publisher.published == 3


async def test_an_event_too_large_even_without_data_does_not_hold_up_the_others(
    bus: FlakyBus, make_event: MakeEvent
) -> None:
    async with EventPublisher(bus, "shop") as publisher:
        await publisher.publish(make_event(1, run_id="r" * 5000))
        await publisher.publish(make_event(2))
    assert await sequences(bus) == [2]
    assert (publisher.published, publisher.failed) == (1, 1)


@pytest.mark.parametrize("data", [{"name": "a\udc80"}, {"what": object()}, {"ratio": math.nan}])
async def test_an_event_that_cannot_be_written_does_not_hold_up_the_others(
    bus: FlakyBus, make_event: MakeEvent, data: dict[str, JSONValue]
) -> None:
    async with EventPublisher(bus, "shop") as publisher:
        await publisher.publish(make_event(1, data=data))
        await publisher.publish(make_event(2))
    assert (await sequences(bus))[-1] == 2
    assert publisher.published + publisher.failed == 2


async def test_what_comes_after_the_end_is_counted_as_lost(bus: FlakyBus, make_event: MakeEvent) -> None:
    publisher = EventPublisher(bus, "shop")
    await publisher.close()
    await publisher.publish(make_event(1))
    assert (bus.attempt_count, publisher.failed) == (0, 1)


async def test_cancelling_the_run_while_it_closes_leaves_no_task_behind(
    bus: FlakyBus, make_event: MakeEvent
) -> None:
    bus.is_down = True
    publisher = EventPublisher(bus, "shop")
    await publisher.publish(make_event(1))
    before = asyncio.all_tasks()
    closing = asyncio.create_task(publisher.close(timeout_s=60))
    await bus.attempted.wait()
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert publisher.failed == 1
    assert not [task for task in before if task.get_name() == "event-publisher" and not task.done()]
