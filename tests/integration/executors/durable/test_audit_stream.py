"""Decisions on their way to ``AGENTIC_AUDIT`` on a real NATS server."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import nats
import pytest
from nats.js.errors import APIError
from sqlalchemy import update
from structlog.testing import capture_logs
from tests.databases import only_sqlite

from agentic.core.audit import DecisionKind, decided, decisions_of
from agentic.core.bus import BusMessage, EventBus, StreamFullError
from agentic.core.bus.decisions import PublishedDecision, decision_message, published_decision
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.bus.nats.streams import AUDIT_STREAM
from agentic.core.ledger.batches import read_batch
from agentic.core.services import ServiceSupervisor, nats_service
from agentic.core.settings import load_settings
from agentic.core.types import RunId
from agentic.executors.celery import make_app
from agentic.executors.durable.publish import auditing
from agentic.executors.durable.publish.publishing import Courier
from agentic.executors.durable.worker.process import RunProcess
from agentic.mappers.tables.audit import AuditModel
from agentic.mappers.tables.ledger import RunEventModel

if TYPE_CHECKING:
    from tests.conftest import Eventually
    from tests.integration.executors.durable.conftest import Office, Shelf, Start
    from tests.integration.executors.durable.steered import Floor

pytestmark = [
    pytest.mark.integration,
    only_sqlite,
    pytest.mark.requirement("NA21"),
    pytest.mark.requirement("LG15"),
]

SMALL_BYTES = 4096


@dataclass(frozen=True)
class Post:
    """A ledger, and a NATS server that is running."""

    home: Path
    url: str
    shelf: Shelf

    @asynccontextmanager
    async def courier(self, bus: NatsBus) -> AsyncIterator[Courier]:
        """Give a courier to that bus."""
        settings = load_settings(home=self.home, broker_url="")
        runs = RunProcess(settings, self.shelf.database, make_app(settings), ())
        yield Courier(self.shelf.database, runs, lambda _: bus)
        runs.close()


@pytest.fixture
async def post(tmp_path: Path, shelf: Shelf) -> AsyncIterator[Post]:
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]) as supervisor:
        yield Post(tmp_path, supervisor.urls["nats"], shelf)


@pytest.fixture
async def bus(post: Post) -> AsyncIterator[NatsBus]:
    found = NatsBus(post.url)
    yield found
    await found.aclose()


async def work(floor: Floor, *run_ids: str) -> None:
    """Begin runs that decide something, and work them off; then ask one of them to end, in vain or not."""
    for run_id in run_ids:
        await asyncio.to_thread(floor.submit, "choosing", 5, run_id)
    await asyncio.to_thread(floor.work)


def ask_to_end(floor: Floor, run_id: str) -> str:
    """Write down a decision that no event tells of; return its id."""
    decision = decided(DecisionKind.CANCEL_REQUESTED, run_id, "the run is to end", who="anna")
    with floor.store.transaction() as ledger:
        ledger.add_decisions([decision])
    return decision.id


def decided_in(floor: Floor, run_id: str) -> list[str]:
    """Return the ids of what a run decided."""
    with floor.store.transaction() as ledger:
        events = [event for batch in ledger.events(RunId(run_id)) for event in read_batch(batch)]
    return [decision.id for decision in decisions_of(events)]


async def stored(bus: EventBus, project: str = "ours") -> Sequence[PublishedDecision]:
    """Return the decisions of a project that the stream holds, also what it should hold twice."""
    until = (await bus.state()).last
    found = [published_decision(message) async for message in bus.read(until=until)]
    return [published for published in found if published.project == project]


async def ids(bus: EventBus) -> list[str]:
    return [published.decision.id for published in await stored(bus)]


@pytest.mark.requirement("OR09")
async def test_decisions_of_runs_and_about_runs_are_stored_once_each(post: Post, bus: NatsBus) -> None:
    await work(post.shelf.ours, "one")
    asked = ask_to_end(post.shelf.ours, "one")
    async with post.courier(bus) as courier:
        await courier.publish_all()
        found = await stored(bus.audit)
        made = [one for one in found if one.decision.kind is not DecisionKind.PROJECT_CREATED]
        assert [one.decision.id for one in made] == [asked, *decided_in(post.shelf.ours, "one")]
        assert await courier.publish_all() == 0
    messages = [message async for message in bus.audit.read(until=(await bus.audit.state()).last)]
    assert "agentic.audit.ours.route.taken" in [message.subject for message in messages]
    assert not any(b"geheim" in message.payload for message in messages)  # of the URL in an error
    assert {one.decision.who for one in made} == {"anna", "engine"}


async def test_what_was_stored_and_not_noted_is_not_doubled(post: Post, bus: NatsBus) -> None:
    await work(post.shelf.ours, "one")
    ask_to_end(post.shelf.ours, "one")
    async with post.courier(bus) as courier:
        await courier.publish_all()
        before = await ids(bus.audit)
        with post.shelf.database.writing() as session:
            session.execute(update(RunEventModel).values(published_at=None))
            session.execute(update(AuditModel).values(published_at=None))
        await courier.publish_all()
    assert await ids(bus.audit) == before


async def test_nothing_can_be_taken_out_of_the_stream(post: Post, bus: NatsBus) -> None:
    await bus.audit.publish([decision_message(decided(DecisionKind.RUN_PAUSED, "one", "rests"), "ours")])
    client = await nats.connect(post.url)
    try:
        for refused in (
            client.jetstream().delete_msg(AUDIT_STREAM, 1),
            client.jetstream().purge_stream(AUDIT_STREAM),
        ):
            with pytest.raises(APIError):
                await refused
        config = (await client.jetstream().stream_info(AUDIT_STREAM)).config
        with pytest.raises(APIError, match="can not cancel deny"):
            await client.jetstream().update_stream(config.evolve(deny_delete=False, deny_purge=False))
    finally:
        await client.close()
    assert (await bus.audit.state()).count == 1
    assert not config.max_age


async def make_small(url: str) -> None:
    """Make the stream take next to nothing, as its operator may."""
    client = await nats.connect(url)
    config = (await client.jetstream().stream_info(AUDIT_STREAM)).config
    await client.jetstream().update_stream(config.evolve(max_bytes=SMALL_BYTES))
    await client.close()


async def make_large(url: str) -> None:
    client = await nats.connect(url)
    config = (await client.jetstream().stream_info(AUDIT_STREAM)).config
    await client.jetstream().update_stream(config.evolve(max_bytes=-1))
    await client.close()


async def test_a_stream_that_is_full_holds_up_no_event_and_loses_no_decision(
    post: Post, bus: NatsBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditing, "RETRY_S", 0.0)
    async with post.courier(bus) as courier:
        await courier.publish_all()
        await make_small(post.url)
        names = [f"run-{number}" for number in range(10)]
        await work(post.shelf.ours, *names)
        with capture_logs() as logs:
            assert await courier.publish_all() > 0
            assert await courier.publish_all() == 0  # no event waits
            await courier.publish_some()
        said = [line for line in logs if line["event"] == "decisions.waiting" and line["project"] == "ours"]
        assert len(said) == 1
        assert "AGENTIC_AUDIT is full" in said[0]["reason"]

        await make_large(post.url)
        await courier.publish_all()
        found = await ids(bus.audit)
    expected = [name for run_id in names for name in decided_in(post.shelf.ours, run_id)]
    assert sorted(found) == sorted({*found, *expected})


async def test_one_message_too_many_is_said_to_be_so(post: Post, bus: NatsBus) -> None:
    def messages(count: int) -> list[BusMessage]:
        return [
            decision_message(decided(DecisionKind.RUN_PAUSED, "one", "x" * 400), "ours") for _ in range(count)
        ]

    await bus.audit.publish(messages(1))
    await make_small(post.url)
    for count in (50, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1):
        with suppress(StreamFullError):
            await bus.audit.publish(messages(count))
    for count in (1, 50):
        with pytest.raises(StreamFullError, match="raise its max_bytes"):
            await bus.audit.publish(messages(count))
    assert 1 <= (await bus.audit.state()).count < 12


async def test_a_bus_that_is_away_loses_nothing(post: Post, tmp_path: Path) -> None:
    await work(post.shelf.ours, "one")
    asked = ask_to_end(post.shelf.ours, "one")
    away = NatsBus("nats://127.0.0.1:1")
    async with post.courier(away) as courier:
        with pytest.raises(ConnectionError):
            await courier.publish_all()
    await away.aclose()
    bus = NatsBus(post.url)
    async with post.courier(bus) as courier:
        await courier.publish_all()
        assert {asked, *decided_in(post.shelf.ours, "one")} <= set(await ids(bus.audit))
    await bus.aclose()


async def test_killed_between_commit_and_publish_and_after_it_each_decision_is_stored_once(
    office: Office, start: Start, post: Post, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    monkeypatch.setenv("AGENTIC_NATS_URL", post.url)
    names = [f"run-{number}" for number in range(30)]
    for name in names:
        await asyncio.to_thread(office.floor.submit, "choosing", 5, name)
    await asyncio.to_thread(office.floor.work, 200)
    bus = NatsBus(post.url)
    for _ in range(3):  # killed while it starts, connects, publishes, notes: wherever it is
        process = start()
        with suppress(TimeoutError):
            async with asyncio.timeout(6):
                before = (await bus.audit.state()).count
                while (await bus.audit.state()).count == before:  # noqa: ASYNC110 - another process fills it
                    await asyncio.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        with office.database.writing() as session:  # as if it had died before it noted any of it
            session.execute(update(RunEventModel).values(published_at=None))
            session.execute(update(AuditModel).values(published_at=None))
        if (await bus.audit.state()).count > 30:
            break
    start()

    def waiting() -> int:
        with office.floor.store.transaction() as ledger:
            return len(ledger.unpublished()) + len(ledger.decisions(unpublished=True))

    await eventually(lambda: waiting() == 0)
    found = [one.decision.id for one in await stored(bus.audit, "default")]
    await bus.aclose()
    expected = [name for run_id in names for name in decided_in(office.floor, run_id)]
    assert len(found) == len(set(found))
    assert set(expected) <= set(found)
