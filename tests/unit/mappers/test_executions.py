from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from agentic.mappers import (
    AgentModel,
    Database,
    ExecutionLostError,
    ExecutionModel,
    ExecutionStateError,
    ExecutionStatus,
    UnknownExecutionError,
    claim_execution,
    create_execution,
    find_execution,
    finish_execution,
    list_executions,
    touch_execution,
)
from agentic.mappers.executions import TRANSITIONS, Outcome


@pytest.fixture
def execution(database: Database, agent: AgentModel) -> ExecutionModel:
    with database.writing() as session:
        return create_execution(session, agent)


def claim(database: Database, execution: ExecutionModel, worker: str = "w1") -> ExecutionModel | None:
    with database.writing() as session:
        return claim_execution(session, execution.id, execution.agent_id, worker)


def finish(database: Database, execution: ExecutionModel, outcome: Outcome) -> ExecutionModel:
    with database.writing() as session:
        return finish_execution(session, execution.id, **outcome)


def stop_heart(database: Database, execution: ExecutionModel, age_s: float = 60) -> None:
    with database.writing() as session:
        session.execute(
            update(ExecutionModel).values(heartbeat_at=datetime.now(UTC) - timedelta(seconds=age_s))
        )


def test_a_new_execution_is_queued_for_its_agent(execution: ExecutionModel, agent: AgentModel) -> None:
    assert (execution.status, execution.attempts) == (ExecutionStatus.QUEUED, 0)
    assert (execution.project_id, execution.agent_id) == (agent.project_id, agent.id)


def test_a_claim_makes_it_running_and_alive(database: Database, execution: ExecutionModel) -> None:
    claimed = claim(database, execution)
    assert claimed is not None
    assert (claimed.status, claimed.worker, claimed.attempts) == (ExecutionStatus.RUNNING, "w1", 1)
    assert claimed.heartbeat_at is not None
    assert claimed.heartbeat_at == claimed.started_at


def test_a_running_execution_is_not_claimed_again(database: Database, execution: ExecutionModel) -> None:
    assert claim(database, execution, "w1") is not None
    assert claim(database, execution, "w2") is None


def test_of_many_claims_at_once_exactly_one_wins(database: Database, execution: ExecutionModel) -> None:
    barrier = threading.Barrier(8)
    won: list[str] = []

    def run(worker: str) -> None:
        barrier.wait()
        if claim(database, execution, worker):
            won.append(worker)

    threads = [threading.Thread(target=run, args=(f"w{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    with database.reading() as session:
        assert find_execution(session, execution.project_id, execution.id).worker == won[0]


def test_an_abandoned_execution_is_claimed_by_another_worker(
    database: Database, execution: ExecutionModel
) -> None:
    claim(database, execution, "killed")
    stop_heart(database, execution)
    claimed = claim(database, execution, "w2")
    assert claimed is not None
    assert (claimed.worker, claimed.attempts) == ("w2", 2)


def test_a_heartbeat_keeps_an_execution_from_being_claimed(
    database: Database, execution: ExecutionModel
) -> None:
    claim(database, execution, "w1")
    stop_heart(database, execution)
    with database.writing() as session:
        assert touch_execution(session, execution.id, attempt=1)
    assert claim(database, execution, "w2") is None


def test_a_failed_execution_can_be_run_again(database: Database, execution: ExecutionModel) -> None:
    claim(database, execution)
    finish(database, execution, {"status": ExecutionStatus.FAILED, "error": "no network"})
    again = claim(database, execution)
    assert again is not None
    assert (again.attempts, again.error, again.finished_at) == (2, None, None)


@pytest.mark.parametrize("end", [ExecutionStatus.SUCCEEDED, ExecutionStatus.CANCELLED])
def test_an_ended_execution_is_not_claimed(
    database: Database, execution: ExecutionModel, end: ExecutionStatus
) -> None:
    claim(database, execution)
    finish(database, execution, {"status": end})
    assert claim(database, execution) is None


@pytest.mark.requirement("PL42")
def test_another_agent_cannot_claim_it(
    database: Database, execution: ExecutionModel, stranger: AgentModel
) -> None:
    with database.writing() as session, pytest.raises(UnknownExecutionError, match=stranger.id):
        claim_execution(session, execution.id, stranger.id, "w1")


def test_finishing_stores_the_outcome(database: Database, execution: ExecutionModel) -> None:
    claim(database, execution)
    finish(
        database,
        execution,
        {
            "status": ExecutionStatus.SUCCEEDED,
            "counts": {"inserted": 3},
            "superstep_count": 4,
            "event_count": 17,
            "attempt": 1,
        },
    )
    with database.reading() as session:
        stored = find_execution(session, execution.project_id, execution.id)
    assert (stored.status, stored.counts) == (ExecutionStatus.SUCCEEDED, {"inserted": 3})
    assert (stored.superstep_count, stored.event_count) == (4, 17)
    assert stored.finished_at is not None
    assert stored.started_at is not None
    assert stored.finished_at >= stored.started_at


def test_an_execution_that_was_never_sent_can_fail(database: Database, execution: ExecutionModel) -> None:
    assert (
        finish(database, execution, {"status": ExecutionStatus.FAILED, "error": "no broker"}).error
        == "no broker"
    )


def test_a_bad_transition_names_both_states(database: Database, execution: ExecutionModel) -> None:
    with pytest.raises(
        ExecutionStateError, match=r"is queued and cannot become succeeded \(only: cancelled, failed\)"
    ):
        finish(database, execution, {"status": ExecutionStatus.SUCCEEDED})


def test_nothing_is_finished_twice(database: Database, execution: ExecutionModel) -> None:
    claim(database, execution)
    finish(database, execution, {"status": ExecutionStatus.SUCCEEDED})
    with pytest.raises(ExecutionStateError, match="is succeeded and cannot become failed"):
        finish(database, execution, {"status": ExecutionStatus.FAILED})


def test_a_worker_that_was_overtaken_can_neither_touch_nor_finish(
    database: Database, execution: ExecutionModel
) -> None:
    claim(database, execution, "slow")
    stop_heart(database, execution)
    claim(database, execution, "fast")
    with database.writing() as session:
        assert not touch_execution(session, execution.id, attempt=1)
        assert touch_execution(session, execution.id, attempt=2)
    with pytest.raises(ExecutionLostError, match="attempt 1"):
        finish(database, execution, {"status": ExecutionStatus.SUCCEEDED, "attempt": 1})


def test_an_ended_execution_has_no_heartbeat(database: Database, execution: ExecutionModel) -> None:
    claim(database, execution)
    finish(database, execution, {"status": ExecutionStatus.CANCELLED})
    with database.writing() as session:
        assert not touch_execution(session, execution.id)


def test_every_state_has_its_transitions() -> None:
    assert set(TRANSITIONS) == set(ExecutionStatus)


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
