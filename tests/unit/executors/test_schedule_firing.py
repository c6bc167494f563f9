"""What beat does when it looks: over a database in a file and Celery's broker in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from celery import Celery
from sqlalchemy import event, select, update
from sqlalchemy.orm import Session
from structlog.testing import capture_logs

from agentic.core.settings import load_settings
from agentic.executors.celery import make_app
from agentic.executors.schedules.firing import Timekeeper
from agentic.executors.schedules.times import BATCH_SIZE
from agentic.executors.workers.dispatch import CeleryDispatcher
from agentic.mappers import (
    CatchUp,
    Database,
    DatabaseUnavailableError,
    ExecutionModel,
    ExecutionStatus,
    Overlap,
    ScheduleModel,
    add_schedule,
)

if TYPE_CHECKING:
    from tests.unit.executors.conftest import Lab

HOUR = timedelta(hours=1)


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Celery]:
    monkeypatch.chdir(tmp_path)
    with make_app(load_settings(home=tmp_path, broker_url="memory://")) as made:
        yield made
        made.control.purge()


@pytest.fixture
def timekeeper(lab: Lab, app: Celery) -> Timekeeper:
    return Timekeeper(lab.database, CeleryDispatcher(app))


def schedule(lab: Lab, name: str = "hourly", *, every_s: int = 3600, **columns: object) -> ScheduleModel:
    """Add a schedule that has not been looked after for five hours and a half."""
    agent = lab.agent(name)
    with lab.database.writing() as session:
        added = add_schedule(session, agent, name, every_s=every_s)
        added.anchor = added.settled_until = added.anchor - 5 * HOUR - HOUR / 2
        for column, value in columns.items():
            setattr(added, column, value)
        return added


def stored(lab: Lab, name: str = "hourly") -> ScheduleModel:
    with lab.database.reading() as session:
        return session.scalars(select(ScheduleModel).where(ScheduleModel.name == name)).one()


def executions(lab: Lab) -> list[ExecutionModel]:
    with lab.database.reading() as session:
        return session.query(ExecutionModel).order_by(ExecutionModel.idempotency_key).all()


def message_count(app: Celery) -> int:
    with app.connection_for_read() as connection, connection.SimpleQueue("agentic.default") as messages:
        return int(messages.qsize())


@pytest.mark.requirement("BR07", "PL17")
def test_a_due_time_becomes_an_execution_and_a_message(lab: Lab, app: Celery, timekeeper: Timekeeper) -> None:
    due = schedule(lab).anchor + 5 * HOUR

    wait = timekeeper.tick()

    [execution] = executions(lab)
    assert execution.idempotency_key == f"{stored(lab).id}:{due.isoformat()}"
    assert execution.status is ExecutionStatus.QUEUED
    assert message_count(app) == 1
    assert (stored(lab).settled_until, stored(lab).last_due_at) == (due, due)
    assert wait is not None
    assert HOUR / 2 - timedelta(minutes=1) < wait <= HOUR / 2


def test_looking_again_at_once_fires_nothing_more(lab: Lab, timekeeper: Timekeeper) -> None:
    schedule(lab)
    timekeeper.tick()
    timekeeper.tick()
    assert len(executions(lab)) == 1


def test_without_schedules_there_is_nothing_to_wait_for(timekeeper: Timekeeper) -> None:
    assert timekeeper.tick() is None


def test_what_was_missed_is_given_up_once_when_the_policy_says_so(lab: Lab, timekeeper: Timekeeper) -> None:
    due = schedule(lab, catch_up=CatchUp.NONE).anchor + 5 * HOUR

    with capture_logs() as logs:
        timekeeper.tick()
        timekeeper.tick()

    assert executions(lab) == []
    assert (stored(lab).settled_until, stored(lab).last_due_at) == (due, None)
    assert [entry["event"] for entry in logs] == ["schedule.missed"]


def test_all_that_was_missed_is_fired_in_order_some_at_a_time(lab: Lab, timekeeper: Timekeeper) -> None:
    first = schedule(lab, every_s=600, catch_up=CatchUp.ALL, overlap=Overlap.ALLOW)
    expected = [first.anchor + timedelta(seconds=600 * (number + 1)) for number in range(33)]

    sizes = []
    for _ in range(5):
        timekeeper.tick()
        sizes.append(len(executions(lab)))

    assert sizes == [BATCH_SIZE, 2 * BATCH_SIZE, 3 * BATCH_SIZE, 33, 33]
    keys = [execution.idempotency_key for execution in executions(lab)]
    assert keys == [f"{first.id}:{due.isoformat()}" for due in expected]


def test_a_change_between_looks_is_seen(lab: Lab, timekeeper: Timekeeper) -> None:
    schedule(lab, paused_at=datetime.now(UTC))
    timekeeper.tick()
    assert executions(lab) == []

    with lab.database.writing() as session:
        session.execute(update(ScheduleModel).values(paused_at=None))
    timekeeper.tick()

    assert len(executions(lab)) == 1


def end_all(lab: Lab) -> None:
    with lab.database.writing() as session:
        session.execute(update(ExecutionModel).values(status=ExecutionStatus.SUCCEEDED))


def test_a_due_time_that_finds_an_execution_at_work_is_skipped_and_logged(
    lab: Lab, app: Celery, timekeeper: Timekeeper
) -> None:
    schedule(lab, every_s=600, catch_up=CatchUp.ALL)

    with capture_logs() as logs:
        timekeeper.tick()

    assert (len(executions(lab)), message_count(app)) == (1, 1)
    assert [entry["event"] for entry in logs] == ["schedule.fired"] + ["schedule.skipped"] * (BATCH_SIZE - 1)
    assert stored(lab).skipped_count == BATCH_SIZE - 1


def test_what_waits_is_fired_once_the_execution_has_ended(
    lab: Lab, app: Celery, timekeeper: Timekeeper
) -> None:
    schedule(lab, overlap=Overlap.QUEUE)
    timekeeper.tick()
    with lab.database.writing() as session:
        session.execute(update(ScheduleModel).values(settled_until=stored(lab).settled_until - HOUR))
        session.execute(update(ExecutionModel).values(idempotency_key=f"{stored(lab).id}:earlier"))
    with capture_logs() as logs:
        timekeeper.tick()
        timekeeper.tick()
        assert len(executions(lab)) == 1
        end_all(lab)
        timekeeper.tick()
        timekeeper.tick()

    assert [entry["event"] for entry in logs] == ["schedule.queued", "schedule.fired"]
    assert (len(executions(lab)), message_count(app), stored(lab).waiting_due_at) == (2, 2, None)


class Overtaken(Database):
    """A database in which others do something whenever its user goes from reading to writing."""

    others: Callable[[], object]

    @contextmanager
    def writing(self) -> Iterator[Session]:
        self.others()
        with super().writing() as session:
            yield session


def test_two_that_read_the_same_schedule_fire_it_once(lab: Lab, app: Celery, timekeeper: Timekeeper) -> None:
    schedule(lab, catch_up=CatchUp.ALL, overlap=Overlap.ALLOW)
    overtaken = Overtaken(str(lab.database.engine.url))
    overtaken.others = timekeeper.tick

    Timekeeper(overtaken, CeleryDispatcher(app)).tick()
    overtaken.dispose()

    assert len(executions(lab)) == 5
    assert message_count(app) == 5


def test_what_was_fired_before_the_database_went_away_is_sent(lab: Lab, app: Celery) -> None:
    def go_away() -> None:
        if executions(lab):
            raise DatabaseUnavailableError("sqlite://", "gone")

    schedule(lab)
    schedule(lab, "other")
    overtaken = Overtaken(str(lab.database.engine.url))
    overtaken.others = go_away

    with pytest.raises(DatabaseUnavailableError):
        Timekeeper(overtaken, CeleryDispatcher(app)).tick()
    overtaken.dispose()

    assert len(executions(lab)) == 1
    assert message_count(app) == 1


def test_without_a_broker_executions_stay_queued_and_the_log_names_them(lab: Lab, tmp_path: Path) -> None:
    schedule(lab)
    schedule(lab, "other")
    app = make_app(load_settings(home=tmp_path, broker_url="redis://user:s3cret@127.0.0.1:1/0"))

    with capture_logs() as logs:
        Timekeeper(lab.database, CeleryDispatcher(app)).tick()

    assert [execution.status for execution in executions(lab)] == [ExecutionStatus.QUEUED] * 2
    [entry] = [entry for entry in logs if entry["event"] == "dispatch.failed"]
    assert set(entry["execution_ids"]) == {execution.id for execution in executions(lab)}
    assert "s3cret" not in str(logs)


def test_a_schedule_that_cannot_be_used_is_told_once_and_stops_no_other(
    lab: Lab, timekeeper: Timekeeper
) -> None:
    schedule(lab, "broken", every_s=1, cron="61 * * * *")
    schedule(lab)

    with capture_logs() as logs:
        timekeeper.tick()
        timekeeper.tick()

    assert len(executions(lab)) == 1
    [entry] = [entry for entry in logs if entry["event"] == "schedule.refused"]
    assert (entry["schedule"], entry["project"]) == ("broken", "lab")
    assert "the minute of the cron line '61 * * * *'" in entry["reason"]


def set_clock(database: Database, ahead: timedelta) -> None:
    """Let the clock of a database go wrong; that of this machine stays as it is."""

    def strftime(_form: str, _now: str, offset: str) -> str:
        seconds = timedelta(seconds=float(offset.split(maxsplit=1)[0]))
        return f"{datetime.now(UTC) + ahead + seconds:%Y-%m-%d %H:%M:%S.%f}"

    @event.listens_for(database.engine, "connect")
    def _connected(connection: sqlite3.Connection, _: object) -> None:
        connection.create_function("strftime", 3, strftime)

    database.engine.dispose()


@pytest.mark.parametrize(("hours", "count"), [(-6, 0), (0, 1), (1, 2)])
def test_the_clock_of_the_database_decides_what_is_due(
    lab: Lab, timekeeper: Timekeeper, hours: int, count: int
) -> None:
    schedule(lab)
    schedule(lab, "later", anchor=datetime.now(UTC), settled_until=datetime.now(UTC))

    set_clock(lab.database, hours * HOUR + timedelta(minutes=1))
    timekeeper.tick()

    assert len(executions(lab)) == count
