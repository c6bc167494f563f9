"""What leaves the outbox, on real servers: once each, tried again only if it certainly did not arrive."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import update
from structlog.testing import capture_logs
from tests.conftest import Eventually
from tests.integration.executors.notifications.conftest import World
from tests.receivers import DROP, HANG, HttpReceiver, MailReceiver

from agentic.core.services import free_port
from agentic.executors.notifications.arrival import Arrival
from agentic.executors.notifications.channels import send_message
from agentic.executors.notifications.deciding import MAX_TRIES, RETRY_S
from agentic.executors.notifications.sending import NotificationSender
from agentic.executors.notifications.targets import RuleTarget, read_target
from agentic.mappers import Database
from agentic.mappers.tables.notifications import Channel, NotificationModel

pytestmark = [pytest.mark.integration]

KEY = b"a key of twenty four b.."
SECRET = f"whsec_{base64.b64encode(KEY).decode()}"


async def test_a_webhook_is_signed_and_names_its_delivery(world: World, receiver: HttpReceiver) -> None:
    world.keep_secret("HOOK", f"{receiver.url}/hook?token=t0ken")
    world.keep_secret("KEY", SECRET)
    rule = world.rule(read_target(Channel.WEBHOOK, "${secrets.HOOK}", signing_secret="KEY"))
    execution_id = world.add(rule)
    assert await world.sender.send_due() == 1
    [got] = receiver.received
    assert got.path == "/hook?token=t0ken"
    signed = f"{got.headers['webhook-id']}.{got.headers['webhook-timestamp']}.".encode() + got.body
    expected = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    assert got.headers["webhook-signature"] == f"v1,{expected}"
    [row] = world.rows()
    assert (row.state, row.message_id) == ("sent", got.headers["webhook-id"])
    [event] = got.data["events"]
    assert (got.data["rule"], got.data["title"]) == ("ops", "watcher: failed")
    assert (event["id"], event["reason"]) == (f"{execution_id}.1.failed", "the site is away")
    assert await world.sender.send_due() == 0
    assert len(receiver.received) == 1


@pytest.mark.parametrize(
    ("channel", "key"), [("slack", "text"), ("discord", "content"), ("teams", "attachments")]
)
async def test_chats_get_what_they_take(world: World, receiver: HttpReceiver, channel: str, key: str) -> None:
    world.add(world.rule(read_target(Channel(channel), f"{receiver.url}/services/T0/B0/x")))
    assert await world.sender.send_due() == 1
    [got] = receiver.received
    assert got.headers["content-type"] == "application/json"
    assert "watcher: failed" in str(got.data[key])


async def test_an_email_has_a_subject_and_the_text(world: World, mailbox: MailReceiver) -> None:
    world.keep_secret("SMTP_URL", mailbox.url)
    execution_id = world.add(world.rule(read_target(Channel.EMAIL, "ops@example.org, me@example.org")))
    assert await world.sender.send_due() == 1
    [mail] = mailbox.mails
    assert mailbox.recipients == [["ops@example.org", "me@example.org"]]
    assert (mail["Subject"], mail["From"]) == ("watcher: failed", "bot@example.org")
    assert mail["To"] == "ops@example.org, me@example.org"
    text = mail.get_content()
    assert "the site is away" in text
    assert f"agentic executions report {execution_id[:12]}" in text


@pytest.mark.parametrize(
    ("answer", "state"),
    [("451 try later", "pending"), ("554 no", "failed"), ("250 OK", "sent")],
)
async def test_the_answer_of_a_mail_server_decides(
    world: World, mailbox: MailReceiver, answer: str, state: str
) -> None:
    mailbox.answers = [answer]
    world.keep_secret("SMTP_URL", mailbox.url)
    world.add(world.rule(read_target(Channel.EMAIL, "ops@example.org")))
    await world.sender.send_due()
    [row] = world.rows()
    assert row.state == state
    assert answer == "250 OK" or answer[4:] in (row.reason or "")


async def test_a_password_is_not_sent_without_tls(world: World, mailbox: MailReceiver) -> None:
    world.keep_secret("SMTP_URL", mailbox.url.replace("smtp://", "smtp://me:s3cret-word@"))
    world.add(world.rule(read_target(Channel.EMAIL, "ops@example.org")))
    await world.sender.send_due()
    [row] = world.rows()
    assert (row.state, mailbox.mails) == ("failed", [])
    assert "offers no TLS" in (row.reason or "")
    assert "s3cret-word" not in (row.reason or "")


@pytest.mark.parametrize("channel", ["webhook", "email"])
async def test_a_server_that_is_away_is_tried_again_later(world: World, channel: str) -> None:
    address = f"127.0.0.1:{free_port()}"
    world.keep_secret("SMTP_URL", f"smtp://{address}")
    target = "ops@example.org" if channel == "email" else f"http://{address}/x"
    world.add(world.rule(read_target(Channel(channel), target)))
    assert await world.sender.send_due() == 0
    [row] = world.rows()
    assert (row.state, row.tries, row.message_id) == ("pending", 1, None)
    assert row.due_at - row.created_at > timedelta(seconds=RETRY_S[0] - 1)
    assert await world.sender.send_due() == 0
    assert world.rows()[0].tries == 1


async def test_a_target_that_recovers_gets_the_event_once(
    world: World, receiver: HttpReceiver, hook: RuleTarget
) -> None:
    receiver.statuses = [500, 503]
    world.add(world.rule(hook))
    for state in ("pending", "pending", "sent", "sent"):
        await world.sender.send_due()
        assert world.states() == [state]
        world.make_due()
    assert len(receiver.received) == 3


async def test_a_target_that_stays_away_is_given_up_with_the_reason(
    world: World, receiver: HttpReceiver, hook: RuleTarget
) -> None:
    receiver.statuses = [500] * 99
    world.add(world.rule(hook))
    for _ in range(MAX_TRIES + 3):
        world.make_due()
        await world.sender.send_due()
    [row] = world.rows()
    assert (row.state, row.tries, len(receiver.received)) == ("failed", MAX_TRIES, MAX_TRIES)
    assert "answered 500" in (row.reason or "")


async def test_a_target_that_refuses_for_good_is_asked_once(
    world: World, receiver: HttpReceiver, hook: RuleTarget
) -> None:
    receiver.statuses = [410]
    world.add(world.rule(hook))
    for _ in range(3):
        await world.sender.send_due()
        world.make_due()
    assert (world.states(), len(receiver.received)) == (["failed"], 1)


@pytest.mark.parametrize("answer", [DROP, HANG, 504])
async def test_what_may_have_arrived_is_never_sent_again(
    world: World, receiver: HttpReceiver, hook: RuleTarget, answer: int
) -> None:
    receiver.statuses = [answer]
    world.add(world.rule(hook))
    sender = NotificationSender(world.database, world.settings, partial(send_message, timeout_s=0.3))
    for _ in range(3):
        await sender.send_due()
        world.make_due()
    assert (world.states(), len(receiver.received)) == (["unknown"], 1)


async def test_a_redirect_is_not_followed(world: World, receiver: HttpReceiver, hook: RuleTarget) -> None:
    receiver.statuses, receiver.answer_headers = [308], {"Location": f"{receiver.url}/other"}
    world.add(world.rule(hook))
    await world.sender.send_due()
    assert [got.path for got in receiver.received] == ["/hook"]
    assert "change the target" in (world.rows()[0].reason or "")


async def test_a_private_address_needs_permission(
    world: World, receiver: HttpReceiver, hook: RuleTarget
) -> None:
    rule = world.rule(hook)
    rule.may_be_private = False
    sending = await world.sender.test(rule, "ours")
    assert (sending.arrival, receiver.received) == (Arrival.REFUSED, [])
    assert "--private" in sending.reason


async def test_a_missing_secret_is_waited_for(world: World, receiver: HttpReceiver) -> None:
    world.add(world.rule(read_target(Channel.SLACK, "${secrets.LATER}")))
    await world.sender.send_due()
    [row] = world.rows()
    assert row.state == "pending"
    assert "LATER" in (row.reason or "")
    world.keep_secret("LATER", f"{receiver.url}/s3rvices")
    world.make_due()
    assert await world.sender.send_due() == 1


async def test_no_log_line_and_no_reason_has_the_url_of_a_chat(world: World) -> None:
    with capture_logs() as logs:
        for number, address in enumerate(
            (f"http://127.0.0.1:{free_port()}/s3rvices/T0", "https://127.0.0.1:1/s3rvices/T0")
        ):
            world.add(world.rule(read_target(Channel.SLACK, address), f"r{number}"))
        await world.sender.send_due()
    reasons = [row.reason for row in world.rows()]
    assert (len(reasons), all(reasons)) == (2, True)
    assert "s3rvices" not in f"{logs}{reasons}"


async def test_a_digest_makes_one_message_of_several_events(
    world: World, receiver: HttpReceiver, hook: RuleTarget
) -> None:
    rule = world.rule(hook, digest_s=600)
    for _ in range(12):
        world.add(rule)
    assert await world.sender.send_due() == 0
    with world.database.writing() as session:  # the first one is old enough
        first = world.rows()[0].id
        session.execute(
            update(NotificationModel)
            .where(NotificationModel.id == first)
            .values(due_at=NotificationModel.created_at)
        )
    assert await world.sender.send_due() == 1
    [got] = receiver.received
    assert (len(got.data["events"]), got.data["left_out"]) == (10, 2)
    assert got.data["text"].endswith("and 2 more: agentic notifications deliveries ops")
    assert set(world.states()) == {"sent"}


async def test_beyond_the_limit_events_wait_for_the_next_message(
    world: World, receiver: HttpReceiver, hook: RuleTarget
) -> None:
    rule = world.rule(hook, max_per_hour=2)
    for _ in range(5):
        world.add(rule)
        await world.sender.send_due()
    assert len(receiver.received) == 2
    assert world.states() == ["sent", "sent", "pending", "pending", "pending"]
    with world.database.writing() as session:
        ago = NotificationModel.created_at
        session.execute(update(NotificationModel).values(claimed_at=ago).where(ago.is_(None)))
        old = world.rows()[0].created_at - timedelta(hours=2)
        session.execute(
            update(NotificationModel).where(NotificationModel.state == "sent").values(claimed_at=old)
        )
    await world.sender.send_due()
    assert [len(got.data["events"]) for got in receiver.received] == [1, 1, 3]


async def test_many_senders_send_each_event_once(
    world: World, receiver: HttpReceiver, hook: RuleTarget
) -> None:
    rules = [world.rule(hook, f"rule {number}") for number in range(5)]
    ids = [world.add(rule) for rule in rules for _ in range(4)]
    await asyncio.gather(*(world.sender.send_due() for _ in range(8)))
    await world.sender.send_due()
    told = [event["execution_id"] for got in receiver.received for event in got.data["events"]]
    assert sorted(told) == sorted(ids)
    assert set(world.states()) == {"sent"}


async def test_a_sender_that_keeps_sending_survives_an_absent_database(
    world: World, receiver: HttpReceiver, hook: RuleTarget, eventually: Eventually
) -> None:
    gone = NotificationSender(Database("sqlite:////nowhere/at/all.db"), world.settings)
    with capture_logs() as logs:
        keeping = [asyncio.create_task(each.keep_sending(0.01)) for each in (gone, world.sender)]
        rule = world.rule(hook)
        for count in (1, 2):
            world.add(rule)
            await eventually(lambda: len(receiver.received) == count)  # noqa: B023 - awaited at once
        assert not any(task.done() for task in keeping)
        for task in keeping:
            task.cancel()
        await asyncio.gather(*keeping, return_exceptions=True)
    assert [line["event"] for line in logs].count("notifications.waiting") == 1


async def test_a_slow_target_does_not_stop_the_others(
    world: World, receiver: HttpReceiver, eventually: Eventually
) -> None:
    with HttpReceiver() as slow:
        slow.statuses = [HANG]
        world.add(world.rule(read_target(Channel.WEBHOOK, slow.url), "a slow"))
        world.add(world.rule(read_target(Channel.WEBHOOK, receiver.url), "b quick"))
        sending = asyncio.create_task(world.sender.send_due())
        await eventually(lambda: bool(receiver.received))
        assert not sending.done()
    assert await sending == 1
    assert world.states() == ["unknown", "sent"]


@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated")  # of Apprise, on Python below 3.13
async def test_apprise_sends_to_what_it_knows(world: World, receiver: HttpReceiver) -> None:
    pytest.importorskip("apprise")
    url = receiver.url.replace("http://", "json://")
    world.add(world.rule(read_target(Channel.APPRISE, f"{url}/hook")))
    receiver.statuses = [200, 500]
    assert await world.sender.send_due() == 1
    [got] = receiver.received
    assert (got.data["title"], "the site is away" in got.data["message"]) == ("watcher: failed", True)
    world.add(world.rule(read_target(Channel.APPRISE, f"{url}/hook")))
    world.add(world.rule(read_target(Channel.APPRISE, "nosuch://token"), "none"))
    assert await world.sender.send_due() == 0
    assert world.states() == ["sent", "unknown", "failed"]
