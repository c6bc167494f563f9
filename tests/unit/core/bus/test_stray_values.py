"""Values that none of us wrote: no lease is blocked by one, and no state."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs
from tests.clocks import Clock

from agentic.core.bus import KeyLease, MemoryBus
from agentic.core.bus.kv import KeyEntry
from agentic.core.bus.projections.projected import ProjectedBucket, Projection, StreamPosition

STRAY = [b"", b"\xff", b"[]", b"null", b'"text"', b"{", b"[" * 100_000, b"7"]


async def test_a_value_that_nobody_renews_holds_a_lease_for_a_while_only() -> None:
    clock, bucket = Clock(0.0), MemoryBus().bucket("LEASES", project="shop")
    await bucket.put("asker", b"forged, and without an end")
    lease = KeyLease(bucket, "asker", "us", ttl_s=10, clock=clock)
    for _ in range(8):
        assert not await lease.hold()
        clock.now += 3.0
    assert await lease.hold()


async def test_a_lease_that_is_renewed_is_never_taken() -> None:
    clock, bucket = Clock(0.0), MemoryBus().bucket("LEASES", project="shop")
    theirs = KeyLease(bucket, "asker", "them", ttl_s=10, clock=clock)
    ours = KeyLease(bucket, "asker", "us", ttl_s=10, clock=clock)
    for _ in range(40):
        assert await theirs.hold()
        assert not await ours.hold()
        clock.now += 4.0


@pytest.mark.parametrize("value", STRAY)
async def test_a_document_that_is_none_is_made_anew(value: bytes) -> None:
    bucket = MemoryBus().bucket("STATE", project="shop")
    await bucket.put("run", value)
    projected = ProjectedBucket(
        bucket, Projection(keys=lambda _: {"run"}, apply=lambda _events, _known: set())
    )
    with capture_logs() as logs:
        assert await projected.documents(["run"]) == {}
    assert [entry["event"] for entry in logs] == ["document.unreadable"]


@pytest.mark.parametrize("value", [*STRAY, b'{"stream": "s", "sequence": "x"}', b'{"stream": "s"}'])
def test_a_place_that_is_none_is_the_begin(value: bytes) -> None:
    entry = KeyEntry(key="projector.position", value=value, revision=1)
    assert StreamPosition("s").kept_in(entry) == StreamPosition("s", 0)
