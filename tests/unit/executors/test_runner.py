from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
import structlog
from structlog.testing import capture_logs

from agentic.core.bus import BusMessage, BusUnavailableError, MemoryBus
from agentic.core.graph import EventKind, WorkflowBuilder, WorkflowEvent, executor
from agentic.core.http import FailureClass, FetchError
from agentic.executors import BaseAgentExecutor
from agentic.executors.agents import runner
from agentic.executors.agents.runner import ExecutionOutcome, run_execution
from agentic.executors.durable.worker.process_names import process_name
from agentic.mappers import (
    AgentModel,
    Database,
    DatabaseUnavailableError,
    ExecutionModel,
    ExecutionStatus,
    UnknownExecutionError,
    add_agent,
    add_project,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.unit.executors.conftest import Lab

State = dict[str, object]

FETCH_FAILED = FetchError("http://h/", FailureClass.RATE_LIMITED, "it is busy", retry_after_s=0.1)


async def run(lab: Lab, execution: ExecutionModel) -> ExecutionOutcome:
    return await run_execution(execution.id, execution.agent_id, database=lab.database, bus=lab.bus)


@executor(id="upper")
async def upper(text: str) -> str:
    return text.upper()


UPPER = WorkflowBuilder("upper").set_start(upper).build()


class TestSuccess:
    @pytest.mark.requirement("PL01", "PL04", "PL22")
    async def test_an_execution_is_prepared_executed_and_saved(self, lab: Lab) -> None:
        execution = lab.execution()

        outcome = await run(lab, execution)

        found = lab.stored(execution.id)
        assert outcome.status is found.status is ExecutionStatus.SUCCEEDED
        assert (found.attempts, found.worker, found.superstep_count) == (1, process_name(), 3)
        assert found.event_count == outcome.event_count > 0
        assert found.finished_at is not None
        assert lab.result_count() == 1

    @pytest.mark.requirement("PL03")
    async def test_the_executor_gets_its_own_initial_state(self, lab: Lab) -> None:
        seen: list[State] = []

        async def work(_executor: BaseAgentExecutor, state: State) -> State:
            seen.append(state)
            return {}

        lab.script.work = work
        await run(lab, lab.execution(lab.agent(goals="a,b")))

        assert seen[0]["goals"] == ["a", "b"]

    async def test_a_graph_the_agent_runs_is_a_child_run_of_the_execution(self, lab: Lab) -> None:
        events: list[WorkflowEvent] = []

        async def work(executor: BaseAgentExecutor, _state: State) -> State:
            result = await executor.run_workflow(UPPER, "hi")
            return {"text": result.output(str)}

        lab.script.work = work
        execution = lab.execution()
        outcome = await run_execution(
            execution.id, execution.agent_id, on_event=events.append, database=lab.database, bus=lab.bus
        )

        child = [event for event in events if event.path == "execute/upper"]
        assert [event.kind for event in child[:3]] == [
            EventKind.EXECUTOR_INVOKED,
            EventKind.OUTPUT_PROVISIONAL,
            EventKind.EXECUTOR_COMPLETED,
        ]
        assert child[0].run_id == f"{execution.id}/execute.1.0"
        assert outcome.superstep_count == 3
        own = [event.sequence for event in events if event.run_id == execution.id and event.sequence]
        assert outcome.event_count == own[-1] == len(own)

    @pytest.mark.requirement("PL32")
    async def test_no_transaction_is_open_while_the_agent_works(self, lab: Lab) -> None:
        async def work(_executor: BaseAgentExecutor, _state: State) -> State:
            with lab.database.writing() as session:  # would wait for any other writer
                add_project(session, "made meanwhile")
            return {}

        lab.script.work = work

        assert (await run(lab, lab.execution())).status is ExecutionStatus.SUCCEEDED

    @pytest.mark.requirement("PL27")
    async def test_log_lines_of_a_run_carry_its_ids(self, lab: Lab) -> None:
        seen: State = {}

        async def work(_executor: BaseAgentExecutor, _state: State) -> State:
            seen.update(structlog.contextvars.get_contextvars())
            return {}

        lab.script.work = work
        execution = lab.execution()
        await run(lab, execution)

        assert seen == {
            "execution_id": execution.id,
            "agent_id": execution.agent_id,
            "platform": "toy",
            "run_id": execution.id,
            "activation": f"{execution.id}:1:execute:0",
        }

    async def test_its_events_are_published(self, lab: Lab) -> None:
        outcome = await run(lab, lab.execution())

        assert (await lab.bus.state()).count == outcome.event_count


class DownBus(MemoryBus):
    async def publish(self, messages: Sequence[BusMessage]) -> None:
        raise BusUnavailableError("nats://127.0.0.1:1", "refused")


async def test_a_bus_that_is_down_does_not_fail_a_run(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "PUBLISH_GRACE_S", 0.01)
    execution = lab.execution()

    outcome = await run_execution(execution.id, execution.agent_id, database=lab.database, bus=DownBus())

    assert outcome.status is ExecutionStatus.SUCCEEDED


class TestFailure:
    @pytest.mark.requirement("PL22", "PL24")
    async def test_a_raise_fails_the_execution_with_a_short_error(self, lab: Lab) -> None:
        async def work(_executor: BaseAgentExecutor, _state: State) -> State:
            raise RuntimeError("the site\nis gone")

        lab.script.work = work
        execution = lab.execution()
        outcome = await run(lab, execution)

        found = lab.stored(execution.id)
        assert found.status is outcome.status is ExecutionStatus.FAILED
        assert found.error == outcome.error == "RuntimeError: the site is gone"
        assert lab.result_count() == 0

    @pytest.mark.requirement("PL26")
    @pytest.mark.parametrize("error", [TimeoutError("no answer"), FETCH_FAILED])
    async def test_a_failure_that_may_pass_is_tried_again(self, lab: Lab, error: Exception) -> None:
        tries: list[str] = []

        async def work(executor: BaseAgentExecutor, _state: State) -> State:
            tries.append(executor.execution_id)
            if len(tries) == 1:
                raise error
            return {}

        lab.script.work = work
        execution = lab.execution()
        outcome = await run(lab, execution)

        assert outcome.status is ExecutionStatus.SUCCEEDED
        assert tries == lab.script.clean_ups == [execution.id] * 2

    @pytest.mark.requirement("PL22")
    async def test_a_returned_error_fails_the_execution_like_a_raise(self, lab: Lab) -> None:
        async def work(_executor: BaseAgentExecutor, _state: State) -> State:
            return {"error": "quota used up"}

        lab.script.work = work
        events: list[WorkflowEvent] = []
        execution = lab.execution()
        outcome = await run_execution(
            execution.id, execution.agent_id, on_event=events.append, database=lab.database, bus=lab.bus
        )

        assert (outcome.status, outcome.error) == (ExecutionStatus.FAILED, "quota used up")
        failed = [event.path for event in events if event.kind is EventKind.EXECUTOR_FAILED]
        assert failed == ["execute"]

    async def test_results_that_are_no_dict_fail_the_execution(self, lab: Lab) -> None:
        async def work(_executor: BaseAgentExecutor, _state: State) -> State:
            return None  # type: ignore[return-value]  # what a careless plugin does

        lab.script.work = work

        assert "must return a dict" in str((await run(lab, lab.execution())).error)

    @pytest.mark.requirement("PL25")
    async def test_a_config_that_does_not_fit_fails_before_any_work(self, lab: Lab) -> None:
        outcome = await run(lab, lab.execution(lab.agent(config={"limit": "many"})))

        assert outcome.status is ExecutionStatus.FAILED
        assert "limit: " in str(outcome.error)

    async def test_an_agent_of_an_unknown_platform_fails_with_its_name(self, lab: Lab) -> None:
        outcome = await run(lab, lab.execution(lab.agent(platform="gone")))

        assert outcome.status is ExecutionStatus.FAILED
        assert "'gone'" in str(outcome.error)

    @pytest.mark.requirement("PL41")
    async def test_no_secret_of_the_config_gets_into_records_events_or_logs(self, lab: Lab) -> None:
        async def work(executor: BaseAgentExecutor, _state: State) -> State:
            executor.context.report_progress(1, 2, "with s3cret-token")
            raise RuntimeError("GET https://u:pw@h/x?key=1 with s3cret-token failed")

        lab.script.work = work
        execution = lab.execution(lab.agent(config={"token": "s3cret-token"}))
        with capture_logs() as logs:
            outcome = await run(lab, execution)

        said = [event.payload.decode() async for event in lab.bus.read(until=1000)]
        everything = f"{lab.stored(execution.id).error} {outcome} {logs} {said}"
        assert "GET https://h/x with **********" in everything
        assert "s3cret-token" not in everything
        assert "u:pw" not in everything

    @pytest.mark.requirement("PL23")
    async def test_results_that_cannot_be_saved_leave_nothing_behind(self, lab: Lab) -> None:
        def save(executor: BaseAgentExecutor, results: State) -> bool:
            executor.result_mapper().save_results(results)
            executor.db_session.commit()
            raise ValueError("no such column")

        lab.script.save = save
        outcome = await run(lab, lab.execution())

        assert outcome.error == "ValueError: no such column"
        assert lab.result_count() == 0

    async def test_results_the_mapper_refuses_fail_the_execution_with_its_reasons(self, lab: Lab) -> None:
        def save(executor: BaseAgentExecutor, _results: State) -> bool:
            executor.result_mapper().warn("no story had an id")
            return False

        lab.script.save = save

        assert "no story had an id" in str((await run(lab, lab.execution())).error)

    @pytest.mark.requirement("PL23")
    async def test_an_executors_own_rollback_does_not_undo_the_end_of_the_execution(self, lab: Lab) -> None:
        def save(executor: BaseAgentExecutor, results: State) -> bool:
            executor.result_mapper().save_results(results)
            executor.db_session.rollback()
            return True

        lab.script.save = save
        execution = lab.execution()
        await run(lab, execution)

        assert lab.stored(execution.id).status is ExecutionStatus.SUCCEEDED
        assert lab.result_count() == 0


class TestCleanup:
    @pytest.mark.requirement("PL33")
    @pytest.mark.parametrize("is_good", [True, False])
    async def test_an_executor_is_cleaned_up_once_whatever_happens(self, lab: Lab, is_good: bool) -> None:
        async def work(_executor: BaseAgentExecutor, _state: State) -> State:
            if is_good:
                return {}
            raise RuntimeError

        lab.script.work = work
        execution = lab.execution()
        await run(lab, execution)

        assert lab.script.clean_ups == [execution.id]

    async def test_results_outlive_an_executor_of_which_nothing_else_does(self, lab: Lab) -> None:
        objects: list[BaseAgentExecutor] = []

        async def work(executor: BaseAgentExecutor, _state: State) -> State:
            objects.append(executor)
            return {"answer": 42}

        def save(executor: BaseAgentExecutor, results: State) -> bool:
            objects.append(executor)
            return executor.result_mapper().save_results(results)

        lab.script.work, lab.script.save = work, save
        await run(lab, lab.execution())

        assert objects[0] is not objects[1]
        assert lab.result_count() == 1


class TestClaims:
    async def test_the_same_execution_started_twice_runs_once(self, lab: Lab) -> None:
        started: list[str] = []

        async def work(executor: BaseAgentExecutor, _state: State) -> State:
            started.append(executor.execution_id)
            return {}

        lab.script.work = work
        execution = lab.execution()
        outcomes = await asyncio.gather(*(run(lab, execution) for _ in range(4)))

        assert {outcome.status for outcome in outcomes} == {ExecutionStatus.SUCCEEDED}
        assert started == [execution.id]

    async def test_a_failed_execution_goes_on_where_it_failed(self, lab: Lab) -> None:
        execution = lab.execution()

        async def fail(_executor: BaseAgentExecutor, _state: State) -> State:
            raise RuntimeError

        good, lab.script.work = lab.script.work, fail
        await run(lab, execution)
        lab.script.work = good
        await run(lab, execution)

        found = lab.stored(execution.id)
        assert (found.status, found.attempts, found.error) == (ExecutionStatus.SUCCEEDED, 2, None)

    async def test_an_execution_that_succeeded_is_not_run_again(self, lab: Lab) -> None:
        execution = lab.execution()
        outcomes = [await run(lab, execution) for _ in range(2)]

        assert outcomes[0] == outcomes[1]
        assert lab.script.clean_ups == [execution.id]

    @pytest.mark.requirement("PL42")
    async def test_an_execution_of_another_agent_is_refused(self, lab: Lab) -> None:
        execution = lab.execution()
        with lab.database.writing() as session:
            stranger = add_agent(session, add_project(session, "other"), "x", "toy")

        with pytest.raises(UnknownExecutionError, match=execution.id):
            await run_execution(execution.id, stranger.id, database=lab.database, bus=lab.bus)

        assert lab.stored(execution.id).status is ExecutionStatus.QUEUED

    async def test_an_agent_that_is_removed_while_it_works_leaves_nothing(self, lab: Lab) -> None:
        execution = lab.execution()

        async def remove(executor: BaseAgentExecutor, _state: State) -> State:
            with lab.database.writing() as session:
                session.delete(session.get(AgentModel, executor.agent.id))
            return {}

        lab.script.work = remove
        with pytest.raises(UnknownExecutionError):
            await run(lab, execution)

        assert lab.result_count() == 0


class TestCancellation:
    async def start(self, lab: Lab) -> tuple[ExecutionModel, asyncio.Task[ExecutionOutcome]]:
        working = asyncio.Event()

        async def work(_executor: BaseAgentExecutor, _state: State) -> State:
            working.set()
            await asyncio.Event().wait()
            return {}

        lab.script.work = work
        execution = lab.execution()
        task = asyncio.create_task(run(lab, execution))
        await working.wait()
        return execution, task

    async def test_cancelled_without_a_reason_it_ends_as_cancelled(self, lab: Lab) -> None:
        execution, task = await self.start(lab)

        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert lab.stored(execution.id).status is ExecutionStatus.CANCELLED
        assert lab.script.clean_ups == [execution.id]

    async def test_its_end_is_published(self, lab: Lab) -> None:
        _, task = await self.start(lab)

        task.cancel()
        await asyncio.wait([task])

        subjects = [stored.subject async for stored in lab.bus.read(until=1000)]
        assert subjects[-1].endswith(".cancelled")


class TestAGraphThatCannotBeMade:
    async def test_it_fails_the_execution_and_says_so_without_secrets(
        self, lab: Lab, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def work(executor: BaseAgentExecutor, _database: Database) -> None:
            raise RuntimeError(f"no extra for {executor.agent.config['token']}")

        monkeypatch.setattr(BaseAgentExecutor, "work", work)
        execution = lab.execution(lab.agent(config={"token": "hunter2-hunter2"}))

        outcome = await run(lab, execution)

        assert outcome.status is ExecutionStatus.FAILED
        assert outcome.error is not None
        assert "platform 'toy' could not build its graph: RuntimeError: no extra for" in outcome.error
        assert "hunter2" not in outcome.error

    async def test_a_database_that_is_away_is_no_fault_of_the_agent(
        self, lab: Lab, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def work(_executor: BaseAgentExecutor, _database: Database) -> None:
            raise DatabaseUnavailableError("sqlite:///away", "the file does not exist")

        monkeypatch.setattr(BaseAgentExecutor, "work", work)
        execution = lab.execution()

        with pytest.raises(DatabaseUnavailableError):
            await run(lab, execution)

        assert lab.stored(execution.id).status is ExecutionStatus.QUEUED
