"""Schedules as rows: one per name, fired once per due time, each in its project."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta

import pytest
from sqlalchemy import select, update
from tests.databases import only_sqlite

from agentic.mappers import (
    AgentModel,
    CatchUp,
    Database,
    DuplicateScheduleError,
    ExecutionModel,
    ExecutionStatus,
    ProjectModel,
    ScheduleModel,
    UnknownScheduleError,
    add_schedule,
    find_agent,
    find_schedule,
    list_schedules,
    pause_schedule,
    resume_schedule,
)
from agentic.mappers.catalog.projects import disable_agent, enable_agent
from agentic.mappers.catalog.schedule_firing import HoldReason, fire_schedule, give_up_due_times
from agentic.mappers.catalog.schedules import active_schedules, store_now

HOUR = timedelta(hours=1)


@pytest.fixture
def schedule(database: Database, agent: AgentModel) -> ScheduleModel:
    with database.writing() as session:
        return add_schedule(session, agent, "hourly", every_s=3600)


def stored(database: Database) -> ScheduleModel:
    with database.reading() as session:
        return session.scalars(select(ScheduleModel)).one()


def fire(database: Database, schedule: ScheduleModel, due: datetime) -> ExecutionModel | HoldReason | None:
    with database.writing() as session:
        return fire_schedule(session, schedule, due)


def execution_count(database: Database) -> int:
    with database.reading() as session:
        return session.query(ExecutionModel).count()


def test_a_new_schedule_is_due_from_now_on_by_the_clock_of_the_database(
    database: Database, schedule: ScheduleModel
) -> None:
    found = stored(database)
    with database.reading() as session:
        age = store_now(session) - found.anchor
    assert timedelta() <= age < timedelta(seconds=20)
    assert found.anchor == found.settled_until
    assert found.anchor.microsecond == 0
    assert (found.timezone, found.jitter_s, found.catch_up) == ("UTC", 0, CatchUp.LAST)
    assert found.agent.project.name == "ours"


def test_a_name_is_unique_in_its_project_only(
    database: Database, schedule: ScheduleModel, agent: AgentModel, stranger: AgentModel
) -> None:
    with database.writing() as session:
        add_schedule(session, stranger, "hourly", cron="0 * * * *")
    taken = pytest.raises(DuplicateScheduleError, match="'ours' has a schedule 'hourly' already")
    with taken, database.writing() as session:
        add_schedule(session, agent, "hourly", every_s=1)


@only_sqlite
def test_schedules_of_other_projects_are_not_seen(
    database: Database, schedule: ScheduleModel, project: ProjectModel, stranger: AgentModel
) -> None:
    with database.reading() as session:
        assert find_schedule(session, project, "hourly").id == schedule.id
        assert [found.id for found in list_schedules(session, project.id)] == [schedule.id]
        assert list_schedules(session, stranger.project_id) == []
        with pytest.raises(UnknownScheduleError, match=r"'theirs' has no schedule 'hourly' \(known: none\)"):
            find_schedule(session, stranger.project, "hourly")


@pytest.mark.requirement("BR07")
def test_a_due_time_becomes_one_queued_execution(database: Database, schedule: ScheduleModel) -> None:
    due = schedule.anchor + HOUR
    execution = fire(database, schedule, due)

    assert isinstance(execution, ExecutionModel)
    assert (execution.agent_id, execution.status) == (schedule.agent_id, ExecutionStatus.QUEUED)
    assert execution.idempotency_key == f"{schedule.id}:{due.isoformat()}"
    found = stored(database)
    assert (found.settled_until, found.last_due_at) == (due, due)


@only_sqlite
def test_who_read_the_schedule_before_it_was_fired_does_not_fire_it_again(
    database: Database, schedule: ScheduleModel
) -> None:
    due = schedule.anchor + HOUR
    assert fire(database, schedule, due) is not None
    assert fire(database, schedule, due) is None
    assert execution_count(database) == 1


def test_of_many_at_once_one_fires(database: Database, schedule: ScheduleModel) -> None:
    due = schedule.anchor + HOUR
    together = threading.Barrier(4)
    fired: list[ExecutionModel | HoldReason | None] = []

    def compete() -> None:
        together.wait()
        fired.append(fire(database, schedule, due))

    threads = [threading.Thread(target=compete) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [execution is None for execution in fired].count(False) == 1
    assert execution_count(database) == 1


def test_a_due_time_that_comes_again_as_the_clock_was_turned_back_is_not_fired_twice(
    database: Database, schedule: ScheduleModel
) -> None:
    due = schedule.anchor + HOUR
    assert fire(database, schedule, due) is not None
    with database.writing() as session:
        session.execute(update(ScheduleModel).values(settled_until=schedule.anchor))

    assert fire(database, schedule, due) is None

    assert stored(database).settled_until == due  # it goes on from there
    assert execution_count(database) == 1


@only_sqlite
def test_a_transaction_that_fails_leaves_the_due_time_to_the_next(
    database: Database, schedule: ScheduleModel
) -> None:
    due = schedule.anchor + HOUR
    with database.writing() as session:
        assert fire_schedule(session, schedule, due) is not None
        session.rollback()
    assert execution_count(database) == 0
    assert fire(database, schedule, due) is not None


def test_a_paused_schedule_is_not_fired_and_goes_on_from_when_it_is_resumed(
    database: Database, schedule: ScheduleModel, project: ProjectModel
) -> None:
    with database.writing() as session:
        session.execute(update(ScheduleModel).values(settled_until=schedule.anchor - HOUR))
    with database.writing() as session:
        pause_schedule(session, find_schedule(session, project, "hourly"))
    paused = stored(database)
    with database.reading() as session:
        assert active_schedules(session) == []
    assert fire(database, paused, schedule.anchor + HOUR) is None
    with database.writing() as session:
        assert not give_up_due_times(session, paused, schedule.anchor)

    with database.writing() as session:
        resume_schedule(session, find_schedule(session, project, "hourly"))

    assert stored(database).settled_until >= schedule.anchor
    with database.reading() as session:
        assert [found.id for found in active_schedules(session)] == [schedule.id]


@only_sqlite
def test_pausing_and_resuming_twice_change_nothing(
    database: Database, schedule: ScheduleModel, project: ProjectModel
) -> None:
    def paused_at() -> datetime | None:
        with database.writing() as session:
            pause_schedule(session, find_schedule(session, project, "hourly"))
        return stored(database).paused_at

    assert paused_at() == paused_at()
    before = schedule.settled_until - HOUR
    with database.writing() as session:
        resume_schedule(session, find_schedule(session, project, "hourly"))
        session.execute(update(ScheduleModel).values(settled_until=before))
    with database.writing() as session:
        resume_schedule(session, find_schedule(session, project, "hourly"))
    assert stored(database).settled_until == before


@only_sqlite
def test_due_times_can_be_given_up(database: Database, schedule: ScheduleModel) -> None:
    with database.writing() as session:
        assert give_up_due_times(session, schedule, schedule.anchor + HOUR)
    found = stored(database)
    assert (found.settled_until, found.last_due_at) == (schedule.anchor + HOUR, None)


@only_sqlite
def test_a_schedule_goes_with_its_agent(
    database: Database, schedule: ScheduleModel, agent: AgentModel
) -> None:
    with database.writing() as session:
        session.delete(session.get_one(AgentModel, agent.id))
    with database.reading() as session:
        assert active_schedules(session) == []
    assert fire(database, schedule, schedule.anchor + HOUR) is None


def test_executions_without_a_key_are_as_many_as_one_likes(database: Database, agent: AgentModel) -> None:
    with database.writing() as session:
        session.add_all(ExecutionModel(project_id=agent.project_id, agent_id=agent.id) for _ in range(2))
    assert execution_count(database) == 2


def test_the_schedules_of_a_disabled_agent_fire_nothing_and_go_on_from_when_it_is_enabled(
    database: Database, agent: AgentModel, schedule: ScheduleModel
) -> None:
    known = stored(database)
    with database.writing() as session:
        session.execute(update(ScheduleModel).values(settled_until=known.settled_until - 5 * HOUR))
        disable_agent(session, find_agent(session, agent.project_id, agent.id))
    late = stored(database)
    with database.reading() as session:
        assert active_schedules(session) == []
    # Whoever read it before cannot fire it either.
    assert fire(database, late, late.settled_until + HOUR) is None
    with database.writing() as session:
        enable_agent(session, find_agent(session, agent.project_id, agent.id))
    with database.reading() as session:
        (active,) = active_schedules(session)
        assert store_now(session) - active.settled_until < timedelta(seconds=20)
