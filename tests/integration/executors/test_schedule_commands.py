"""The commands around schedules against a real database file, in this process."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update
from tests.commands import agentic_app, invoke

from agentic.core.errors import AgenticError
from agentic.executors.commands.shared.options import OptionError
from agentic.executors.schedules.cron import ScheduleTimesError
from agentic.mappers import (
    Database,
    DuplicateScheduleError,
    ScheduleModel,
    UnknownAgentError,
    UnknownProjectError,
    UnknownScheduleError,
    add_agent,
    add_project,
    find_project,
)

pytestmark = [pytest.mark.integration, pytest.mark.requirement("BR07")]


class Shell:
    """``agentic schedules`` with the agents ``news`` and, in the project ``other``, ``theirs``."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def __call__(self, *arguments: str) -> str:
        result = invoke(agentic_app(), ["schedules", *arguments])
        if result.exception is not None:
            raise result.exception
        return result.stdout

    def rows(self, *arguments: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self(*arguments, "--json"))
        return found

    def fails(self, *arguments: str) -> AgenticError:
        error = invoke(agentic_app(), ["schedules", *arguments]).exception
        assert isinstance(error, AgenticError)
        return error

    def set(self, **columns: object) -> None:
        """Change every schedule behind the back of the commands."""
        with self.database.writing() as session:
            session.execute(update(ScheduleModel).values(**columns))


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty_database: Path) -> Iterator[Shell]:
    monkeypatch.chdir(tmp_path)
    for name in ("AGENTIC_BROKER_URL", "AGENTIC_NATS_URL", "AGENTIC_PROJECT", "AGENTIC_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AGENTIC_HOME", str(tmp_path))
    shutil.copy(empty_database, tmp_path / "agentic.db")
    database = Database(f"sqlite:///{tmp_path / 'agentic.db'}")
    with database.writing() as session:
        add_agent(session, find_project(session, "default"), "news", "hackernews")
        add_agent(session, add_project(session, "other"), "theirs", "hackernews")
    yield Shell(database)
    database.dispose()


def test_a_cron_line_is_added_and_listed_in_its_time_zone(shell: Shell) -> None:
    options = ("--timezone", "Asia/Kolkata", "--jitter", "30", "--catch-up", "none")
    said = shell("add", "often", "--agent", "news", "--cron", "*/5  * * * *", *options)

    [row] = shell.rows("list")
    assert (row["name"], row["agent"], row["state"]) == ("often", "news", "active")
    assert (row["times"], row["cron"]) == ("*/5 * * * * Asia/Kolkata", "*/5 * * * *")
    assert (row["jitter_s"], row["catch_up"], row["last_due"]) == (30, "none", None)
    due = datetime.fromisoformat(row["next_due"])
    assert due.utcoffset() == timedelta(hours=5, minutes=30)
    assert (due.minute % 5, due.second) == (0, 0)
    assert timedelta() < due - datetime.now(UTC) <= timedelta(minutes=5)
    assert f"schedule often runs agent news, the next time at {row['next_due']}" in said


def test_an_interval_is_counted_from_when_it_is_added(shell: Shell) -> None:
    shell("add", "quarterly", "--agent", "news", "--every", "15m")

    [row] = shell.rows("list")
    assert (row["times"], row["every_s"], row["catch_up"]) == ("every 15m", 900, "last")
    wait = datetime.fromisoformat(row["next_due"]) - datetime.now(UTC)
    assert timedelta(minutes=14) < wait <= timedelta(minutes=15)


def test_next_prints_due_times_and_when_jitter_lets_each_start(shell: Shell) -> None:
    options = ("--timezone", "Europe/Berlin", "--jitter", "600")
    shell("add", "nightly", "--agent", "news", "--cron", "30 2 * * *", *options)

    rows = shell.rows("next", "nightly", "--count", "3")

    due = [datetime.fromisoformat(row["due_at"]) for row in rows]
    assert [(moment.hour, moment.minute) for moment in due] == [(2, 30)] * 3
    assert [row["due_at_utc"] for row in rows] == [f"{m.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}" for m in due]
    for moment, row in zip(due, rows, strict=True):
        assert timedelta() <= datetime.fromisoformat(row["starts_at"]) - moment < timedelta(seconds=600)
    assert len(shell.rows("next", "nightly")) == 5


def test_a_schedule_is_paused_resumed_and_removed(shell: Shell) -> None:
    shell("add", "often", "--agent", "news", "--every", "1h")

    shell("pause", "often")
    [paused] = shell.rows("list")
    shell("resume", "often")
    [resumed] = shell.rows("list")
    shell("remove", "often")

    assert (paused["state"], paused["next_due"]) == ("paused", None)
    assert resumed["state"] == "active"
    assert shell.rows("list") == []


def test_a_name_that_is_taken_is_replaced_only_when_told_to(shell: Shell) -> None:
    shell("add", "often", "--agent", "news", "--every", "1h")

    refused = shell.fails("add", "often", "--agent", "news", "--every", "2h")
    shell("add", "often", "--agent", "news", "--cron", "0 * * * *", "--replace")

    assert isinstance(refused, DuplicateScheduleError)
    assert [row["times"] for row in shell.rows("list")] == ["0 * * * * UTC"]


