"""Slots that are left by whoever only waits."""

from __future__ import annotations

import asyncio

import pytest

from agentic.core.http.politeness.slots import LONG_S, SLOT, idle, note_begun, own_slot


class Place:
    """Notes what is done with it; a turn is given by ``free``."""

    def __init__(self) -> None:
        self.task: asyncio.Task[object] | None = None
        self.is_begun = False
        self.done: list[str] = []
        self.free = asyncio.Event()
        self.has_left = asyncio.Event()

    def leave(self) -> None:
        self.done.append("left")
        self.has_left.set()

    def enter(self) -> None:
        self.done.append("entered")

    async def enter_in_turn(self) -> None:
        await self.free.wait()
        self.done.append("entered in turn")


def held() -> Place:
    found = Place()
    found.task = asyncio.current_task()
    SLOT.set(found)
    return found


async def test_who_waits_for_long_leaves_its_slot_and_takes_one_again() -> None:
    place = held()
    async with idle(2 * LONG_S):
        await place.has_left.wait()
        assert place.done == ["left"]
    assert place.done == ["left", "entered"]


async def test_who_waits_for_a_moment_keeps_it() -> None:
    place = held()
    async with idle():
        await asyncio.sleep(0)
    assert place.done == []


async def test_who_holds_nothing_waits_for_its_turn_afterwards() -> None:
    place = held()

    async def page() -> None:
        place.task = asyncio.current_task()
        async with idle(2 * LONG_S, in_turn=True):
            await place.has_left.wait()

    task = asyncio.create_task(page())
    await place.has_left.wait()
    place.free.set()
    await task
    assert place.done == ["left", "entered in turn"]


async def test_a_wait_that_fails_takes_a_slot_again() -> None:
    place = held()

    async def fail() -> None:
        async with idle(2 * LONG_S, in_turn=True):
            await place.has_left.wait()
            raise OSError("no")

    with pytest.raises(OSError, match="no"):
        await fail()
    assert place.done == ["left", "entered"]


async def test_what_a_task_starts_has_none_of_its_slots() -> None:
    place = held()

    async def part() -> None:
        assert own_slot() is None
        note_begun()
        async with idle(2 * LONG_S):
            passed = asyncio.Event()
            asyncio.get_running_loop().call_later(0, passed.set)  # after the slot would be left
            await passed.wait()

    await asyncio.gather(part(), part())
    assert (place.done, place.is_begun) == ([], False)


async def test_a_wait_within_a_wait_is_one() -> None:
    place = held()
    async with idle(2 * LONG_S), idle(2 * LONG_S):
        await place.has_left.wait()
    assert place.done == ["left", "entered"]
