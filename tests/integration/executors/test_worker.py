"""Executions through a real broker and real worker processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import update

from agentic.executors.config import RUN_AGENT
from agentic.executors.schedule import START_AGENT
from agentic.mappers import ExecutionModel, ExecutionStatus, create_execution
from agentic.mappers.columns import StoreNow

if TYPE_CHECKING:
    from tests.integration.executors.conftest import Place

    from agentic.mappers import AgentModel

pytestmark = pytest.mark.integration


SEND = """
import sys
from agentic.executors.tasks import run_agent
for _ in range(int(sys.argv[1])):
    run_agent.delay(sys.argv[2], sys.argv[3])
"""


def delay(place: Place, execution_id: str, agent_id: str, *, times: int = 1) -> None:
    """Call ``run_agent.delay(execution_id, agent_id)`` in a process of its own."""
    arguments = [sys.executable, "-c", SEND, str(times), execution_id, agent_id]
    subprocess.run(arguments, cwd=place.path, env=place.env, check=True)


@pytest.mark.requirement("PL17", "PL44", "BR03", "BR05")
def test_a_queued_execution_is_run_by_a_worker_and_its_result_stored(busy_place: Place) -> None:
    queued = busy_place.submit(busy_place.agent(say="hello"))
    found = busy_place.ended(queued.id)

    assert (found.status, found.attempts, found.superstep_count) == (ExecutionStatus.SUCCEEDED, 1, 3)
    assert str(found.worker).startswith("w0@test/")
    assert busy_place.results(found) == [{"said": "hello"}]


@pytest.mark.requirement("PL17")
def test_the_same_execution_delivered_three_times_runs_once(busy_place: Place) -> None:
    agent = busy_place.agent(say="once")
    with busy_place.database.writing() as session:
        execution = create_execution(session, agent)

    delay(busy_place, execution.id, agent.id, times=3)
    busy_place.ended(execution.id)
    busy_place.eventually(lambda: busy_place.worker_log.count("execution.refused") == 2)

    assert busy_place.starts().count(execution.id) == 1
    assert len(busy_place.results(execution)) == 1


@pytest.mark.requirement("PL24")
def test_a_failing_agent_leaves_a_failed_execution_and_a_short_error_in_the_log(busy_place: Place) -> None:
    found = busy_place.ended(busy_place.submit(busy_place.agent(fail="quota used up")).id)

    assert (found.status, found.error) == (ExecutionStatus.FAILED, "RuntimeError: quota used up")
    said = "ExecutionFailedError('RuntimeError: quota used up')"
    busy_place.eventually(lambda: said in busy_place.worker_log)
    assert busy_place.results(found) == []


def test_an_unknown_execution_fails_its_task_with_a_clear_message(busy_place: Place) -> None:
    delay(busy_place, "no-such-execution", busy_place.agent().id)

    said = "ExecutionFailedError(\"no execution 'no-such-execution'"
    busy_place.eventually(lambda: said in busy_place.worker_log)


def test_a_time_limit_fails_the_execution_and_says_so(busy_place: Place) -> None:
    agent = busy_place.agent(gate="never")
    with busy_place.database.writing() as session:
        execution = create_execution(session, agent)

    busy_place.app.send_task(RUN_AGENT, (execution.id, agent.id), soft_time_limit=1)

    found = busy_place.ended(execution.id)
    assert (found.status, found.error) == (ExecutionStatus.FAILED, "stopped: its time limit passed")


def test_a_schedule_of_an_unknown_agent_says_so_in_the_log(busy_place: Place) -> None:
    before = len(busy_place.executions())

    busy_place.app.send_task(START_AGENT, ("nobody", "default"))

    busy_place.eventually(lambda: "has no agent 'nobody'" in busy_place.worker_log)
    assert len(busy_place.executions()) == before


def run_until_it_works(place: Place, agent: AgentModel) -> tuple[ExecutionModel, subprocess.Popen[bytes]]:
    """Start a worker and an execution; return when the agent is at work, waiting for its gate."""
    worker = place.start_worker()
    execution = place.submit(agent)
    place.eventually((place.path / "gate.open").exists)
    return execution, worker


@pytest.mark.requirement("PL17")
def test_a_worker_killed_at_work_leaves_an_execution_that_shows_it_and_can_be_run_again(place: Place) -> None:
    agent = place.agent(gate="gate", say="at last")
    execution, worker = run_until_it_works(place, agent)
    place.kill(worker)

    assert place.execution(execution.id).status is ExecutionStatus.RUNNING
    refused = place.run("executions", "retry", execution.id)
    assert refused.returncode == 1
    assert "gave a sign of life" in refused.stderr
    let_pass(place, execution, seconds=45)
    assert "running, no heartbeat for 4" in place.run("executions", "list", "--json").stdout
    (place.path / "gate").touch()
    retried = place.run("executions", "retry", execution.id)

    assert retried.returncode == 0, retried.stderr
    found = place.execution(execution.id)
    assert (found.status, found.attempts) == (ExecutionStatus.SUCCEEDED, 2)
    assert place.results(found) == [{"said": "at last"}]


def test_a_lost_execution_can_be_handed_to_another_worker(place: Place) -> None:
    execution, worker = run_until_it_works(place, place.agent(gate="gate"))
    place.kill(worker)
    let_pass(place, execution, seconds=45)
    (place.path / "gate").touch()
    place.start_worker()

    retried = place.run("executions", "retry", execution.id, "--dispatcher", "celery")

    assert retried.returncode == 0, retried.stderr
    assert place.ended(execution.id).status is ExecutionStatus.SUCCEEDED


def let_pass(place: Place, execution: ExecutionModel, *, seconds: float) -> None:
    """Make the last heartbeat older, as if that time had passed."""
    with place.database.writing() as session:
        session.execute(
            update(ExecutionModel)
            .where(ExecutionModel.id == execution.id)
            .values(heartbeat_at=StoreNow(-seconds))
        )


def test_a_worker_told_to_stop_ends_what_it_does_and_gives_it_to_the_next(place: Place) -> None:
    execution, worker = run_until_it_works(place, place.agent(gate="gate", say="handed on"))

    worker.send_signal(signal.SIGTERM)
    worker.wait()

    stopped = place.execution(execution.id)
    assert (stopped.status, stopped.error) == (ExecutionStatus.FAILED, "stopped: its worker was stopped")
    (place.path / "gate").touch()
    place.start_worker()
    place.eventually(lambda: place.execution(execution.id).status is ExecutionStatus.SUCCEEDED)
    assert place.results(execution) == [{"said": "handed on"}]


def test_the_tasks_of_a_thread_pool_share_one_loop(place: Place) -> None:
    place.start_worker("--pool", "threads")
    agent = place.agent()

    queued = [place.submit(agent) for _ in range(3)]

    found = [place.ended(execution.id) for execution in queued]
    assert {execution.status for execution in found} == {ExecutionStatus.SUCCEEDED}
    assert len({execution.worker for execution in found}) == 1


@pytest.mark.requirement("BR07", "PL17")
def test_an_entry_of_celeryconfig_runs_an_agent_again_and_again(place: Place) -> None:
    place.agent(name="ticker", say="tick")
    (place.path / "celeryconfig.py").write_text(
        "from agentic.executors.schedule import every\n"
        "beat_schedule = {'tick': every(1, agent='ticker', project='default')}\n"
    )
    place.start_worker()
    place.start("celery", "-A", "agentic.executors", "beat", "-S", "agentic.executors.beat:LedgerScheduler")

    place.eventually(lambda: len(place.starts()) >= 2)

    first, second = place.executions()[:2]
    assert (second.created_at - first.created_at).total_seconds() == pytest.approx(1, abs=0.9)
    assert place.ended(first.id).status is ExecutionStatus.SUCCEEDED


def test_a_database_that_is_not_migrated_fails_the_task_with_the_next_step(place: Place) -> None:
    worker = place.start_worker()
    place.database.dispose()
    (place.path / "home" / "agentic.db").unlink()

    delay(place, "an-execution", "an-agent")

    place.eventually(lambda: "run `agentic db upgrade`" in place.log_of(worker))
    assert not (place.path / "home" / "agentic.db").exists()


@pytest.mark.parametrize("command", ["worker", "beat"])
def test_celery_refuses_to_start_without_a_broker(place: Place, command: str) -> None:
    place.env["AGENTIC_BROKER_URL"] = ""

    process = place.start("celery", "-A", "agentic.executors", command)

    assert process.wait() == 3
    assert "AGENTIC_BROKER_URL" in place.log_of(process)


def test_a_worker_started_by_the_celery_command_works_the_same(place: Place) -> None:
    place.start("celery", "-A", "agentic.executors", "worker", "--pool", "solo", "--hostname", "plain@test")

    found = place.ended(place.submit(place.agent(say="plain")).id)

    assert (found.status, str(found.worker).split("/")[0]) == (ExecutionStatus.SUCCEEDED, "plain@test")
    assert os.getpid() != int(str(found.worker).split("/")[1])
