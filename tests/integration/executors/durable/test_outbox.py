"""Events of durable runs on their way to a real NATS server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import nats
import pytest
from sqlalchemy import update
from structlog.testing import capture_logs
from tests.databases import only_sqlite

from agentic.core.bus import Bus, BusMessage, EventBus, MemoryBus
from agentic.core.bus.envelope import from_message
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.graph import WorkflowEvent
from agentic.core.ledger.batches import read_batch
from agentic.core.services import Service, ServiceSupervisor, nats_service
from agentic.core.settings import load_settings
from agentic.core.types import RunId
from agentic.executors.celery import make_app
from agentic.executors.durable.publish.outbox import Outbox, Published
from agentic.executors.durable.publish.publishing import Courier
from agentic.executors.durable.worker.ledger_executor import LedgerExecutor
from agentic.executors.durable.worker.process import RunProcess
from agentic.mappers.tables.ledger import RunEventModel

if TYPE_CHECKING:
    from tests.conftest import Eventually
    from tests.integration.executors.durable.conftest import Shelf
    from tests.integration.executors.durable.steered import Floor

pytestmark = [pytest.mark.integration, only_sqlite, pytest.mark.requirement("NA24")]

MakeOutbox = Callable[[Bus], Outbox]


@dataclass(frozen=True)
class Post:
    """A NATS server that can be stopped and started, and a ledger with events."""

    home: Path
    service: Service
    shelf: Shelf

    def server(self) -> ServiceSupervisor:
        """Return what runs the server while it is open: always at the same port, with the same data."""
        return ServiceSupervisor(self.home, [self.service])

    @asynccontextmanager
    async def bus(self) -> AsyncIterator[NatsBus]:
        """Give a bus on the server."""
        bus = NatsBus(self.service.urls["nats"])
        yield bus
        await bus.aclose()

    @asynccontextmanager
    async def courier(self) -> AsyncIterator[Courier]:
        """Give a courier with connections of its own."""
        settings = load_settings(home=self.home, broker_url="")
        runs = RunProcess(settings, self.shelf.database, make_app(settings), ())
        async with self.bus() as bus:
            yield Courier(self.shelf.database, runs, lambda _: bus)
        runs.close()

    @asynccontextmanager
    async def courier_at_work(self) -> AsyncIterator[None]:
        """Keep a courier at work."""
        async with self.courier() as courier:
            task = asyncio.create_task(courier.keep_publishing())
            yield
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def is_empty(self) -> bool:
        """Whether everything was published."""
        return not any(unpublished_of(floor) for floor in (self.shelf.ours, self.shelf.theirs))


@pytest.fixture
def post(tmp_path: Path, shelf: Shelf) -> Post:
    return Post(tmp_path, nats_service(tmp_path), shelf)


@pytest.fixture
def make_outbox(shelf: Shelf) -> Iterator[MakeOutbox]:
    """Return a function that makes the outbox of the project ``ours``."""
    ledger_executor = LedgerExecutor(shelf.ours.store)
    yield lambda bus: Outbox(ledger_executor, "ours", bus)
    ledger_executor.close()


async def work(floor: Floor, *run_ids: str) -> None:
    """Begin runs and work them off."""
    for run_id in run_ids:
        await asyncio.to_thread(floor.submit, "adding", 1, run_id)
    await asyncio.to_thread(floor.work)


def unpublished_of(floor: Floor) -> int:
    with floor.store.transaction() as ledger:
        return len(ledger.unpublished())


def ids_of(floor: Floor, run_id: str) -> list[str]:
    """Return the ids of a run's durable events as the ledger has them."""
    return [event.id for event in events_of(floor, run_id)]


def events_of(floor: Floor, run_id: str) -> list[WorkflowEvent]:
    with floor.store.transaction() as ledger:
        return [event for batch in ledger.events(RunId(run_id)) for event in read_batch(batch)]


async def stored(bus: EventBus, project: str = "ours") -> list[WorkflowEvent]:
    """Return the events of a project that the stream holds, also what it should hold twice."""
    until = (await bus.state()).last
    found = [from_message(message) async for message in bus.read(until=until)]
    return [published.event for published in found if published.project == project]


async def test_events_reach_the_stream_as_the_ledger_has_them(post: Post) -> None:
    await work(post.shelf.ours, "one")
    await work(post.shelf.theirs, "one")
    async with post.server(), post.courier() as courier, post.bus() as bus:
        await courier.publish_all()
        assert await stored(bus) == events_of(post.shelf.ours, "one")
        assert len(await stored(bus, "theirs")) == len(ids_of(post.shelf.theirs, "one"))
        assert await courier.publish_all() == 0


async def test_a_server_that_is_away_and_comes_back_gets_each_event_once(
    post: Post, eventually: Eventually
) -> None:
    with capture_logs() as logs:
        async with post.courier_at_work():
            await work(post.shelf.ours, "one")  # a run does not wait for a bus
            await eventually(lambda: "events.waiting" in [line["event"] for line in logs])
            async with post.server():
                await eventually(post.is_empty)
                await work(post.shelf.ours, "two")
                await eventually(post.is_empty)
            await work(post.shelf.ours, "three")
            async with post.server(), post.bus() as bus:
                await eventually(post.is_empty)
                found = [event.id for event in await stored(bus)]
    expected = [one for run in ("one", "two", "three") for one in ids_of(post.shelf.ours, run)]
    assert sorted(found) == sorted(expected)
    for run in ("one", "two", "three"):
        assert [one for one in found if one.startswith(run)] == ids_of(post.shelf.ours, run)


async def deleted(post: Post) -> None:
    """Delete the stream behind everybody's back."""
    async with await nats.connect(post.service.urls["nats"]) as client:
        await client.jetstream().delete_stream("AGENTIC_EVENTS")


