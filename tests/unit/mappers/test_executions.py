from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from agentic.core.masking import MASK, remember_secrets
from agentic.mappers import (
    AgentModel,
    Database,
    ExecutionModel,
    ExecutionStatus,
    StoredResults,
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
from agentic.mappers.catalog.execution_counts import counts_so_far
from agentic.mappers.catalog.executions import MAX_WARNINGS, add_warnings, cancel_unbegun
from agentic.mappers.tables.core import CrawlModel


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
        save_outcome(
            session,
            execution.project_id,
            execution.id,
            StoredResults(counts={"inserted": 3}, warnings=warnings),
        )
        finish_execution(
            session, execution.project_id, execution.id, ExecutionStatus.SUCCEEDED, superstep_count=4
        )

    found = stored(database, execution)
    assert (found.counts, found.superstep_count) == ({"inserted": 3}, 4)
    assert found.warnings == [*warnings[:MAX_WARNINGS], "... and 5 more"]


@pytest.mark.parametrize("outcome", [ExecutionStatus.PARTIAL, ExecutionStatus.FAILED])
def test_what_results_are_worth_is_the_status_once_the_run_has_ended(
    database: Database, execution: ExecutionModel, outcome: ExecutionStatus
) -> None:
    begin(database, execution)
    results = StoredResults(counts={"inserted": 1}, outcome=outcome, reason="2 of 3 items failed")
    with database.writing() as session:
        save_outcome(session, execution.project_id, execution.id, results)
    assert stored(database, execution).status is not outcome
    finish(database, execution, ExecutionStatus.SUCCEEDED)

    found = stored(database, execution)
    assert (found.status, found.reason, found.has_all_results) == (outcome, "2 of 3 items failed", True)
    assert found.error == ("2 of 3 items failed" if outcome is ExecutionStatus.FAILED else None)
    assert found.counts == {"inserted": 1}


@pytest.mark.parametrize("status", [ExecutionStatus.FAILED, ExecutionStatus.CANCELLED])
def test_an_execution_that_did_not_end_well_keeps_what_its_crawl_has_committed(
    database: Database, execution: ExecutionModel, status: ExecutionStatus
) -> None:
    begin(database, execution)
    with database.writing() as session:
        own = {"project_id": execution.project_id, "run": execution.id}
        session.add(CrawlModel(**own, total=9, done=5, failed=3, excluded=1, inserted=7, updated=2))
    so_far = {"inserted": 7, "updated": 2, "unchanged": 0, "rejected": 0, "failed": 2}
    with database.reading() as session:
        assert counts_so_far(session, execution.project_id, [stored(database, execution)]) == {
            execution.id: so_far
        }
    finish(database, execution, status, "cancelled")
    with database.writing() as session:  # a commit that was under way when it ended
        session.get_one(CrawlModel, (execution.project_id, execution.id)).inserted += 1
        found = counts_so_far(session, execution.project_id, [stored(database, execution)])
    assert found == {execution.id: {**so_far, "inserted": 8}}


def test_counts_of_crawls_are_those_of_their_own_project(
    database: Database, execution: ExecutionModel, stranger: AgentModel
) -> None:
    with database.writing() as session:
        session.add(CrawlModel(project_id=stranger.project_id, run=execution.id, inserted=7))
    finish(database, execution, ExecutionStatus.CANCELLED)
    with database.reading() as session:
        found = counts_so_far(session, execution.project_id, [stored(database, execution)])
    assert found == {execution.id: {}}


def test_warnings_add_up_without_repetition_and_the_rest_is_counted(
    database: Database, execution: ExecutionModel
) -> None:
    for start in (0, 50, 100):
        with database.writing() as session:
            warnings = [f"row {number}" for number in range(start, start + 60)]
            add_warnings(session, execution.project_id, execution.id, warnings)
    found = stored(database, execution).warnings
    assert found == [*(f"row {number}" for number in range(MAX_WARNINGS)), "... and 70 more"]


def test_an_execution_whose_run_never_began_is_cancelled_once(
    database: Database, execution: ExecutionModel
) -> None:
    for expected in (True, False):
        with database.writing() as session:
            assert cancel_unbegun(session, execution.project_id, execution.id) is expected
    found = stored(database, execution)
    assert (found.status, found.error) == (ExecutionStatus.CANCELLED, "cancelled")
    assert found.finished_at is not None


def test_an_execution_that_runs_is_not_cancelled_as_one_that_never_began(
    database: Database, execution: ExecutionModel
) -> None:
    queue(database, execution)
    begin(database, execution)
    with database.writing() as session:
        assert not cancel_unbegun(session, execution.project_id, execution.id)


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
        save_outcome(session, execution.project_id, execution.id, StoredResults(counts={}, warnings=warnings))
    finish(database, execution, ExecutionStatus.FAILED, "refused hush-7d-zebra")
    kept = stored(database, execution)
    assert (kept.error, kept.warnings) == (f"refused {MASK}", [f"kept {MASK}"])
