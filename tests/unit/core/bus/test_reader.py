from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from agentic.core.bus import (
    BusMessage,
    EventBus,
    EventFilter,
    EventPublisher,
    PublishedEvent,
    read_events,
    tail_events,
)
from agentic.core.graph import EventKind, WorkflowEvent

if TYPE_CHECKING:
    from tests.unit.core.bus.conftest import FlakyBus, MakeEvent


async def store(bus: EventBus, *events: WorkflowEvent, project: str = "shop") -> None:
    async with EventPublisher(bus, project) as publisher:
        for event in events:
            await publisher.publish(event)


async def tail(bus: EventBus, wanted: EventFilter, last: int) -> list[PublishedEvent]:
    return [found async for found in tail_events(bus, wanted, last=last, follow=False)]


async def test_an_event_comes_back_as_it_was_published(bus: FlakyBus, make_event: MakeEvent) -> None:
    event = make_event(1, data={"name": "Grüße", "nested": {"a": [1, None]}})
    await store(bus, event)
    assert await tail(bus, EventFilter(), 1) == [
        PublishedEvent(stream_sequence=1, project="shop", event=event)
    ]


async def test_an_event_is_shown_with_its_project_and_place(bus: FlakyBus, make_event: MakeEvent) -> None:
    await store(bus, make_event(7))
    [found] = await tail(bus, EventFilter(), 1)
    assert found.to_dict() == {"stream_sequence": 1, "project": "shop", **make_event(7).to_dict()}


async def test_a_run_is_found_with_its_nested_runs_and_no_namesakes(
    bus: FlakyBus, make_event: MakeEvent
) -> None:
    for run_id in ("r1", "r1/impl.0.0", "r1/impl.0.0/fetch.2.1", "r10", "x/r1"):
        await store(bus, make_event(1, run_id=run_id))
    found = await tail(bus, EventFilter(run_id="r1"), 10)
    assert [published.event.run_id for published in found] == ["r1", "r1/impl.0.0", "r1/impl.0.0/fetch.2.1"]


async def test_projects_and_kinds_can_be_chosen(bus: FlakyBus, make_event: MakeEvent) -> None:
    await store(bus, make_event(1), make_event(2, kind=EventKind.RUN_COMPLETED))
    await store(bus, make_event(3, kind=EventKind.RUN_COMPLETED), project="other")
    wanted = EventFilter(project="shop", kinds=frozenset({EventKind.RUN_COMPLETED, EventKind.RUN_FAILED}))
    assert [found.event.sequence for found in await tail(bus, wanted, 10)] == [2]


@pytest.mark.parametrize("last", [0, 1, 3, 700, 2000])
async def test_the_newest_matching_events_are_found_wherever_they_lie(
    bus: FlakyBus, make_event: MakeEvent, last: int
) -> None:
    await store(bus, *(make_event(number, run_id=f"r{number % 2}") for number in range(1, 1501)))
    found = await tail(bus, EventFilter(run_id="r0"), last)
    assert [published.event.sequence for published in found] == list(range(2, 1501, 2))[-last or 1500 :]


async def test_following_goes_on_where_the_stored_events_end(bus: FlakyBus, make_event: MakeEvent) -> None:
    await store(bus, make_event(1), make_event(2))
    seen: list[int | None] = []
    async with asyncio.timeout(5), aclosing(tail_events(bus, last=1, follow=True)) as found:
        async for published in found:
            seen.append(published.event.sequence)
            if len(seen) == 3:
                break
            await store(bus, make_event(2 + len(seen)))
    assert seen == [2, 3, 4]


async def test_reading_can_go_on_after_a_known_place(bus: FlakyBus, make_event: MakeEvent) -> None:
    await store(bus, *(make_event(number) for number in range(1, 6)))
    assert [found.stream_sequence async for found in read_events(bus, after=3, until=5)] == [4, 5]


async def test_an_event_stored_twice_is_given_once(bus: FlakyBus, make_event: MakeEvent) -> None:
    await store(bus, make_event(1))
    [message] = [message async for message in bus.read(until=1)]
    again = BusMessage(subject=message.subject, payload=message.payload, message_id="published-later")
    await bus.publish([again])
    assert [found.stream_sequence async for found in read_events(bus, until=2)] == [1]


@pytest.mark.parametrize("payload", [b"", b"\xff", b"[]", b'"text"', b'{"kind": "run.started"}', b'{"a":'])
async def test_a_message_that_is_no_event_is_skipped_and_told(
    bus: FlakyBus, make_event: MakeEvent, payload: bytes
) -> None:
    await bus.publish([BusMessage(subject="agentic.agent.x.message", payload=payload, message_id="foreign")])
    await store(bus, make_event(1))
    with capture_logs() as logs:
        found = [published.event.sequence async for published in read_events(bus, until=2)]
    assert found == [1]
    assert [entry["event"] for entry in logs] == ["event.unreadable"]
