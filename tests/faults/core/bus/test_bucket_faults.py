"""Buckets while connections break, servers die, disks fill and streams vanish."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from urllib.parse import urlsplit

import nats
import pytest
from tests.faults.disks import filled, small_disk
from tests.relays import Loss, Relay, at_port, relay_to

from agentic.core.bus import BusUnavailableError, KeyChange, KeyConflictError, KeyValue, KeyWrite
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.services import ServiceSupervisor, nats_service

pytestmark = [pytest.mark.faults, pytest.mark.integration]

Write = Callable[[KeyValue, int], Awaitable[object]]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ServiceSupervisor]:
    """A server of the test's own, which is started again when it dies."""
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]) as supervisor:
        yield supervisor


@pytest.fixture
async def bucket(server: ServiceSupervisor) -> AsyncIterator[KeyValue]:
    """A bucket on that server."""
    bus = NatsBus(server.urls["nats"])
    yield bus.bucket("TEST", project="shop")
    await bus.aclose()


@pytest.fixture
async def relay(server: ServiceSupervisor) -> AsyncIterator[Relay]:
    async with relay_to(urlsplit(server.urls["nats"]).port or 0) as relay:
        yield relay


@pytest.fixture
async def far_bucket(server: ServiceSupervisor, relay: Relay) -> AsyncIterator[KeyValue]:
    """The same bucket over a connection that breaks."""
    bus = NatsBus(at_port(server.urls["nats"], relay.port))
    yield bus.bucket("TEST", project="shop")
    await bus.aclose()


WRITES: dict[str, Write] = {
    "put": lambda bucket, _: bucket.put("a", b"2"),
    "update": lambda bucket, revision: bucket.put("a", b"2", revision=revision),
    "create": lambda bucket, _: bucket.put("new", b"2", revision=0),
    "delete": lambda bucket, revision: bucket.delete("a", revision=revision),
    "together": lambda bucket, revision: bucket.write(
        [KeyWrite(key="a", value=b"2", revision=revision), KeyWrite(key="new", value=b"2", revision=0)]
    ),
}


@pytest.mark.parametrize("loss", ["answers", "requests"])
@pytest.mark.parametrize("write", WRITES)
async def test_a_write_is_done_once_whatever_is_lost_on_the_way(
    bucket: KeyValue, far_bucket: KeyValue, relay: Relay, write: str, loss: Loss
) -> None:
    """A write whose answer was lost is there, and sent again it would conflict with itself."""
    revision = await far_bucket.put("a", b"1")
    relay.loses = loss
    await WRITES[write](far_bucket, revision)
    assert relay.loss_count == 1
    written = {"put": 1, "update": 1, "create": 1, "delete": 1, "together": 2}[write]
    assert await bucket.put("marker", b"") == revision + written + 1
    value = None if write == "delete" else b"2"
    entry = await bucket.get("new" if write == "create" else "a")
    assert (entry and entry.value) == value


async def test_a_conflict_is_one_also_when_the_connection_breaks(
    bucket: KeyValue, far_bucket: KeyValue, relay: Relay
) -> None:
    revision = await far_bucket.put("a", b"1")
    await bucket.put("a", b"theirs")
    relay.loses = "answers"
    with pytest.raises(KeyConflictError):
        await far_bucket.put("a", b"mine", revision=revision)


async def test_what_was_written_is_there_and_nothing_twice_when_the_server_is_killed(
    tmp_path: Path, bucket: KeyValue
) -> None:
    acknowledged = [await bucket.put("a", b"0", revision=0)]

    async def count_up() -> None:
        for number in range(1, 60):
            acknowledged.append(await bucket.put("a", b"%d" % number, revision=acknowledged[-1]))

    async with asyncio.TaskGroup() as group:
        group.create_task(count_up())
        for _ in range(3):
            await asyncio.sleep(0.05)
            kill_server(tmp_path)
            await asyncio.sleep(0.5)
    entry = await bucket.get("a")
    assert entry is not None
    assert entry.value == b"59"
    assert acknowledged == list(range(1, 61))


@pytest.mark.parametrize("after_kill_s", [0.0, 0.3])
async def test_who_watches_goes_on_soon_after_the_server_was_killed(
    tmp_path: Path, bucket: KeyValue, after_kill_s: float
) -> None:
    """The client's own watchers stay silent for 10 to 15 s."""
    await bucket.put("a", b"1")
    async with aclosing(bucket.watch()) as changes:
        assert (await anext(changes)).value == b"1"
        following = asyncio.ensure_future(anext(changes))
        kill_server(tmp_path)
        await asyncio.sleep(after_kill_s)
        await bucket.put("a", b"2")
        async with asyncio.timeout(4):
            change: KeyChange = await following
    assert change.value == b"2"


async def test_a_bucket_that_was_deleted_is_made_anew(server: ServiceSupervisor, bucket: KeyValue) -> None:
    await bucket.put("a", b"1")
    async with await nats.connect(server.urls["nats"]) as client:
        await client.jetstream().delete_stream("KV_TEST_shop")
    assert await bucket.get("a") is None
    await bucket.put("b", b"1", revision=0)
    assert list(await bucket.keys()) == ["b"]


async def test_who_watches_a_bucket_that_is_deleted_goes_on_with_the_new_one(
    server: ServiceSupervisor, bucket: KeyValue
) -> None:
    for key in "abc":
        await bucket.put(key, b"1")
    async with aclosing(bucket.watch()) as changes, asyncio.timeout(20):
        assert [(await anext(changes)).key for _ in "abc"] == ["a", "b", "c"]
        following = asyncio.ensure_future(anext(changes))
        async with await nats.connect(server.urls["nats"]) as client:
            await client.jetstream().delete_stream("KV_TEST_shop")
        await bucket.get("a")
        await bucket.put("d", b"2")
        assert (await following).key == "d"


async def test_a_full_disk_is_told_and_harms_nothing_that_was_written(tmp_path: Path) -> None:
    folder = tmp_path / "nats"
    folder.mkdir()
    with small_disk(folder, "6m"):
        async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]) as supervisor:
            bus = NatsBus(supervisor.urls["nats"])
            bucket = bus.bucket("TEST", project="shop")
            await bucket.put("a", b"1")
            with filled(folder), pytest.raises(BusUnavailableError, match="check AGENTIC_NATS_URL"):
                await write_much(bucket)
            kill_server(tmp_path)  # it takes nothing any more once its disk was full
            found = await bucket.get_many(["a", "b", "c"])
            assert found.keys() in ({"a"}, {"a", "b", "c"})
            await bucket.put("a", b"2")
            await bus.aclose()


async def write_much(bucket: KeyValue) -> None:
    for _ in range(20):
        await bucket.write([KeyWrite(key=key, value=os.urandom(60_000)) for key in ("a", "b", "c")])


def kill_server(home: Path) -> None:
    note = json.loads((home / "runtime.json").read_text(encoding="utf-8"))
    os.kill(note["pids"]["nats"], signal.SIGKILL)
