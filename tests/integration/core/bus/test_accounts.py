"""Projects with accounts of their own on a server: what one has, no other reaches."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import nats
import nats.errors
import pytest
from nats.js.errors import NotFoundError
from pydantic import ValidationError

from agentic.core.bus import (
    Bus,
    BusAccessError,
    BusDeniedError,
    BusUnavailableError,
    NobodyListensError,
    live_state,
    read_events,
    request,
    token,
)
from agentic.core.bus.envelope import to_message
from agentic.core.bus.listening import Message
from agentic.core.bus.nats.access import NatsAccess
from agentic.core.bus.nats.account_files import AccountFolder
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.bus.opening import open_bus
from agentic.core.bus.questions import _Answer
from agentic.core.graph import EventKind, WorkflowEvent
from agentic.core.services import ServiceSupervisor, nats_service
from agentic.core.settings import NATS_ACCOUNTS, Settings, load_settings
from agentic.core.types import RunId

if TYPE_CHECKING:
    from nats.aio.client import Client
    from tests.integration.core.bus.conftest import StartServer

pytestmark = [pytest.mark.integration, pytest.mark.requirement("NA23")]

EVENT = WorkflowEvent(kind=EventKind.RUN_COMPLETED, run_id=RunId("r1"), time=1.0, sequence=1)
STRANGE = "ours & théirs/2"


@pytest.fixture
async def settings(tmp_path: Path) -> AsyncIterator[Settings]:
    """Settings of a home whose embedded server has an account for each of three projects."""
    AccountFolder(tmp_path / NATS_ACCOUNTS).make(["shop", "news", STRANGE])
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]):
        yield load_settings(home=tmp_path, nats_url="")


@pytest.fixture
async def shop(settings: Settings) -> AsyncIterator[Bus]:
    async with open_bus(settings, "shop") as bus:
        yield bus


@pytest.fixture
async def news(settings: Settings) -> AsyncIterator[Bus]:
    async with open_bus(settings, "news") as bus:
        yield bus


async def count(bus: Bus) -> int:
    """Return how many events a project sees."""
    async with aclosing(read_events(bus, until=(await bus.state()).last)) as events:
        return len([event async for event in events])


async def test_a_project_reads_no_events_of_another(shop: Bus, news: Bus) -> None:
    await shop.publish([to_message(EVENT, "shop")])

    assert (await count(shop), await count(news)) == (1, 0)


async def test_a_project_cannot_publish_events_as_another(shop: Bus, news: Bus) -> None:
    """It may say that it is the other, but only to itself."""
    await shop.publish([to_message(EVENT, "news")])

    assert (await count(shop), await count(news)) == (1, 0)


async def test_a_project_neither_reads_nor_writes_nor_sees_the_keys_of_another(shop: Bus, news: Bus) -> None:
    key = f"workflow.{token('shop', 'r1')}.state"
    await live_state(shop, "shop").put(key, b"1")
    stolen = live_state(news, "shop")  # a bucket of that name, in the account of news

    assert await stolen.get(key) is None
    assert await stolen.keys() == {}
    await stolen.put(key, b"2")
    entry = await live_state(shop, "shop").get(key)
    assert entry is not None
    assert entry.value == b"1"


async def test_a_project_hears_and_answers_nothing_that_another_asks(shop: Bus, news: Bus) -> None:
    async with news.listen(">") as listener:
        with pytest.raises(NobodyListensError):
            await request(shop, "agentic.request.x", b"?", timeout_s=2)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await anext(aiter(listener))


async def test_a_project_of_any_name_has_an_account(settings: Settings) -> None:
    async with open_bus(settings, STRANGE) as bus:
        await bus.publish([to_message(EVENT, STRANGE)])
        assert await count(bus) == 1


async def test_there_is_room_for_the_streams_of_many_projects(tmp_path: Path) -> None:
    names = [f"p{number}" for number in range(9)]
    AccountFolder(tmp_path / NATS_ACCOUNTS).make(names)
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]):
        for name in names:
            async with open_bus(load_settings(home=tmp_path, nats_url=""), name) as bus:
                assert (await bus.state()).count == (await bus.audit.state()).count == 0


async def test_a_server_without_room_for_streams_says_so(tmp_path: Path, start_server: StartServer) -> None:
    url = await start_server("jetstream { max_file: 1000000 }")
    bus = NatsBus(url)
    with pytest.raises(BusUnavailableError, match="no space for another stream; give each project 2 GiB"):
        await bus.state()
    await bus.aclose()


async def test_without_a_key_nobody_gets_in(settings: Settings) -> None:
    assert settings.nats is not None
    bus = NatsBus(settings.nats)
    with pytest.raises(BusUnavailableError, match="Authorization Violation"):
        await bus.state()
    await bus.aclose()


async def test_a_project_without_an_account_is_told_how_to_get_one(settings: Settings) -> None:
    async with open_bus(settings, "new") as bus:
        with pytest.raises(
            BusAccessError,
            match=r"nkey seed .*new\.nk does not exist; create it with `agentic nats accounts`",
        ):
            await bus.state()


async def test_an_observer_reads_follows_and_writes_nothing(settings: Settings, shop: Bus) -> None:
    await shop.publish([to_message(EVENT, "shop")])
    await live_state(shop, "shop").put("a", b"1")
    _, seed = AccountFolder(settings.home / NATS_ACCOUNTS).seeds("shop")
    assert settings.nats is not None
    observer = NatsBus(settings.nats, NatsAccess(seed_file=seed))
    try:
        assert await count(observer) == 1
        async with aclosing(live_state(observer, "shop").watch()) as changes:
            assert (await anext(changes)).value == b"1"
        with pytest.raises(BusDeniedError, match=r"permissions violation .*agentic\.workflow"):
            await observer.publish([to_message(EVENT, "shop")])
        with pytest.raises(BusDeniedError, match=r"permissions violation .*kv\.agentic_state_shop"):
            await live_state(observer, "shop").put("a", b"2")
    finally:
        await observer.aclose()
    assert await count(shop) == 1


async def test_nobody_of_a_project_can_delete_its_audit_trail(settings: Settings, shop: Bus) -> None:
    await shop.audit.state()
    seed, _ = AccountFolder(settings.home / NATS_ACCOUNTS).seeds("shop")
    assert settings.nats is not None
    client: Client = await nats.connect(settings.nats, nkeys_seed=str(seed), error_cb=_ignore)
    with pytest.raises(nats.errors.TimeoutError):
        await client.jetstream(timeout=0.5).delete_stream("AGENTIC_AUDIT")
    assert (await client.jetstream().stream_info("AGENTIC_AUDIT")).config.deny_purge
    with pytest.raises(NotFoundError):
        await client.jetstream().stream_info("AGENTIC_OTHER")
    await client.close()


async def _ignore(error: Exception) -> None:
    del error


def test_keys_are_for_their_owner_only_and_stay_when_made_again(tmp_path: Path) -> None:
    folder = AccountFolder(tmp_path / "keys")
    folder.make(["shop"])
    before = {file: file.read_text() for file in folder.seeds("shop")}
    folder.make(["news", "shop"])

    assert {file: file.read_text() for file in folder.seeds("shop")} == before
    folder.seeds("shop")[1].unlink()
    folder.make(["news"])
    assert [file.read_text() == before[file] for file in folder.seeds("shop")] == [True, False]
    assert folder.projects() == ["news", "shop"]
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.path.iterdir()}
    assert modes.pop("accounts.conf") == 0o644
    assert set(modes.values()) == {0o600}
    assert not any(seed.strip() in folder.config.read_text() for seed in before.values())


@pytest.mark.parametrize("content", ["", "hello", "UCLB2IWSJ5KU53TIE7PAT6PAZLENWTXE4TIDRMVWYHALXJHIBFZDLVBK"])
def test_what_is_no_seed_is_named_by_its_file_and_never_shown(tmp_path: Path, content: str) -> None:
    file = tmp_path / "shop.nk"
    file.write_text(content)

    with pytest.raises(BusAccessError, match=r"shop\.nk has no nkey seed") as caught:
        NatsAccess(seed_file=file).options()

    assert not content or content not in str(caught.value)


async def test_a_project_that_is_called_like_an_observer_has_a_key_of_its_own(tmp_path: Path) -> None:
    folder = AccountFolder(tmp_path / NATS_ACCOUNTS)
    folder.make(["shop", "shop.observer", "shop.observer.observer", "shop%2Eobserver"])
    assert folder.projects() == ["shop", "shop%2Eobserver", "shop.observer", "shop.observer.observer"]
    keys = [file.read_text() for project in folder.projects() for file in folder.seeds(project)]
    assert len(set(keys)) == 8
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]):
        settings = load_settings(home=tmp_path, nats_url="")
        async with open_bus(settings, "shop") as shop, open_bus(settings, "shop.observer") as other:
            await shop.publish([to_message(EVENT, "shop")])
            assert (await count(shop), await count(other)) == (1, 0)


async def test_what_an_observer_has_the_server_copy_is_no_event_and_no_answer(
    settings: Settings, shop: Bus
) -> None:
    await shop.publish([to_message(EVENT, "shop")])
    _, seed = AccountFolder(settings.home / NATS_ACCOUNTS).seeds("shop")
    assert settings.nats is not None
    client: Client = await nats.connect(settings.nats, nkeys_seed=str(seed), error_cb=_ignore)
    for api in ("STREAM.MSG.GET", "DIRECT.GET"):
        copy = await copied(client, shop, f"$JS.API.{api}.AGENTIC_EVENTS")
        with pytest.raises(ValidationError):
            _Answer.model_validate_json(copy.payload)
    await client.close()
    assert await count(shop) == 1


async def copied(client: Client, shop: Bus, request: str) -> Message:
    """Have the server copy an event to a subject of events, and to an inbox; return what comes there."""
    inbox = shop.inbox()
    async with asyncio.timeout(20), shop.listen(inbox) as answers:
        while True:  # for a moment, a new stream does not answer every request
            for target in ("agentic.workflow.shop/forged.completed", inbox):
                await client.publish(request, b'{"seq": 1}', reply=target)
            with suppress(TimeoutError):
                async with asyncio.timeout(1):
                    return await answers.next()