async def test_a_stream_that_was_deleted_is_told_everything_again(post: Post, eventually: Eventually) -> None:
    async with post.server(), post.bus() as bus, post.courier_at_work():
        await work(post.shelf.ours, "one")
        await work(post.shelf.theirs, "one")
        await eventually(post.is_empty)
        await deleted(post)
        with capture_logs() as logs:
            await work(post.shelf.ours, "two")
            await eventually(lambda: [line["event"] for line in logs].count("events.told_again") == 2)
        await eventually(post.is_empty)
        found = [event.id for event in await stored(bus)]
        assert sorted(found) == sorted([*ids_of(post.shelf.ours, "one"), *ids_of(post.shelf.ours, "two")])
        assert len(await stored(bus, "theirs")) == len(ids_of(post.shelf.theirs, "one"))


async def test_one_that_was_deleted_while_nothing_happens_is_found_after_a_while(
    post: Post, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("STREAM_LOOK_S", "_LAST_RETRY_S"):
        monkeypatch.setattr(f"agentic.executors.durable.publish.publishing.{name}", 0.2)
    async with post.server(), post.bus() as bus, post.courier_at_work():
        await work(post.shelf.ours, "one")
        await eventually(post.is_empty)
        await asyncio.sleep(0.3)
        await deleted(post)
        with capture_logs() as logs:
            await eventually(lambda: "events.told_again" in [line["event"] for line in logs])
        await eventually(post.is_empty)
        assert [event.id for event in await stored(bus)] == ids_of(post.shelf.ours, "one")


async def test_a_server_that_hangs_for_seconds_holds_up_no_run_and_gets_each_event_once(
    post: Post, eventually: Eventually
) -> None:
    async with post.server(), post.bus() as bus, post.courier_at_work():
        await work(post.shelf.ours, "before")
        await eventually(post.is_empty)
        server = json.loads((post.home / "runtime.json").read_text(encoding="utf-8"))["pids"]["nats"]
        os.kill(server, signal.SIGSTOP)
        hangs_until = time.monotonic() + 5
        for number in range(5):
            await work(post.shelf.ours, f"during {number}")
        assert time.monotonic() < hangs_until
        await asyncio.sleep(hangs_until - time.monotonic())
        os.kill(server, signal.SIGCONT)
        await eventually(post.is_empty)
        found = [event.id for event in await stored(bus)]

    runs = ["before", *(f"during {number}" for number in range(5))]
    assert sorted(found) == sorted(one for run in runs for one in ids_of(post.shelf.ours, run))


async def test_what_was_published_and_not_noted_is_not_doubled(post: Post) -> None:
    await work(post.shelf.ours, "one")
    async with post.server(), post.courier() as courier, post.bus() as bus:
        count = await courier.publish_all()
        with post.shelf.database.writing() as session:
            session.execute(update(RunEventModel).values(published_at=None))
        assert await courier.publish_all() == count
        assert [event.id for event in await stored(bus)] == ids_of(post.shelf.ours, "one")


async def test_several_publish_at_once_and_each_event_is_stored_once(
    post: Post, eventually: Eventually
) -> None:
    async with post.server(), post.courier_at_work(), post.courier_at_work(), post.bus() as bus:
        await work(post.shelf.ours, *map(str, range(5)))
        await eventually(post.is_empty)
        found = [event.id for event in await stored(bus)]
    expected = [one for run in map(str, range(5)) for one in ids_of(post.shelf.ours, run)]
    assert sorted(found) == sorted(expected)


async def test_who_publishes_what_somebody_else_published_hears_of_it(
    post: Post, make_outbox: MakeOutbox
) -> None:
    other = make_outbox(MemoryBus())

    class Meanwhile(MemoryBus):
        async def publish(self, messages: Sequence[BusMessage]) -> None:
            await other.publish_some()

    await work(post.shelf.ours, "one")

    assert (await make_outbox(Meanwhile()).publish_some()).is_shared
    assert await other.publish_some() == Published(0)


async def test_an_event_that_is_too_large_is_told_without_its_data(
    post: Post, make_outbox: MakeOutbox
) -> None:
    await work(post.shelf.ours, "one")
    largest = max(len(event.to_json()) for event in events_of(post.shelf.ours, "one"))
    bus = MemoryBus(max_message_bytes=largest + 512)
    with capture_logs() as logs:
        await make_outbox(bus).publish_all()
    shrunk = [event for event in await stored(bus) if "dropped_bytes" in event.data]
    assert [event.id for event in await stored(bus)] == ids_of(post.shelf.ours, "one")
    assert [line["event_id"] for line in logs if line["event"] == "event.shrunk"] == [e.id for e in shrunk]
    assert shrunk


async def test_an_event_that_is_too_large_even_so_does_not_hold_up_the_others(
    post: Post, make_outbox: MakeOutbox
) -> None:
    await work(post.shelf.ours, "one")
    with capture_logs() as logs:
        await make_outbox(MemoryBus(max_message_bytes=10)).publish_all()
    assert post.is_empty()
    dropped = [line["event_id"] for line in logs if line["event"] == "event.dropped"]
    assert dropped == ids_of(post.shelf.ours, "one")


async def test_what_cannot_be_read_does_not_hold_up_the_others(post: Post, make_outbox: MakeOutbox) -> None:
    await work(post.shelf.ours, "one", "two")
    with post.shelf.database.writing() as session:
        session.execute(update(RunEventModel).where(RunEventModel.run_id == "one").values(text="{}"))
    bus = MemoryBus()
    with capture_logs() as logs:
        await make_outbox(bus).publish_all()
    assert post.is_empty()
    assert [event.id for event in await stored(bus)] == ids_of(post.shelf.ours, "two")
    assert {line["run_id"] for line in logs} == {"one"}
