"""The texts of notifications."""

from __future__ import annotations

import json

from agentic.core.masking import MASK, remember_secrets
from agentic.core.types import JSONValue
from agentic.executors.notifications.channels import payload_of
from agentic.executors.notifications.messages import (
    MAX_SHOWN,
    Notice,
    NotificationMessage,
    message_of,
    sample_message,
)
from agentic.mappers.tables.notifications import Channel, NotificationEvent

EXECUTION = "0a1b2c3d4e5f00000000000000000001"
FACTS: dict[str, JSONValue] = {
    "project": "default",
    "agent": "shop",
    "platform": "web",
    "status": "partial",
    "attempt": 1,
    "counts": {"inserted": 2, "updated": 1, "unchanged": 0, "rejected": 0, "failed": 3},
    "reason": "3 of 6 pages failed: http_404 3",
    "first_failure": {"where": "https://x.example/7", "failure_class": "http_404", "message": "answered 404"},
}


def notice(event: str, execution: str = EXECUTION, **facts: JSONValue) -> Notice:
    return Notice(event=NotificationEvent(event), execution_id=execution, facts=FACTS | facts)


NEW = notice(
    "new",
    table="web_items",
    row_count=7,
    rows=[{"kind": "new", "row": {"title": "Lamp\nof brass", "price": 12}}],
)
CHANGED = notice(
    "changed",
    table="web_items",
    row_count=1,
    rows=[{"kind": "changed", "row": {"title": "Sofa", "price": 9}, "before": {"price": 12}}],
)
FEWER = notice("fewer", row_count=3, usual_count=100.0, compared=5)


def test_a_message_says_what_happened_and_what_to_do_next() -> None:
    message = message_of("m1", "ops", [notice("partial"), NEW, CHANGED, FEWER])
    assert message.title == "shop: partial, 7 new rows, 1 changed row, only 3 rows, usually 100"
    assert message.text.splitlines() == [
        "shop (project default): partial, 3 of 6 pages failed: http_404 3",
        "  rows: 2 inserted, 1 updated, 3 failed",
        "  first failure: https://x.example/7 (http_404): answered 404",
        "  7 new rows in web_items:",
        "    - title: Lamp of brass, price: 12",
        "    and 6 more",
        "  1 changed row in web_items:",
        "    - title: Sofa, price: 9 (was 12)",
        "  only 3 rows, usually 100 (median of the last 5 executions)",
        "  more: agentic executions report 0a1b2c3d4e5f",
    ]


def test_a_digest_shows_some_executions_and_counts_the_others() -> None:
    notices = [notice("failed", f"{number:032x}") for number in range(MAX_SHOWN + 7)]
    message = message_of("m1", "ops", notices)
    assert message.title == f"{MAX_SHOWN + 7} executions: shop ({MAX_SHOWN + 7})"
    assert message.text.splitlines()[-1] == "and 7 more: agentic notifications deliveries ops"
    assert message.text.count("more: agentic executions report") == MAX_SHOWN
    [first, *_] = json.loads(json.dumps(message.data))["events"]
    assert first["id"] == f"{0:032x}.1.failed"
    assert (len(json.loads(json.dumps(message.data))["events"]), message.data["left_out"]) == (MAX_SHOWN, 7)


def test_events_of_one_end_stand_together_although_others_came_between() -> None:
    other = "f" * 32
    message = message_of("m1", "ops", [notice("partial"), notice("failed", other), NEW])
    assert message.text.count("agentic executions report 0a1b2c3d4e5f") == 1
    assert message.text.index("7 new rows") < message.text.index("report ffffffffffff")


def test_no_secret_is_in_a_message() -> None:
    remember_secrets("s3cret-of-a-page")
    row: JSONValue = {"kind": "new", "row": {"token": "s3cret-of-a-page"}}
    failed = notice("failed", reason="refused s3cret-of-a-page")
    shown = notice("new", table="t", row_count=1, rows=[row])
    message = message_of("m1", "ops", [failed, shown])
    assert MASK in message.text
    for channel in (Channel.WEBHOOK, Channel.SLACK, Channel.TEAMS):
        assert "s3cret" not in json.dumps(payload_of(channel, message))


def test_chats_call_nobody_and_are_cut_to_their_limits() -> None:
    message = NotificationMessage(id="m", title="@everyone <!channel> & co", text="x" * 30_000, data={})
    slack = json.dumps(payload_of(Channel.SLACK, message))
    assert "&lt;!channel&gt; &amp; co" in slack
    discord = payload_of(Channel.DISCORD, message)
    assert isinstance(discord, dict)
    assert (len(str(discord["content"])), discord["allowed_mentions"]) == (2_000, {"parse": []})
    teams = json.dumps(payload_of(Channel.TEAMS, message))
    assert ("AdaptiveCard" in teams, len(teams) < 28_000) == (True, True)


def test_a_test_message_says_that_it_is_one() -> None:
    message = sample_message("m1", "ops", "default")
    assert message.title == "Test of notification ops"
    assert message.data["type"] == "agentic.notification.test"
