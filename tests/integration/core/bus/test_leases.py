"""Leases: one holder at a time, and nobody for long after it died."""

from __future__ import annotations

import asyncio

import pytest

from agentic.core.bus import KeyLease, KeyValue, MemoryKeyValue
from agentic.core.bus.nats.bus import NatsBus

pytestmark = pytest.mark.integration


@pytest.fixture(params=["memory", "nats"])
def bucket(request: pytest.FixtureRequest) -> KeyValue:
    if request.param == "memory":
        return MemoryKeyValue()
    bus: NatsBus = request.getfixturevalue("nats_bus")
    return bus.bucket("TEST", project="shop")


async def test_one_of_many_holds_it_and_keeps_it(bucket: KeyValue) -> None:
    leases = [KeyLease(bucket, "asker", f"p{n}", ttl_s=1) for n in range(5)]
    assert sum(await asyncio.gather(*(lease.hold() for lease in leases))) == 1
    entry = await bucket.get("asker")
    assert entry is not None
    holder = leases[int(entry.value[1:])]
    for _ in range(5):
        await asyncio.sleep(0.4)
        assert [lease for lease in leases if await lease.hold()] == [holder]


async def test_another_has_it_soon_after_its_holder_is_gone(bucket: KeyValue) -> None:
    dead, next_one = KeyLease(bucket, "asker", "dead", ttl_s=1), KeyLease(bucket, "asker", "next", ttl_s=1)
    assert await dead.hold()
    async with asyncio.timeout(6):
        while not await next_one.hold():  # noqa: ASYNC110 - nobody tells of an expiry
            await asyncio.sleep(0.1)
    assert not await dead.hold()
    await dead.release()
    assert await next_one.hold()


async def test_one_that_ended_and_nobody_took_is_held_again(bucket: KeyValue) -> None:
    lease = KeyLease(bucket, "asker", "slow", ttl_s=1)
    assert await lease.hold()
    await asyncio.sleep(2.2)
    assert await lease.hold()


async def test_one_that_is_released_is_free_at_once(bucket: KeyValue) -> None:
    first, second = KeyLease(bucket, "asker", "first"), KeyLease(bucket, "asker", "second")
    assert await first.hold()
    assert not await second.hold()
    await first.release()
    await first.release()
    assert await second.hold()
