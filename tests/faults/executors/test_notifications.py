"""Processes are killed while they notify: no event is lost in the outbox, and none is sent twice."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update
from structlog.testing import capture_logs
from tests.commands import invoke
from tests.receivers import HttpReceiver

from agentic.core.cli.main import build_app
from agentic.core.settings import load_settings
from agentic.executors.notifications.sending import NotificationSender
from agentic.executors.testing.sites import Site
from agentic.mappers import Database, ProjectModel, add_agent, add_project, create_execution
from agentic.mappers.notifications.outbox import LOST, NewNotification, add_notifications, list_notifications
from agentic.mappers.notifications.rules import put_rule
from agentic.mappers.tables.columns import StoreNow
from agentic.mappers.tables.notifications import Channel, NotificationEvent, NotificationModel

pytestmark = [pytest.mark.faults, pytest.mark.integration]

PIPELINE = """
name: shop
item_key: id
http: {allow_private_hosts: ["127.0.0.1"]}
steps: [{actor: json, config: {url: "URL/api", items: wares}}]
"""


@pytest.fixture
def receiver() -> Iterator[HttpReceiver]:
    with HttpReceiver() as server:
        yield server


def killed(*words: str) -> None:
    """Run a process that ends itself by SIGKILL."""
    command = [sys.executable, "-m", "tests.faults.executors.notifying", *words]
    ended = subprocess.run(command, env={**os.environ, "PYTHONPATH": os.fspath(Path(__file__).parents[3])},
                           capture_output=True, check=False)  # fmt: skip
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()


def told(*words: str) -> Any:
    with capture_logs():
        return json.loads(invoke(build_app(), (*words, "--json")).stdout)


@pytest.mark.parametrize(("point", "count"), [("claimed", 0), ("sent", 1)])
async def test_a_sender_that_is_killed_between_claim_and_mark_sends_at_most_once(
    migrated_database: Database,
    migrated_url: str,
    receiver: HttpReceiver,
    monkeypatch: pytest.MonkeyPatch,
    point: str,
    count: int,
) -> None:
    monkeypatch.setenv("AGENTIC_DATABASE_URL", migrated_url)
    project = event_for(migrated_database, receiver.url)
    killed(point)
    sender = NotificationSender(migrated_database, load_settings())
    assert await sender.send_due() == 0  # its lease has not ended
    with migrated_database.writing() as session:
        session.execute(update(NotificationModel).values(lease_until=StoreNow(-1)))
    for _ in range(3):
        assert await sender.send_due() == 0
    with migrated_database.reading() as session:
        [(row, _)] = list_notifications(session, project.id)
    assert (row.state, row.reason) == ("unknown", LOST)
    assert len(receiver.received) == count


def event_for(database: Database, url: str) -> ProjectModel:
    """Add an event for a webhook to the outbox of a new project."""
    with database.writing() as session:
        project = add_project(session, "ours")
        execution = create_execution(session, add_agent(session, project, "watcher", "web"))
        rule = put_rule(session, project, "ops", {
            "agent_id": None, "events": "failed", "row_filter": None, "table_name": None,
            "channel": Channel.WEBHOOK, "target": url, "credential": None,
            "digest_s": 0, "max_per_hour": 20, "may_be_private": True,
        })  # fmt: skip
        event = NewNotification(rule_id=rule.id, event=NotificationEvent.FAILED, facts={"agent": "watcher"})
        add_notifications(session, project.id, execution.id, 1, [event])
        return project


@pytest.mark.parametrize("point", ["ending", "ended"])
def test_an_execution_that_is_killed_at_its_end_notifies_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first_file: Path, receiver: HttpReceiver, point: str
) -> None:
    monkeypatch.setenv("AGENTIC_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    shutil.copy(first_file, tmp_path / "home" / "agentic.db")
    monkeypatch.chdir(tmp_path)
    with Site() as site:
        site.serve("/api", {"wares": [{"id": 1, "title": "lamp"}, {"id": 2, "title": "sofa"}]})
        Path("shop.yaml").write_text(PIPELINE.replace("URL", site.url), encoding="utf-8")
        add = ("notifications", "add", "ops", "--on", "succeeded", "--on", "new", "--private")
        invoke(build_app(), (*add, "--webhook", receiver.url))
        killed(point, "run", "shop.yaml")
        states = [row["state"] for row in told("notifications", "deliveries")]
        assert states == ([] if point == "ending" else ["pending", "pending"])
        if point == "ending":
            with capture_logs():
                invoke(build_app(), ("run", "shop.yaml", "--resume"))
        else:
            assert told("reconcile")["notified"] == 1
    assert told("reconcile")["notified"] == 0
    [got] = receiver.received
    assert [(event["event"], event.get("row_count")) for event in got.data["events"]] == [
        ("succeeded", None),
        ("new", 2),
    ]
    assert [row["status"] for row in told("executions", "list")] == ["succeeded"]
