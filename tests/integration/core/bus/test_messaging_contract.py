"""What every bus promises of messages that nobody keeps, in memory and over NATS."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from tests.integration.core.bus.conftest import StartServer
from tests.relays import Relay, at_port, relay_to

from agentic.core.bus import (
    AnswerRefusedError,
    Bus,
    BusError,
    Listener,
    MemoryBus,
    Message,
    MessageTooLargeError,
    NoAnswerError,
    NobodyListensError,
    OpenQuestion,
    Question,
    ask,
    open_questions,
    request,
)
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.types import JSONValue

pytestmark = [pytest.mark.integration, pytest.mark.requirement("NA26", "NA07", "LG16")]


@pytest.fixture(params=["memory", "nats"])
def bus(request: pytest.FixtureRequest) -> Bus:
    if request.param == "memory":
        return MemoryBus()
    found: Bus = request.getfixturevalue("nats_bus")
    return found


async def following(listener: Listener) -> Message:
    async with asyncio.timeout(10):
        return await listener.next()


async def test_everybody_who_listens_hears_a_message(bus: Bus) -> None:
    async with bus.listen("shop.orders.*") as one, bus.listen("shop.>") as two, bus.listen("other") as three:
        await bus.send("shop.orders.new", b"1")
        await bus.send("shop.orders.new.large", b"2")
        await bus.send("other", b"3")
        assert [await following(one), await following(two), await following(two)] == [
            Message(subject="shop.orders.new", payload=b"1"),
            Message(subject="shop.orders.new", payload=b"1"),
            Message(subject="shop.orders.new.large", payload=b"2"),
        ]
        assert (await following(three)).payload == b"3"


async def test_listeners_of_a_group_share_the_messages_and_others_hear_them_all(bus: Bus) -> None:
    async with (
        bus.listen("work", group="team") as one,
        bus.listen("work", group="team") as two,
        bus.listen("work", group="others") as three,
        bus.listen("work") as four,
    ):
        for number in range(40):
            await bus.send("work", b"%d" % number)
        sent = [b"%d" % number for number in range(40)]
        for whole in (three, four):
            assert [(await following(whole)).payload for _ in sent] == sent
        shared = [[message.payload for message in listener.take_rest()] for listener in (one, two)]
        assert all(shared)
        assert sorted(shared[0] + shared[1]) == sorted(sent)


async def test_who_begins_later_or_has_ended_hears_nothing(bus: Bus) -> None:
    async with bus.listen("a"):
        pass
    await bus.send("a", b"1")
    async with bus.listen("a") as listener:
        await bus.send("a", b"2")
        assert (await following(listener)).payload == b"2"


async def test_a_listener_whose_wait_was_cancelled_loses_nothing(bus: Bus) -> None:
    async with bus.listen("a") as listener:
        with suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                await listener.next()
        for number in range(100):
            await bus.send("a", b"%d" % number)
        assert [int((await following(listener)).payload) for _ in range(100)] == list(range(100))


async def test_a_request_gets_the_first_answer(bus: Bus) -> None:
    async def answer(word: bytes, delay_s: float) -> None:
        async with bus.listen("what") as asked:
            ready.release()
            message = await asked.next()
            await asyncio.sleep(delay_s)
            await bus.send(message.reply, word + message.payload)

    ready = asyncio.Semaphore(0)
    async with asyncio.TaskGroup() as group:
        group.create_task(answer(b"late ", 0.5))
        group.create_task(answer(b"quick ", 0.0))
        for _ in range(2):
            await ready.acquire()
        assert await request(bus, "what", b"x") == b"quick x"


async def test_a_request_that_nobody_would_answer_fails_at_once(bus: Bus) -> None:
    async with asyncio.timeout(2):
        with pytest.raises(NobodyListensError, match="no subscriber on 'what'"):
            await request(bus, "what", b"x", timeout_s=10)


async def test_a_request_that_nobody_answers_fails_in_time(bus: Bus) -> None:
    async with bus.listen("what"):
        with pytest.raises(NoAnswerError, match=r"'what' within 0\.1 s"):
            await request(bus, "what", b"x", timeout_s=0.1)


async def test_a_message_that_is_too_large_is_refused_and_the_bus_goes_on(bus: Bus) -> None:
    async with bus.listen("a") as listener:
        with pytest.raises(MessageTooLargeError, match="'a'"):
            await bus.send("a", bytes(9 * 1024 * 1024))
        await bus.send("a", b"1")
        assert (await following(listener)).payload == b"1"


QUESTION = Question(
    project="shop",
    run="r.1",
    request="r.1:gate.0.0.1",
    path="gate",
    question={"deploy": "web"},
    response_type="bool",
)


async def take(answer: JSONValue, _: str) -> None:
    """Take nothing but true."""
    if answer is not True:
        raise BusError(f"{answer!r} is not true")


async def heard(bus: Bus, project: str) -> OpenQuestion:
    async with open_questions(bus, project=project) as questions:
        return await anext(questions)


async def test_a_question_is_asked_until_an_answer_is_taken(bus: Bus) -> None:
    """It is asked of those who listen later, and who is refused may answer again."""
    asking = asyncio.create_task(ask(bus, QUESTION, take))
    await asyncio.sleep(0.2)
    async with asyncio.timeout(10):
        asked = await heard(bus, "shop")
    assert asked.question == QUESTION
    for answer in (False, "true", None):
        with pytest.raises(AnswerRefusedError, match="is not true"):
            await asked.answer(answer, by="ada")
    await asked.answer(True, by="ada")
    await asking
    with pytest.raises(NobodyListensError):
        await asked.answer(True, by="late")


async def test_of_many_who_answer_at_once_one_counts_and_the_others_hear_so_at_once(bus: Bus) -> None:
    async def take_one(_: JSONValue, by: str) -> None:
        taken.append(by)
        await asyncio.sleep(0.05)

    taken: list[str] = []
    async with open_questions(bus) as questions:
        asking = asyncio.create_task(ask(bus, QUESTION, take_one))
        asked = await anext(questions)
        answers = (asked.answer(True, by=str(number)) for number in range(20))
        async with asyncio.timeout(5):
            told = await asyncio.gather(*answers, return_exceptions=True)
        await asking

    assert len(taken) == 1
    assert [one for one in told if one is None] == [None]
    assert all(isinstance(one, AnswerRefusedError) for one in told if one is not None)


async def test_a_question_of_another_project_is_not_heard(bus: Bus) -> None:
    listening = asyncio.create_task(heard(bus, "other"))
    await asyncio.sleep(0.2)
    asking = asyncio.create_task(ask(bus, QUESTION, take))
    await asyncio.sleep(0.3)
    assert not listening.done()
    for task in (asking, listening):
        task.cancel()


async def test_who_listens_hears_what_is_sent_after_a_connection_was_cut(nats_url: str) -> None:
    port = int(nats_url.rpartition(":")[2])
    async with relay_to(port) as relay:
        far, near = NatsBus(at_port(nats_url, relay.port)), NatsBus(nats_url)
        async with far.listen("a") as listener:
            relay.loses = "answers"
            await near.send("a", b"lost")
            await until_cut(relay)
            async with asyncio.timeout(10):
                while not await is_heard(near, listener):
                    pass
        await far.aclose()
        await near.aclose()


async def until_cut(relay: Relay) -> None:
    async with asyncio.timeout(10):
        while not relay.loss_count:  # noqa: ASYNC110 - the relay tells nobody
            await asyncio.sleep(0.01)


async def is_heard(bus: Bus, listener: Listener) -> bool:
    await bus.send("a", b"1")
    with suppress(TimeoutError):
        async with asyncio.timeout(0.2):
            return (await listener.next()).payload == b"1"
    return False


async def test_a_permission_that_is_missing_is_told_with_the_timeout(start_server: StartServer) -> None:
    url = await start_server(
        """
        jetstream {}
        authorization { users = [{user: a, password: b, permissions: {publish: ["_INBOX.>"]}}] }
        """
    )
    bus = NatsBus(url.replace("nats://", "nats://a:b@"))
    with pytest.raises(NoAnswerError, match=r"(?i)permissions violation"):
        await request(bus, "what", b"x", timeout_s=0.5)
    await bus.aclose()
