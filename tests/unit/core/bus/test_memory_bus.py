from __future__ import annotations

from agentic.core.bus import BusMessage, MemoryBus


def numbered(number: int) -> BusMessage:
    return BusMessage(subject="agentic.agent.x.message", payload=str(number).encode(), message_id=str(number))


async def test_only_the_newest_messages_are_kept() -> None:
    bus = MemoryBus(max_messages=3)
    await bus.publish([numbered(number) for number in range(1, 6)])
    state = await bus.state()
    assert (state.first, state.last, state.count) == (3, 5, 3)
    assert [message.payload async for message in bus.read(until=5)] == [b"3", b"4", b"5"]


async def test_a_slow_reader_misses_what_was_dropped_and_goes_on() -> None:
    bus = MemoryBus(max_messages=2)
    await bus.publish([numbered(1), numbered(2)])
    seen: list[int] = []
    async for message in bus.read():
        seen.append(message.sequence)
        if message.sequence == 1:
            await bus.publish([numbered(3), numbered(4), numbered(5)])
        if message.sequence == 5:
            break
    assert seen == [1, 4, 5]


async def test_an_id_is_forgotten_with_its_message() -> None:
    bus = MemoryBus(max_messages=1)
    await bus.publish([numbered(1), numbered(2), numbered(1)])
    assert (await bus.state()).last == 3
