"""Notifications as users meet them: a rule, a run, a message; no worker is needed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from structlog.testing import capture_logs
from tests.commands import invoke
from tests.receivers import HttpReceiver, MailReceiver

from agentic.core.cli.main import build_app
from agentic.executors.agents.redaction import MASK
from agentic.executors.notifications import noticing
from agentic.executors.testing.sites import Site
from agentic.mappers.vault.keys import SecretKeys

pytestmark = [pytest.mark.integration]

SHOP = """
name: shop
item_key: id
http: {allow_private_hosts: ["127.0.0.1"]}
steps:
  - actor: json
    config: {url: "URL/api", items: wares}
"""


CRAWL = """
name: lamps
http: {allow_private_hosts: ["127.0.0.1"]}
steps:
  - type: crawl
    start: "URL/"
    follow: {include: ["*/p/*"]}
    detail: {match: ["*/p/*"], config: {schema: {title: h1}}}
"""


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as server:
        yield server


@pytest.fixture
def receiver() -> Iterator[HttpReceiver]:
    with HttpReceiver() as server:
        yield server


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first_file: Path) -> None:
    monkeypatch.setenv("AGENTIC_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AGENTIC_SECRET_KEYS", SecretKeys.new_key())
    (tmp_path / "home").mkdir()
    shutil.copy(first_file, tmp_path / "home" / "agentic.db")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)


def ran(*words: str) -> str:
    """Return what a command prints, and its error."""
    with capture_logs():
        result = invoke(build_app(), words)
    return f"{result.stdout}{result.exception or ''}"


def told(*words: str) -> Any:
    with capture_logs():
        return json.loads(invoke(build_app(), (*words, "--json")).stdout)


def offer(site: Site, *wares: tuple[int, int]) -> None:
    """Let the site have wares with these ids and prices."""
    rows = [{"id": number, "title": f"lamp {number}", "price": price} for number, price in wares]
    site.serve("/api", {"wares": rows})
    Path("shop.yaml").write_text(SHOP.replace("URL", site.url), encoding="utf-8")


def events(receiver: HttpReceiver) -> list[list[str]]:
    """Return the events of each message."""
    return [[event["event"] for event in got.data["events"]] for got in receiver.received]


def test_a_run_notifies_of_new_and_changed_rows_and_of_a_fall(site: Site, receiver: HttpReceiver) -> None:
    offer(site, *((number, 10) for number in range(10)))
    ran("run", "shop.yaml")
    options = ("--webhook", f"{receiver.url}/hook", "--private", "--filter", "price < `10`")
    ran("notifications", "add", "cheap", "--agent", "shop", "--on", "new", "--on", "changed", *options)
    ran("notifications", "add", "fall", "--on", "fewer", *options[:3])
    ran("run", "shop.yaml")
    assert receiver.received == []  # nothing has changed
    offer(site, *((number, 10) for number in range(8)), (8, 7), (10, 5), (11, 12))
    ran("run", "shop.yaml")
    [got] = receiver.received
    assert got.data["title"] == "shop: 1 new row, 1 changed row"
    assert "title: lamp 10, price: 5" in got.data["text"]
    assert "price: 7 (was 10)" in got.data["text"]
    offer(site, (1, 10), (2, 10))
    ran("run", "shop.yaml")
    assert receiver.received[1].data["title"] == "shop: only 2 rows, usually 10"
    rows = told("notifications", "deliveries")
    assert [(row["notification"], row["event"], row["state"]) for row in rows] == [
        ("fall", "fewer", "sent"),
        ("cheap", "changed", "sent"),
        ("cheap", "new", "sent"),
    ]


def test_a_run_that_fails_is_reported_with_the_next_command(site: Site, receiver: HttpReceiver) -> None:
    offer(site)
    site.serve("/api", "gone", status=404)
    ran("notifications", "add", "ops", "--webhook", receiver.url, "--private")
    ran("run", "shop.yaml")
    [execution] = told("executions", "list")
    [got] = receiver.received
    assert events(receiver) == [["failed"]]
    assert got.data["title"] == "shop: failed"
    assert "http_404" in got.data["text"]
    assert f"agentic executions report {execution['id'][:12]}" in got.data["text"]


def test_a_crawl_with_failed_pages_is_reported_with_the_first_of_them(
    site: Site, receiver: HttpReceiver
) -> None:
    html = {"Content-Type": "text/html"}
    site.serve("/", '<a href="/p/1">1</a><a href="/p/2">2</a><a href="/p/3">3</a>', headers=html)
    site.serve("/p/1", "<h1>lamp</h1>", headers=html)
    site.serve("/p/2", "<h1>gone</h1>", status=404, headers=html)
    site.serve("/p/3", "<h1>away</h1>", status=404, headers=html)
    Path("crawl.yaml").write_text(CRAWL.replace("URL", site.url), encoding="utf-8")
    ran(
        "notifications",
        "add",
        "ops",
        "--on",
        "partial",
        "--on",
        "new",
        "--webhook",
        receiver.url,
        "--private",
    )
    ran("run", "crawl.yaml")
    [got] = receiver.received
    assert got.data["title"] == "lamps: partial, 1 new row"  # the items, and not the pages
    assert f"first failure: {site.url}/p/2 (http_404): " in got.data["text"]
    assert [event["counts"]["failed"] for event in got.data["events"]] == [2, 2]


def test_a_reconciler_sends_what_became_due_later(site: Site, receiver: HttpReceiver) -> None:
    offer(site, (1, 10))
    ran("notifications", "add", "ops", "--on", "succeeded", "--digest", "1s", "--private", "--webhook",
        receiver.url)  # fmt: skip
    ran("run", "shop.yaml")
    ran("run", "shop.yaml")
    command = [sys.executable, "-m", "agentic.core.cli", "reconcile", "--every", "0.2"]
    reconciler = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not told("notifications", "deliveries", "--state", "sent"):
            assert reconciler.poll() is None
    finally:
        reconciler.kill()
        reconciler.wait()
    assert sum(map(len, events(receiver))) == 2


def test_each_end_of_a_retried_execution_is_an_event(site: Site, receiver: HttpReceiver) -> None:
    offer(site)
    site.serve("/api", "away", status=500)
    ran("notifications", "add", "ops", "--on", "failed", "--on", "succeeded", "--on", "new", "--private",
        "--webhook", receiver.url)  # fmt: skip
    ran("run", "shop.yaml")
    ran("run", "shop.yaml", "--resume")
    offer(site, (1, 10))
    ran("run", "shop.yaml", "--resume")
    assert events(receiver) == [["failed"], ["failed"], ["succeeded", "new"]]
    assert len(told("executions", "list")) == 1


def test_an_execution_ends_although_its_notifications_cannot_be_made(
    site: Site, receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> str:
        raise LookupError("a table of the platform is missing")

    monkeypatch.setattr(noticing, "_results_table", broken)
    offer(site, (1, 10))
    ran("notifications", "add", "ops", "--on", "new", "--webhook", receiver.url, "--private")
    result = invoke(build_app(), ("run", "shop.yaml"))
    assert (result.exit_code, receiver.received) == (0, [])
    assert "a table of the platform is missing" in result.stderr
    assert [row["status"] for row in told("executions", "list")] == ["succeeded"]


def test_a_target_that_is_away_leaves_the_run_as_it_is(site: Site, receiver: HttpReceiver) -> None:
    offer(site, (1, 10))
    receiver.statuses = [503]
    ran("notifications", "add", "ops", "--on", "succeeded", "--webhook", receiver.url, "--private")
    result = invoke(build_app(), ("run", "shop.yaml"))
    assert result.exit_code == 0
    assert (
        "notification ops was not sent: the target answered 503; see `agentic notifications" in result.stderr
    )
    [row] = told("notifications", "deliveries", "ops", "--state", "pending")
    assert (row["tries"], row["reason"]) == (1, "the target answered 503")


def test_reconcile_sends_what_runs_could_not(site: Site, receiver: HttpReceiver) -> None:
    offer(site, (1, 10))
    ran("notifications", "add", "ops", "--on", "succeeded", "--webhook", "${secrets.HOOK}", "--private")
    ran("run", "shop.yaml")
    Path("hook.txt").write_text(receiver.url, encoding="utf-8")
    ran("secrets", "set", "HOOK", "--from-file", "hook.txt")
    assert receiver.received == []
    assert told("reconcile")["notified"] == 0  # the pause after the first try has not ended
    assert told("notifications", "list")[0]["target"] == "${secrets.HOOK}"


def test_test_sends_a_message_or_says_why_not(receiver: HttpReceiver) -> None:
    ran("notifications", "add", "ops", "--slack", f"{receiver.url}/s3rvices/T0", "--private")
    assert "sent a test message by slack" in ran("notifications", "test", "ops")
    assert "Test of notification ops" in receiver.received[0].data["text"]
    receiver.statuses = [404]
    said = ran("notifications", "test", "ops")
    assert "notification 'ops' was not sent: the target answered 404" in said
    assert "s3rvices" not in said + ran("notifications", "list")
    assert told("notifications", "deliveries") == []


def test_an_email_is_sent_by_the_server_in_a_secret(site: Site) -> None:
    with MailReceiver() as mailbox:
        offer(site, (1, 10))
        said = ran("notifications", "add", "mail", "--on", "new", "--email", "ops@example.org")
        assert "the secret SMTP_URL is missing; store it with `agentic secrets set SMTP_URL`" in said
        Path("smtp.txt").write_text(mailbox.url, encoding="utf-8")
        ran("secrets", "set", "SMTP_URL", "--from-file", "smtp.txt")
        ran("run", "shop.yaml")
        [mail] = mailbox.mails
    assert mail["Subject"] == "shop: 1 new row"
    assert "title: lamp 1" in mail.get_content()


def test_rules_are_listed_replaced_and_removed(receiver: HttpReceiver) -> None:
    ran("notifications", "add", "ops", "--webhook", f"{receiver.url}/x", "--digest", "15m", "--private")
    assert "has a notification 'ops' already" in ran("notifications", "add", "ops", "--email", "a@b.c")
    ran("notifications", "add", "ops", "--email", "a@b.c", "--on", "fewer", "--replace", "--per-hour", "3")
    [row] = told("notifications", "list")
    assert (row["events"], row["channel"], row["target"]) == ("fewer", "email", "a@b.c")
    assert (row["agent"], row["digest"], row["per_hour"]) == ("all", None, 3)
    ran("notifications", "remove", "ops")
    assert told("notifications", "list") == []
    assert "has no notification 'ops' (known: none)" in ran("notifications", "remove", "ops")


def test_rules_move_with_the_file_of_their_project_but_no_url_does(receiver: HttpReceiver) -> None:
    ran("agents", "add", "news", "--platform", "hackernews")
    ran("notifications", "add", "mail", "--email", "a@b.c", "--on", "new", "--filter", "score > `9`",
        "--agent", "news", "--digest", "1h")  # fmt: skip
    ran("notifications", "add", "hook", "--slack", f"{receiver.url}/s3rvices", "--private")
    ran("notifications", "add", "named", "--webhook", "${secrets.HOOK}", "--signing-secret", "KEY")
    before = told("notifications", "list")
    text = ran("projects", "export", "default")
    Path("project.yaml").write_text(text, encoding="utf-8")
    assert "s3rvices" not in text
    assert yaml.safe_load(text)["secrets"] == ["HOOK", "KEY", "SMTP_URL"]
    assert "0 changes, 5 parts unchanged" in ran("projects", "import", "project.yaml")
    assert told("notifications", "list") == before
    Path("project.yaml").write_text(text.replace("digest: 1h", "digest: 2h"), encoding="utf-8")
    assert "notification mail: changed (digest_s)" in ran("projects", "import", "project.yaml")
    refused = ran("projects", "import", "project.yaml", "--as", "other")
    assert "notifications[0].target" in refused
    assert "stands for a URL that this project does not have" in refused
    Path("project.yaml").write_text(text.replace(f"'{MASK}'", "https://x.example/y"), "utf-8")
    assert "notification hook: added" in ran("projects", "import", "project.yaml", "--as", "other")
    rows = told("notifications", "list", "--project", "other")
    assert [(row["name"], row["agent"]) for row in rows] == [
        ("hook", "all"),
        ("mail", "news"),
        ("named", "all"),
    ]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((), "a notification has one target; give one of --email"),
        (("--email", "a@b.c", "--slack", "https://x/y"), "a notification has one target"),
        (("--email", "a@b.c", "--on", "error"), "unknown event 'error'; choose from failed, partial"),
        (("--email", "a@b.c", "--filter", "price"), "add --on new or --on changed"),
        (("--email", "a@b.c", "--agent", "none"), "no agent 'none'"),
        (("--email", "a@b.c", "--digest", "soon"), "soon"),
    ],
)
def test_options_that_cannot_work_are_refused(words: tuple[str, ...], reason: str) -> None:
    assert reason in ran("notifications", "add", "ops", *words)
