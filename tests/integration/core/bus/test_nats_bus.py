from __future__ import annotations

import asyncio
import time
from contextlib import aclosing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import nats
import pytest
from nats.js.api import DiscardPolicy, PersistMode
from structlog.testing import capture_logs

from agentic.core.bus import (
    BusMessage,
    BusUnavailableError,
    EventPublisher,
    MessageTooLargeError,
    open_bus,
    read_events,
)
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.graph import EventKind, WorkflowEvent
from agentic.core.services import ServiceSupervisor, free_port, nats_service
from agentic.core.settings import load_settings
from agentic.core.types import RunId

if TYPE_CHECKING:
    from tests.integration.core.bus.conftest import StartServer

pytestmark = pytest.mark.integration

STREAM = "AGENTIC_EVENTS"
NO_BATCHES = """\
jetstream { max_mem: 1048576, max_file: 2147483648 }
authorization {
  users = [
    {user: robot, password: hunter2, permissions: {publish: ["$JS.API.>"]}}
  ]
}
"""


def numbered(*numbers: int) -> list[BusMessage]:
    subject = "agentic.edge.shop/r1/a.activated"
    return [
        BusMessage(subject=subject, payload=b"%d" % number, message_id=f"m{number}") for number in numbers
    ]


def an_event(sequence: int, kind: EventKind = EventKind.EXECUTOR_COMPLETED) -> WorkflowEvent:
    return WorkflowEvent(kind=kind, run_id=RunId("r1"), time=time.time(), sequence=sequence, path="fetch")


@pytest.mark.requirement("NA20")
async def test_all_kinds_of_events_are_kept_in_one_stream(nats_url: str) -> None:
    async with open_bus(load_settings(nats_url=nats_url)) as bus:
        async with EventPublisher(bus, "shop") as publisher:
            for sequence, kind in enumerate(EventKind, start=1):
                await publisher.publish(an_event(sequence, kind))
        stored = [found.event.kind async for found in read_events(bus, until=len(EventKind))]
    assert stored == list(EventKind)
    assert publisher.failed == 0
    async with await nats.connect(nats_url) as client:
        info = await client.jetstream().stream_info(STREAM)
    assert info.state.messages == len(EventKind)


async def test_the_stream_is_bounded_and_made_for_batches(nats_url: str, nats_bus: NatsBus) -> None:
    await nats_bus.state()
    async with await nats.connect(nats_url) as client:
        config = (await client.jetstream().stream_info(STREAM)).config
    assert (config.max_age, config.max_bytes, config.duplicate_window) == (7 * 86_400, 1024**3, 600)
    assert (config.storage, config.compression, config.allow_atomic) == ("file", "s2", True)
    assert set(config.subjects or ()) == {
        f"agentic.{noun}.>" for noun in ("workflow", "executor", "edge", "agent", "orchestrator", "validator")
    }


async def test_what_an_operator_has_set_is_kept_and_what_is_missing_is_added(nats_url: str) -> None:
    async with await nats.connect(nats_url) as client:
        subjects = ["agentic.workflow.>", "agentic.extra.>"]
        await client.jetstream().add_stream(name=STREAM, subjects=subjects, max_age=3600)
        bus = NatsBus(nats_url)
        await bus.publish(numbered(1, 2))
        await bus.aclose()
        found = await client.jetstream().stream_info(STREAM)
    assert found.state.messages == 2
    assert found.config.max_age == 3600
    assert {"agentic.extra.>", "agentic.edge.>"} <= set(found.config.subjects or ())


async def test_a_server_that_is_not_there_is_reported_soon_and_clearly() -> None:
    bus = NatsBus(f"nats://robot:hunter2@127.0.0.1:{free_port()}")
    async with asyncio.timeout(5):
        with pytest.raises(BusUnavailableError, match=r"127\.0\.0\.1.*agentic up") as caught:
            await bus.state()
    assert "hunter2" not in str(caught.value)
    await bus.aclose()


async def test_a_wrong_address_is_reported_like_a_server_that_is_not_there() -> None:
    for url in ("nats://", "nats://127.0.0.1:notaport", "127.0.0.1:1", "http://127.0.0.1:1"):
        bus = NatsBus(url)
        with pytest.raises(BusUnavailableError):
            await bus.publish(numbered(1))


