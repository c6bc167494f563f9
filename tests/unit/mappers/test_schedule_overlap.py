"""A due time that finds an execution of its schedule at work is skipped, waits, or runs beside it."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from sqlalchemy import select, update
from tests.databases import only_sqlite

from agentic.core.audit import DecisionKind
from agentic.mappers import (
    AgentModel,
    Database,
    ExecutionModel,
    ExecutionStatus,
    Overlap,
    ScheduleModel,
    add_schedule,
    pause_schedule,
)
from agentic.mappers.audit import DecisionFilter, newest_decisions
from agentic.mappers.catalog.schedule_firing import HoldReason, execution_at_work, fire_schedule, fire_waiting
from agentic.mappers.catalog.schedules import change_schedule

HOUR = timedelta(hours=1)
UNENDED = (ExecutionStatus.QUEUED, ExecutionStatus.RUNNING)
ENDED = (ExecutionStatus.SUCCEEDED, ExecutionStatus.FAILED, ExecutionStatus.CANCELLED)


class Firing:
    """A schedule of an agent that is due each hour, and is fired hour by hour."""

    def __init__(self, database: Database, agent: AgentModel, overlap: Overlap) -> None:
        self.database = database
        with database.writing() as session:
            self.anchor = add_schedule(session, agent, "hourly", every_s=3600, overlap=overlap).anchor
        self.hour = 0

    @property
    def schedule(self) -> ScheduleModel:
        with self.database.reading() as session:
            return session.scalars(select(ScheduleModel)).one()

    def fire(self) -> str:
        self.hour += 1
        with self.database.writing() as session:
            fired = fire_schedule(session, self.schedule, self.anchor + self.hour * HOUR)
        return "fired" if isinstance(fired, ExecutionModel) else str(fired)

    def fire_waiting(self) -> bool:
        with self.database.writing() as session:
            return fire_waiting(session, self.schedule) is not None

    def end(self, status: ExecutionStatus = ExecutionStatus.SUCCEEDED) -> None:
        with self.database.writing() as session:
            session.execute(update(ExecutionModel).values(status=status))

    def hours(self) -> list[int]:
        """Return which hours have an execution."""
        with self.database.reading() as session:
            keys = session.scalars(select(ExecutionModel.idempotency_key))
            due = [self.anchor + hour * HOUR for hour in range(20)]
            known = {str(key).partition(":")[2] for key in keys}
            return [hour for hour, moment in enumerate(due) if moment.isoformat() in known]


@pytest.mark.parametrize("status", UNENDED)
def test_by_default_a_due_time_is_skipped_while_an_execution_is_at_work(
    database: Database, agent: AgentModel, status: ExecutionStatus
) -> None:
    firing = Firing(database, agent, Overlap.SKIP)
    assert firing.schedule.overlap is Overlap.SKIP
    assert firing.fire() == "fired"
    firing.end(status)
    assert [firing.fire(), firing.fire()] == [HoldReason.SKIPPED, HoldReason.SKIPPED]
    assert firing.hours() == [1]
    assert firing.schedule.skipped_count == 2
    assert firing.schedule.last_due_at == firing.anchor + HOUR
    assert firing.schedule.settled_until == firing.anchor + 3 * HOUR


@only_sqlite
@pytest.mark.parametrize("status", ENDED)
def test_however_the_last_execution_ended_the_next_due_time_is_fired(
    database: Database, agent: AgentModel, status: ExecutionStatus
) -> None:
    firing = Firing(database, agent, Overlap.SKIP)
    firing.fire()
    firing.end(status)
    assert firing.fire() == "fired"
    assert firing.hours() == [1, 2]


def test_one_due_time_waits_and_those_after_it_are_skipped(database: Database, agent: AgentModel) -> None:
    firing = Firing(database, agent, Overlap.QUEUE)
    assert [firing.fire() for _ in range(4)] == [
        "fired",
        HoldReason.WAITING,
        HoldReason.SKIPPED,
        HoldReason.SKIPPED,
    ]
    assert not firing.fire_waiting()
    firing.end()
    assert firing.fire() == HoldReason.SKIPPED  # an earlier one is first
    assert firing.fire_waiting()
    assert not firing.fire_waiting()
    assert firing.hours() == [1, 2]
    assert (firing.schedule.waiting_due_at, firing.schedule.skipped_count) == (None, 3)


def test_where_it_is_allowed_each_due_time_is_fired(database: Database, agent: AgentModel) -> None:
    firing = Firing(database, agent, Overlap.ALLOW)
    assert [firing.fire() for _ in range(3)] == ["fired"] * 3
    assert firing.schedule.skipped_count == 0


@pytest.mark.parametrize("overlap", [Overlap.SKIP, Overlap.QUEUE])
def test_of_two_beats_at_different_due_times_one_fires(
    database: Database, agent: AgentModel, overlap: Overlap
) -> None:
    firing = Firing(database, agent, overlap)
    read = [firing.schedule for _ in range(4)]
    together = threading.Barrier(len(read))
    outcomes: list[object] = []

    def compete(number: int) -> None:
        together.wait()
        due = firing.anchor + (number + 1) * HOUR
        fired: object = None
        for _ in range(2):  # that another one was faster is seen, and it looks again
            with database.writing() as session:
                fired = fire_schedule(session, read[number], due)
            if fired is not None:
                break
            read[number] = firing.schedule
        outcomes.append(fired)

    threads = [threading.Thread(target=compete, args=(number,)) for number in range(len(read))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [isinstance(one, ExecutionModel) for one in outcomes].count(True) == 1
    assert len(firing.hours()) == 1


def test_of_two_beats_one_fires_what_waits(database: Database, agent: AgentModel) -> None:
    firing = Firing(database, agent, Overlap.QUEUE)
    firing.fire()
    firing.fire()
    firing.end()
    read = firing.schedule
    together = threading.Barrier(3)
    fired: list[bool] = []

    def compete() -> None:
        together.wait()
        with database.writing() as session:
            fired.append(fire_waiting(session, read) is not None)

    threads = [threading.Thread(target=compete) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(fired) == [False, False, True]
    assert firing.hours() == [1, 2]


@only_sqlite
def test_what_is_skipped_or_waits_is_a_decision_that_names_the_execution_at_work(
    database: Database, agent: AgentModel
) -> None:
    firing = Firing(database, agent, Overlap.QUEUE)
    for _ in range(3):
        firing.fire()
    with database.reading() as session:
        busy_id = execution_at_work(session, firing.schedule)
        skipped, waiting = newest_decisions(session, agent.project_id, DecisionFilter(), 2)
    assert waiting.kind is DecisionKind.SCHEDULE_QUEUED
    assert skipped.kind is DecisionKind.SCHEDULE_SKIPPED
    assert waiting.details["execution_id"] == skipped.details["execution_id"] == busy_id
    assert f"execution {busy_id} is still running and an earlier due time waits already" in skipped.reason


@only_sqlite
def test_executions_that_the_schedule_did_not_start_do_not_hold_it(
    database: Database, agent: AgentModel
) -> None:
    firing = Firing(database, agent, Overlap.SKIP)
    with database.writing() as session:
        session.add(ExecutionModel(project_id=agent.project_id, agent_id=agent.id))
        session.add(
            ExecutionModel(project_id=agent.project_id, agent_id=agent.id, idempotency_key="another:one")
        )
    assert firing.fire() == "fired"


@only_sqlite
def test_a_schedule_that_is_changed_still_knows_its_execution_at_work(
    database: Database, agent: AgentModel
) -> None:
    firing = Firing(database, agent, Overlap.ALLOW)
    firing.fire()
    with database.writing() as session:
        schedule = session.scalars(select(ScheduleModel)).one()
        change_schedule(session, schedule, agent, every_s=1800, overlap=Overlap.SKIP)
    assert firing.fire() == HoldReason.SKIPPED


@only_sqlite
def test_pausing_drops_what_waits(database: Database, agent: AgentModel) -> None:
    firing = Firing(database, agent, Overlap.QUEUE)
    firing.fire()
    firing.fire()
    with database.writing() as session:
        pause_schedule(session, session.scalars(select(ScheduleModel)).one())
    firing.end()
    assert firing.schedule.waiting_due_at is None
    assert not firing.fire_waiting()