def test_schedules_belong_to_a_project(shell: Shell) -> None:
    shell("add", "often", "--agent", "theirs", "--every", "1h", "--project", "other")

    assert shell.rows("list") == []
    assert [row["name"] for row in shell.rows("list", "--project", "other")] == ["often"]
    assert isinstance(shell.fails("remove", "often"), UnknownScheduleError)
    assert isinstance(shell.fails("next", "often"), UnknownScheduleError)
    assert isinstance(shell.fails("add", "x", "--agent", "theirs", "--every", "1h"), UnknownAgentError)
    assert isinstance(shell.fails("list", "--project", "nowhere"), UnknownProjectError)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ((), OptionError, "takes either --cron .* or --every"),
        (("--every", "1h", "--cron", "* * * * *"), OptionError, "give one of them"),
        (("--every", "0s"), ScheduleTimesError, "'0s' is not between 1s and 366d"),
        (("--cron", "61 * * * *"), ScheduleTimesError, "the minute of the cron line '61"),
        (("--cron", "0 0 */31 2 MON#5"), ScheduleTimesError, "is not due in 50 years"),
        (("--every", "1h", "--timezone", "Berlin"), ScheduleTimesError, "did you mean Europe/Berlin"),
    ],
)
def test_bad_input_is_refused_early_with_the_next_step(
    shell: Shell, options: tuple[str, ...], error: type[AgenticError], message: str
) -> None:
    refused = shell.fails("add", "bad", "--agent", "news", *options)

    assert isinstance(refused, error)
    assert re.search(message, str(refused))


def test_the_overlap_policy_is_given_shown_and_edited(shell: Shell) -> None:
    shell("add", "plain", "--agent", "news", "--every", "1h")
    shell("add", "slow", "--agent", "news", "--every", "1h", "--overlap", "queue")

    assert [(row["overlap"], row["skipped"]) for row in shell.rows("list")] == [("skip", 0), ("queue", 0)]
    assert "allow" in shell("edit", "slow", "--overlap", "allow") + shell("show", "slow")
    shown = json.loads(shell("show", "slow", "--json"))
    assert (shown["overlap"], shown["every_s"], shown["waiting_due"]) == ("allow", 3600, None)


def test_what_waits_and_what_was_skipped_is_listed(shell: Shell) -> None:
    shell("add", "slow", "--agent", "news", "--every", "1h", "--overlap", "queue")
    shell.set(waiting_due_at=datetime(2026, 1, 1, tzinfo=UTC), skipped_count=7)

    [row] = shell.rows("list")

    assert (row["state"], row["skipped"], row["waiting_due"]) == (
        "active, 1 waits",
        7,
        "2026-01-01 00:00:00+00:00",
    )


def test_editing_keeps_what_is_not_given_and_the_schedule_itself(shell: Shell) -> None:
    shell("add", "often", "--agent", "news", "--every", "1h", "--jitter", "9")
    [before] = shell.rows("list")
    long_ago = datetime.now(UTC) - timedelta(minutes=30)
    shell.set(anchor=long_ago, settled_until=long_ago)

    shell("edit", "often", "--catch-up", "none")
    [edited] = shell.rows("list")
    shell("edit", "often", "--cron", "30 2 * * *", "--timezone", "Europe/Berlin")
    [moved] = shell.rows("list")

    assert (edited["id"], edited["jitter_s"], edited["catch_up"]) == (before["id"], 9, "none")
    assert datetime.fromisoformat(edited["next_due"]) == long_ago.replace(microsecond=0) + timedelta(hours=1)
    assert (moved["id"], moved["every_s"], moved["times"]) == (before["id"], None, "30 2 * * * Europe/Berlin")
    assert isinstance(shell.fails("edit", "often"), OptionError)
    assert isinstance(shell.fails("edit", "often", "--timezone", "Berlin"), ScheduleTimesError)


def test_replacing_a_schedule_keeps_what_it_is_known_by(shell: Shell) -> None:
    shell("add", "often", "--agent", "news", "--every", "1h")
    [before] = shell.rows("list")
    shell("add", "often", "--agent", "news", "--every", "2h", "--replace")
    assert [(row["id"], row["every_s"]) for row in shell.rows("list")] == [(before["id"], 7200)]


def test_catching_up_all_says_what_the_overlap_policy_leaves_of_it(shell: Shell) -> None:
    assert "--overlap allow" in shell("add", "a", "--agent", "news", "--every", "1h", "--catch-up", "all")


@pytest.mark.parametrize("name", ["", " ", "two\nlines", "x" * 201])
def test_what_is_no_name_is_refused(shell: Shell, name: str) -> None:
    assert isinstance(shell.fails("add", name, "--agent", "news", "--every", "1h"), OptionError)
    assert shell.rows("list") == []


def test_a_schedule_nobody_looks_after_says_so(shell: Shell) -> None:
    shell("add", "often", "--agent", "news", "--every", "1h")
    earlier = datetime.now(UTC) - timedelta(hours=2, minutes=5)
    shell.set(anchor=earlier, settled_until=earlier)

    [row] = shell.rows("list")

    assert row["state"].startswith("late by ")
    assert row["state"].endswith(" s; check that beat is running")


def test_a_schedule_spoilt_by_hand_is_listed_with_what_is_wrong(shell: Shell) -> None:
    shell("add", "often", "--agent", "news", "--every", "1h")
    shell.set(cron="* * *", every_s=None, timezone="Nowhere", last_due_at=datetime(2026, 1, 1, tzinfo=UTC))

    [row] = shell.rows("list")

    assert "unknown time zone 'Nowhere'" in row["state"]
    assert (row["next_due"], row["last_due"]) == (None, "2026-01-01 00:00:00+00:00")
