"""What every bus promises, for the one in memory and for the one over NATS."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

import pytest

from agentic.core.bus import BusMessage, EventBus, MemoryBus, MessageTooLargeError, StreamState

pytestmark = pytest.mark.integration

SUBJECT = "agentic.executor.shop/r1/fetch.completed"


@pytest.fixture(params=["memory", "nats"])
def bus(request: pytest.FixtureRequest) -> EventBus:
    if request.param == "memory":
        return MemoryBus()
    found: EventBus = request.getfixturevalue("nats_bus")
    return found


def numbered(*numbers: int) -> list[BusMessage]:
    return [
        BusMessage(subject=SUBJECT, payload=b"%d" % number, message_id=f"m{number}") for number in numbers
    ]


async def payloads(bus: EventBus, *, after: int = 0) -> Sequence[int]:
    end = (await bus.state()).last
    return [int(message.payload) async for message in bus.read(after=after, until=end)]


async def test_a_new_bus_is_empty(bus: EventBus) -> None:
    assert (await bus.state()).count == 0
    assert await payloads(bus) == []
    assert [message async for message in bus.read(until=10)] == []


async def test_messages_are_read_as_they_were_stored(bus: EventBus) -> None:
    await bus.publish(numbered(1))
    [message] = [message async for message in bus.read(until=1)]
    assert (message.sequence, message.subject, message.payload) == (1, SUBJECT, b"1")


async def test_messages_keep_the_order_of_their_batch_and_of_the_batches(bus: EventBus) -> None:
    await bus.publish(numbered(*range(1200)))
    await bus.publish(numbered(5000))
    await bus.publish([])
    await bus.publish(numbered(3000, 2000))
    assert await payloads(bus) == [*range(1200), 5000, 3000, 2000]
    assert await bus.state() == StreamState(first=1, last=1203, count=1203)


async def test_batches_of_several_publishers_do_not_mix(bus: EventBus) -> None:
    batches = [numbered(*range(start, start + 100)) for start in range(0, 1000, 100)]
    await asyncio.gather(*(bus.publish(batch) for batch in batches))
    stored = await payloads(bus)
    assert sorted(stored) == list(range(1000))
    assert all(
        stored[at : at + 100] == list(range(stored[at], stored[at] + 100)) for at in range(0, 1000, 100)
    )


async def test_a_message_published_again_is_stored_once(bus: EventBus) -> None:
    await bus.publish(numbered(1, 2, 3))
    await bus.publish(numbered(1, 2, 3))
    assert await payloads(bus) == [1, 2, 3]


async def test_new_messages_among_known_ones_are_stored(bus: EventBus) -> None:
    await bus.publish(numbered(1, 2))
    await bus.publish(numbered(1, 3, 2, 4, 4))
    assert await payloads(bus) == [1, 2, 3, 4]


async def test_reading_goes_on_after_the_sequence_it_is_given(bus: EventBus) -> None:
    await bus.publish(numbered(1, 2, 3, 4))
    assert await payloads(bus, after=2) == [3, 4]
    assert await payloads(bus, after=4) == []
    assert [message.sequence async for message in bus.read(after=1, until=3)] == [2, 3]


async def test_a_reader_sees_what_is_stored_later(bus: EventBus) -> None:
    await bus.publish(numbered(1))
    seen: list[int] = []
    async with asyncio.timeout(10), aclosing(bus.read()) as messages:
        async for message in messages:
            seen.append(int(message.payload))
            if len(seen) == 3:
                break
            await bus.publish(numbered(len(seen) + 1))
    assert seen == [1, 2, 3]


async def test_several_readers_see_everything(bus: EventBus) -> None:
    async def first_three() -> list[int]:
        seen: list[int] = []
        async with aclosing(bus.read()) as messages:
            async for message in messages:
                seen.append(int(message.payload))
                if len(seen) == 3:
                    break
        return seen

    async with asyncio.timeout(10):
        readers = [asyncio.create_task(first_three()) for _ in range(3)]
        await bus.publish(numbered(1, 2))
        await bus.publish(numbered(3))
        assert await asyncio.gather(*readers) == [[1, 2, 3]] * 3


async def test_a_message_too_large_is_refused_with_its_batch_and_harms_nothing(bus: EventBus) -> None:
    huge = BusMessage(subject=SUBJECT, payload=b"x" * 9 * 1024 * 1024, message_id="huge")
    with pytest.raises(MessageTooLargeError) as caught:
        await bus.publish([*numbered(1), huge])
    assert caught.value.message_id == "huge"
    await bus.publish(numbered(2))
    assert await payloads(bus) == [2]


async def test_a_subject_too_long_is_refused(bus: EventBus) -> None:
    subject = f"agentic.executor.{'x' * 4000}.started"
    with pytest.raises(MessageTooLargeError, match="subject"):
        await bus.publish([BusMessage(subject=subject, payload=b"", message_id="long")])
    await bus.publish(numbered(1))
    assert await payloads(bus) == [1]


async def test_closing_twice_is_harmless(bus: EventBus) -> None:
    await bus.publish(numbered(1))
    await bus.aclose()
    await bus.aclose()