async def test_a_server_without_jetstream_is_named_as_the_reason(start_server: StartServer) -> None:
    bus = NatsBus(await start_server("max_payload: 1048576"))
    with pytest.raises(BusUnavailableError, match=r"(?i)jetstream"):
        await bus.publish(numbered(1))
    await bus.aclose()


async def test_a_server_that_is_too_old_is_told_with_the_version_it_needs(
    nats_bus: NatsBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No package has an older server that starts here, so this one is to be too old."""
    monkeypatch.setattr("agentic.core.bus.nats.link.MIN_API_LEVEL", 1_000)

    with pytest.raises(BusUnavailableError, match=r"it runs version 2\.\d+, but 2\.12 or newer is needed"):
        await nats_bus.state()


async def test_a_permission_that_is_missing_is_named_as_the_reason(start_server: StartServer) -> None:
    url = await start_server(NO_BATCHES)
    bus = NatsBus(url.replace("//", "//robot:hunter2@"))
    with pytest.raises(BusUnavailableError, match=r"(?i)permissions violation.*agentic.edge") as caught:
        await bus.publish(numbered(1))
    assert "hunter2" not in str(caught.value)
    await bus.aclose()


async def test_a_wrong_password_is_named_as_the_reason(start_server: StartServer) -> None:
    url = await start_server(NO_BATCHES)
    bus = NatsBus(url.replace("//", "//robot:wrong@"))
    with pytest.raises(BusUnavailableError, match=r"(?i)authorization"):
        await bus.publish(numbered(1))
    await bus.aclose()


async def test_one_of_several_servers_is_enough(nats_url: str) -> None:
    bus = NatsBus(f"nats://127.0.0.1:{free_port()}, {nats_url}")
    await bus.publish(numbered(1))
    assert (await bus.state()).count == 1
    await bus.aclose()


async def test_a_publisher_without_a_server_ends_in_time_and_counts(caplog: pytest.LogCaptureFixture) -> None:
    bus = NatsBus(f"nats://127.0.0.1:{free_port()}")
    publisher = EventPublisher(bus, "shop")
    with capture_logs() as logs:
        await publisher.publish(an_event(1))
        async with asyncio.timeout(3):
            await publisher.close(timeout_s=0.5)
    assert publisher.failed == 1
    assert [entry["event"] for entry in logs if entry["log_level"] == "warning"] == [
        "events.waiting",
        "events.lost",
    ]
    assert not caplog.records
    await bus.aclose()


async def test_the_largest_message_that_is_let_through_is_stored(nats_bus: NatsBus) -> None:
    # The server counts headers too, and would close the connection without an answer.
    largest = 0
    for size in range(8 * 1024**2 - 700, 8 * 1024**2, 20):
        message = replace(numbered(size)[0], payload=b"x" * size)
        with suppress(MessageTooLargeError):
            await nats_bus.publish([message])
            largest = size
    assert largest > 8 * 1024**2 - 600
    await nats_bus.publish(numbered(1))


async def test_a_closed_bus_makes_no_new_connection(nats_url: str) -> None:
    bus = NatsBus(nats_url)
    await bus.publish(numbered(1))
    await bus.aclose()
    with pytest.raises(BusUnavailableError, match="closed"):
        await bus.publish(numbered(2))


async def test_closing_does_not_wait_for_a_server_that_is_gone(tmp_path: Path) -> None:
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]) as supervisor:
        bus = NatsBus(supervisor.urls["nats"])
        await bus.publish(numbered(1))
    with pytest.raises(BusUnavailableError):
        await bus.publish(numbered(2))
    async with asyncio.timeout(2):
        await bus.aclose()


async def test_a_reader_that_stops_early_leaves_no_consumer_behind(nats_url: str, nats_bus: NatsBus) -> None:
    await nats_bus.publish(numbered(1, 2, 3))
    async with aclosing(nats_bus.read()) as messages:
        async for _ in messages:
            break
    async with asyncio.timeout(20), await nats.connect(nats_url) as client:
        while await client.jetstream().consumers_info(STREAM):  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.1)


async def test_reader_that_is_cancelled_just_when_a_message_comes_ends(nats_bus: NatsBus) -> None:
    # asyncio.wait_for of Python 3.11, which the client waits with, then returns the message and the
    # cancellation is lost.
    started: asyncio.Queue[int] = asyncio.Queue()

    async def read() -> None:
        async for message in nats_bus.read():
            started.put_nowait(message.sequence)

    await nats_bus.publish(numbered(1))
    readers = [asyncio.create_task(read()) for _ in range(50)]
    for _ in readers:
        await started.get()
    publishing = asyncio.create_task(nats_bus.publish(numbered(*range(2, 200))))
    for reader in readers:
        await asyncio.sleep(0.001)
        reader.cancel()
    await publishing
    _, unfinished = await asyncio.wait(readers, timeout=3)
    for reader in unfinished:
        reader.cancel()
    assert not unfinished


@pytest.mark.requirement("NA20", "NA21", "NA22")
async def test_the_three_streams_are_kept_as_what_is_in_them_needs(nats_url: str, nats_bus: NatsBus) -> None:
    for stream in (nats_bus, nats_bus.audit, nats_bus.metrics):
        await stream.state()
    async with await nats.connect(nats_url) as client:
        found = {
            name: (await client.jetstream().stream_info(f"AGENTIC_{name}")).config
            for name in ("EVENTS", "AUDIT", "METRICS")
        }

    assert {name: config.subjects for name, config in found.items() if name != "EVENTS"} == {
        "AUDIT": ["agentic.audit.>"],
        "METRICS": ["agentic.metrics.>"],
    }
    day_s = 86_400
    assert [found[name].max_age for name in ("EVENTS", "AUDIT", "METRICS")] == [7 * day_s, 0, day_s]
    assert (found["AUDIT"].discard, found["AUDIT"].deny_delete, found["AUDIT"].deny_purge) == (
        DiscardPolicy.NEW,
        True,
        True,
    )
    assert found["METRICS"].max_msgs_per_subject == 1_000
    assert found["METRICS"].persist_mode == PersistMode.ASYNC


async def test_keys_are_read_from_any_copy_of_their_stream_and_not_asked_of_its_leader(
    start_server: StartServer,
) -> None:
    """Direct gets, which the client's own buckets do not use unless they are told to."""
    url = await start_server(
        "jetstream {}\nauthorization { users: [{user: u, password: p, permissions: {publish: {deny: "
        '["$JS.API.STREAM.MSG.GET.>"]}}}] }'
    )
    bus = NatsBus(url.replace("nats://", "nats://u:p@"))
    bucket = bus.bucket("TEST", project="shop")
    await bucket.put("a", b"1")

    entry = await bucket.get("a")
    assert entry is not None
    assert entry.value == b"1"
    assert list(await bucket.get_many(["a", "b"])) == ["a"]
    await bus.aclose()


async def test_a_send_that_is_given_up_leaves_the_connection_listening(nats_bus: NatsBus) -> None:
    await nats_bus.state()
    for turns in range(8):
        sending = asyncio.create_task(nats_bus.send("agentic.test", b"one"))
        for _ in range(turns):
            await asyncio.sleep(0)
        sending.cancel()
        with suppress(asyncio.CancelledError):
            await sending
        async with asyncio.timeout(2):
            await nats_bus.state()


async def test_a_connection_that_cannot_read_an_answer_is_opened_again() -> None:
    """A number with more digits than Python converts is an error that the client does not foresee."""
    connections: list[asyncio.Task[None]] = []
    is_back = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'INFO {"server_id":"x","version":"2.12.0","max_payload":1000,"headers":true}\r\n')
        while line := await reader.readline():
            if line.startswith(b"PING"):
                writer.write(b"PONG\r\n")
            elif line.startswith(b"PUB") and len(connections) == 1:
                writer.write(b"MSG a 1 " + b"9" * 5_000 + b"\r\n")
            elif line.startswith(b"PUB"):
                is_back.set()
        writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(asyncio.create_task(answer(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server:
        url = f"nats://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with capture_logs() as logs:
            async with open_bus(load_settings(nats_url=url)) as bus, asyncio.timeout(10):
                while not is_back.is_set():
                    with suppress(BusUnavailableError):
                        await bus.send("a", b"one")
                    await asyncio.sleep(0.01)
        await asyncio.gather(*connections)
    assert len(connections) == 2
    assert "bus.disconnected" in [entry["event"] for entry in logs]
