from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from agentic.core.masking import MASK, remember_secrets
from agentic.mappers import (
    AgentModel,
    Database,
    ExecutionModel,
    ExecutionStatus,
    UnknownExecutionError,
    begin_execution,
    create_execution,
    find_execution,
    finish_execution,
    list_executions,
    queue_execution,
    save_outcome,
    waiting_executions,
)
from agentic.mappers.executions import MAX_WARNINGS


@pytest.fixture
def execution(database: Database, agent: AgentModel) -> ExecutionModel:
    with database.writing() as session:
        return create_execution(session, agent)


def stored(database: Database, execution: ExecutionModel) -> ExecutionModel:
    with database.reading() as session:
        return find_execution(session, execution.project_id, execution.id)


def finish(database: Database, execution: ExecutionModel, status: ExecutionStatus, error: str = "") -> None:
    with database.writing() as session:
        finish_execution(session, execution.project_id, execution.id, status, error=error, event_count=7)


def queue(database: Database, execution: ExecutionModel) -> None:
    with database.writing() as session:
        queue_execution(session, execution.project_id, execution.id)


def begin(database: Database, execution: ExecutionModel, worker: str = "w1") -> None:
    with database.writing() as session:
        begin_execution(session, execution.project_id, execution.id, worker)


def test_a_new_execution_is_queued_for_its_agent(execution: ExecutionModel, agent: AgentModel) -> None:
    assert (execution.status, execution.attempts) == (ExecutionStatus.QUEUED, 0)
    assert (execution.project_id, execution.agent_id) == (agent.project_id, agent.id)


def test_the_worker_that_begins_first_is_noted(database: Database, execution: ExecutionModel) -> None:
    queue(database, execution)
    begin(database, execution, "w1")
    begin(database, execution, "w2")

    found = stored(database, execution)
    assert (found.status, found.worker, found.attempts) == (ExecutionStatus.RUNNING, "w1", 1)
    assert found.started_at is not None


def test_the_end_of_an_execution_is_noted_with_its_time(
    database: Database, execution: ExecutionModel
) -> None:
    queue(database, execution)
    begin(database, execution)
    finish(database, execution, ExecutionStatus.FAILED, error="quota\0 used up")

    found = stored(database, execution)
    assert (found.status, found.error, found.event_count) == (ExecutionStatus.FAILED, "quota used up", 7)
    assert found.finished_at is not None
    assert found.started_at is not None
    assert found.finished_at >= found.started_at


def test_going_on_after_an_end_is_another_attempt(database: Database, execution: ExecutionModel) -> None:
    queue(database, execution)
    finish(database, execution, ExecutionStatus.FAILED, error="quota used up")
    queue(database, execution)

    found = stored(database, execution)
    assert (found.status, found.attempts) == (ExecutionStatus.QUEUED, 2)
    assert (found.error, found.finished_at) == (None, None)


def test_going_on_after_an_answer_is_the_same_attempt(database: Database, execution: ExecutionModel) -> None:
    queue(database, execution)
    begin(database, execution)
    queue(database, execution)

    found = stored(database, execution)
    assert (found.status, found.attempts) == (ExecutionStatus.RUNNING, 1)


def test_what_storing_came_to_is_kept_with_the_first_warnings(
    database: Database, execution: ExecutionModel
) -> None:
    warnings = [f"row {number} has no id" for number in range(MAX_WARNINGS + 5)]
    with database.writing() as session:
        save_outcome(session, execution.project_id, execution.id, counts={"inserted": 3}, warnings=warnings)
        finish_execution(
            session, execution.project_id, execution.id, ExecutionStatus.SUCCEEDED, superstep_count=4
        )

    found = stored(database, execution)
    assert (found.counts, found.superstep_count) == ({"inserted": 3}, 4)
    assert found.warnings == [*warnings[:MAX_WARNINGS], "... and 5 more"]


def test_nothing_is_noted_of_an_execution_that_was_removed(
    database: Database, execution: ExecutionModel
) -> None:
    with database.writing() as session:
        session.delete(session.get(ExecutionModel, execution.id))

    queue(database, execution)
    finish(database, execution, ExecutionStatus.FAILED)

    with pytest.raises(UnknownExecutionError):
        stored(database, execution)


def test_executions_that_nobody_began_are_found_once_they_are_old_enough(
    database: Database, agent: AgentModel
) -> None:
    with database.writing() as session:
        lost, begun, fresh = (create_execution(session, agent) for _ in range(3))
        for each in (lost, begun):
            each.created_at = datetime.now(UTC) - timedelta(seconds=60)
        session.flush()
        queue_execution(session, begun.project_id, begun.id)

    with database.reading() as session:
        found = waiting_executions(session, agent.project_id, 30)
    assert [each.id for each in found] == [lost.id]
    assert fresh.id != lost.id


@pytest.mark.requirement("PL42")
def test_executions_are_seen_only_in_their_project(
    database: Database, execution: ExecutionModel, stranger: AgentModel
) -> None:
    with database.reading() as session:
        assert [e.id for e in list_executions(session, execution.project_id)] == [execution.id]
        assert list_executions(session, stranger.project_id) == []
        with pytest.raises(UnknownExecutionError):
            find_execution(session, stranger.project_id, execution.id)


def test_the_newest_executions_are_listed_first(database: Database, agent: AgentModel) -> None:
    made = []
    for _ in range(3):
        with database.writing() as session:
            made.append(create_execution(session, agent).id)
    with database.reading() as session:
        listed = [execution.id for execution in list_executions(session, agent.project_id, limit=2)]
    assert listed == [made[2], made[1]]


@pytest.mark.requirement("PL41")
def test_what_came_of_an_execution_has_no_secret_that_this_process_has_read(
    database: Database, execution: ExecutionModel
) -> None:
    remember_secrets("hush-7d-zebra")
    queue(database, execution)
    with database.writing() as session:
        warnings = ["kept hush-7d-zebra"]
        save_outcome(session, execution.project_id, execution.id, counts={}, warnings=warnings)
    finish(database, execution, ExecutionStatus.FAILED, "refused hush-7d-zebra")
    kept = stored(database, execution)
    assert (kept.error, kept.warnings) == (f"refused {MASK}", [f"kept {MASK}"])
