"""Options of a rule: what is taken, and what is shown of it."""

from __future__ import annotations

import pytest

from agentic.executors.notifications.email import SmtpServer, SmtpUrlError, addresses_in, read_server
from agentic.executors.notifications.targets import (
    NotificationRuleError,
    read_events,
    read_filter,
    read_target,
    secrets_of,
    shown_target,
)
from agentic.mappers.tables.notifications import Channel


@pytest.mark.parametrize(
    ("channel", "address", "shown"),
    [
        ("slack", "https://hooks.slack.com/services/T0/B0/XyZ", "https://hooks.slack.com/***"),
        ("webhook", "http://10.0.0.1:8080/?token=1", "http://10.0.0.1:8080/***"),
        ("webhook", "https://user:pw@example.org/", "https://example.org"),
        ("webhook", "https://example.org", "https://example.org"),
        ("slack", "${secrets.SLACK}", "${secrets.SLACK}"),
        ("webhook", "https://example.org/${secrets.KEY}", "https://example.org/***"),
        ("apprise", "tgram://12345:token/chat", "tgram://***"),
        ("apprise", "mailto://user:pw@example.org", "mailto://***"),
        ("email", "ops@example.org, me@example.org", "ops@example.org, me@example.org"),
        ("webhook", "http://[broken", "***"),
    ],
)
def test_a_target_is_shown_without_what_lets_others_write_there(
    channel: str, address: str, shown: str
) -> None:
    assert shown_target(Channel(channel), address) == shown


@pytest.mark.parametrize(
    ("channel", "address", "reason"),
    [
        ("email", "ops", "not a list of e-mail addresses"),
        ("email", "ops@example.org,,x", "not a list of e-mail addresses"),
        ("slack", "hooks.slack.com/x", "not an https:// URL"),
        ("webhook", "ftp://x/y", "not an https:// URL"),
        ("webhook", "https://x/${inputs.a}", "not ${secrets.NAME}"),
        ("apprise", "nothing", "not a URL"),
    ],
)
def test_a_target_that_cannot_work_is_refused(channel: str, address: str, reason: str) -> None:
    with pytest.raises(NotificationRuleError, match=reason.replace("$", r"\$").replace("{", r"\{")):
        read_target(Channel(channel), address)


def test_an_email_uses_the_usual_server_or_another() -> None:
    assert read_target(Channel.EMAIL, "a@b.c").credential == "${secrets.SMTP_URL}"
    assert read_target(Channel.EMAIL, "a@b.c", smtp="OURS").credential == "${secrets.OURS}"
    with pytest.raises(NotificationRuleError, match="--smtp is for --email"):
        read_target(Channel.SLACK, "https://x/y", smtp="OURS")


def test_a_webhook_alone_is_signed() -> None:
    signed = read_target(Channel.WEBHOOK, "https://x/y", signing_secret="${secrets.KEY}")
    assert secrets_of(signed.address, signed.credential) == ["KEY"]
    with pytest.raises(NotificationRuleError, match="--signing-secret is for --webhook"):
        read_target(Channel.TEAMS, "https://x/y", signing_secret="KEY")
    with pytest.raises(NotificationRuleError, match="takes the name of a secret"):
        read_target(Channel.WEBHOOK, "https://x/y", signing_secret="whsec_+/=")


def test_events_and_filters_are_checked() -> None:
    assert read_events(["new", "failed", "new"]) == "new failed"
    with pytest.raises(NotificationRuleError, match="unknown event 'error'; choose from failed, partial"):
        read_events(["error"])
    assert read_filter("price < `10`", "new failed") == "price < `10`"
    with pytest.raises(NotificationRuleError, match="add --on new"):
        read_filter("price", "failed")
    with pytest.raises(NotificationRuleError, match="--filter: 'price <'"):
        read_filter("price <", "new")


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://localhost", SmtpServer(host="localhost", port=25, is_tls=False, sender="agentic@localhost")),
        (
            "smtps://me%40x.org:p%3Aw@mail.x.org",
            SmtpServer(
                host="mail.x.org",
                port=465,
                is_tls=True,
                user="me@x.org",
                password="p:w",
                sender="me@x.org",
            ),
        ),
        (
            "smtp://u:p@h:587?from=bot@x.org",
            SmtpServer(host="h", port=587, is_tls=False, user="u", password="p", sender="bot@x.org"),
        ),
    ],
)
def test_an_smtp_server_is_a_url(url: str, server: SmtpServer) -> None:
    assert read_server(url) == server


@pytest.mark.parametrize(
    "url",
    ["", "s3cret.x.org", "https://s3cret", "smtp://", "smtp://s3cret:port", "smtp://h?from=s3cret%0AX:1"],
)
def test_another_text_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(SmtpUrlError, match=r"^the SMTP server (is not|has)") as caught:
        read_server(url)
    assert "s3cret" not in str(caught.value)


def test_addresses_are_found_among_names_and_blanks() -> None:
    assert addresses_in("Ops <ops@example.org>, me@example.org ,x,@,a@") == [
        "ops@example.org",
        "me@example.org",
    ]
