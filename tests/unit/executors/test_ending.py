"""How an execution ended is logged: once, with its ids, its time and its counts, and why if it failed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs
from tests.unit.executors.conftest import ToyExecutor

from agentic.core import WorkflowBuilder, executor
from agentic.core.http import FailureClass, FetchError
from agentic.core.types import SaveCounts
from agentic.executors import AgentWork, BaseAgentExecutor
from agentic.executors.agents.ending import class_of
from agentic.executors.agents.runner import begin_here, begin_waiting, find_both, first_of, run_execution
from agentic.executors.agents.workflows import KIND, flow_builder
from agentic.executors.durable import WorkflowCatalog
from agentic.executors.durable.reconcile.reconciler import Reconciler
from agentic.executors.durable.runs.local import LocalDispatcher
from agentic.executors.durable.runs.service import RunService
from agentic.executors.durable.worker.host import RunHost
from agentic.executors.errors import AgentNotRunnableError, NothingReadError, SourceRefusedError
from agentic.mappers import ExecutionModel
from agentic.mappers.ledger.ledger import SqlLedger

if TYPE_CHECKING:
    from tests.unit.executors.conftest import Lab

State = dict[str, object]
Line = MutableMapping[str, Any]
REFUSED = SourceRefusedError(FetchError("http://h/", FailureClass.GONE, "token s3cret-token is no good"))


@contextmanager
def ends() -> Iterator[list[Line]]:
    """Collect the lines that tell of ends, while the block runs."""
    found: list[Line] = []
    with capture_logs() as logs:
        yield found
    found += [line for line in logs if line["module"] == "agentic.executors.agents.ending"]


@pytest.fixture
def service(lab: Lab) -> Iterator[RunService]:
    """Yield what decides about runs of a project, beside workers that are all gone."""
    project = lab.execution().project_id
    builder = flow_builder(lab.database, project, "test")
    ledger = SqlLedger(lab.database, project_id=project)
    catalog = WorkflowCatalog({}, builders={KIND: builder})
    made = RunService(RunHost(store=ledger, catalog=catalog, dispatcher=LocalDispatcher(), is_alone=True))
    yield made
    made.close()
    ledger.rest()


async def begun(lab: Lab, service: RunService) -> ExecutionModel:
    execution, agent = find_both(lab.database, *ids(lab.execution(lab.agent("other"))))
    await begin_here(service, lab.database, execution, agent)
    return execution


def ids(execution: ExecutionModel) -> tuple[str, str]:
    return execution.id, execution.agent_id


async def run(lab: Lab, execution: ExecutionModel) -> None:
    await run_execution(*ids(execution), database=lab.database, bus=lab.bus)


def told_of(execution: ExecutionModel, line: Line) -> bool:
    whose = (line["execution_id"], line["agent_id"], line["platform"], line["attempts"])
    return whose == (*ids(execution), "toy", 1) and line["duration_s"] >= 0


@pytest.mark.requirement("PL27")
async def test_one_that_succeeded_tells_its_ids_its_time_and_its_counts(lab: Lab) -> None:
    def save(toy: BaseAgentExecutor, results: State) -> bool:
        mapper = toy.result_mapper()
        mapper.warn("a row is odd")
        mapper.counts += SaveCounts(inserted=3, unchanged=2)
        return mapper.save_results(results)

    lab.script.save = save
    execution = lab.execution()
    with ends() as found:
        await run(lab, execution)
        await run(lab, execution)  # a message may come twice
    (line,) = found
    assert told_of(execution, line)
    assert (line["event"], line["log_level"], line["warning_count"]) == ("execution.succeeded", "info", 1)
    assert [line[name] for name in ("inserted", "updated", "unchanged", "rejected")] == [3, 0, 2, 0]
    assert "error" not in line


@pytest.mark.requirement("PL24", "PL27")
async def test_one_that_failed_tells_why_without_secrets(lab: Lab) -> None:
    async def work(_toy: BaseAgentExecutor, _state: State) -> State:
        raise REFUSED

    lab.script.work = work
    execution = lab.execution(lab.agent(config={"token": "s3cret-token"}))
    with ends() as found:
        await run(lab, execution)
    (line,) = found
    assert told_of(execution, line)
    assert (line["event"], line["log_level"], line["failure_class"]) == ("execution.failed", "error", "gone")
    assert line["error"].startswith("http://h/ was not fetched (gone): token ****")
    assert "s3cret" not in str(line)


@pytest.mark.requirement("PL24", "PL27")
async def test_one_whose_graph_failed_tells_so_too(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    @executor(id="read")
    async def read(_: str) -> str:
        raise REFUSED

    graph = WorkflowBuilder("reading", version="1").set_start(read).build()
    work = AgentWork(workflow=graph, message_of=lambda _: "x", results_of=lambda _: {})
    monkeypatch.setattr(ToyExecutor, "work", lambda *_: work)
    execution = lab.execution()
    with ends() as found:
        await run(lab, execution)
    (line,) = found
    assert told_of(execution, line)
    assert (line["event"], line["failure_class"]) == ("execution.failed", "gone")


async def test_each_attempt_of_one_that_is_tried_again_has_its_own_end(lab: Lab) -> None:
    failures = [ValueError("no")]

    async def work(_toy: BaseAgentExecutor, _state: State) -> State:
        if failures:
            raise failures.pop()
        return {}

    lab.script.work = work
    execution = lab.execution()
    with ends() as found:
        await run(lab, execution)
        await run(lab, execution)
    assert [(line["event"], line["attempts"]) for line in found] == [
        ("execution.failed", 1),
        ("execution.succeeded", 2),
    ]


async def test_one_that_could_not_begin_tells_why(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(*_: object) -> AgentWork:
        raise AgentNotRunnableError("it has no pipeline")

    monkeypatch.setattr(ToyExecutor, "work", work)
    execution = lab.execution()
    with ends() as found:
        await run(lab, execution)
    (line,) = found
    assert told_of(execution, line)
    assert (line["event"], line["error"]) == ("execution.failed", "it has no pipeline")


async def test_one_whose_message_was_lost_and_that_cannot_begin_is_told_of_by_the_reconciler(
    lab: Lab, service: RunService, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(*_: object) -> AgentWork:
        raise AgentNotRunnableError("it has no pipeline")

    monkeypatch.setattr(ToyExecutor, "work", work)
    monkeypatch.setattr("agentic.executors.agents.runner.REDISPATCH_AFTER_S", 0.0)
    execution = lab.execution(lab.agent("other"))
    with ends() as found:
        await begin_waiting(service, lab.database, execution.project_id)
        await begin_waiting(service, lab.database, execution.project_id)
    assert [line["event"] for line in found if line["execution_id"] == execution.id] == ["execution.failed"]


async def test_one_that_is_cancelled_while_it_waits_is_told_of_once(lab: Lab, service: RunService) -> None:
    execution = await begun(lab, service)
    with ends() as found:
        await asyncio.gather(*(service.handle(execution.id).cancel() for _ in range(2)))
        await Reconciler(service.host).sweep()
    (line,) = found
    assert told_of(execution, line)
    assert (line["event"], line["log_level"]) == ("execution.cancelled", "info")
    assert "error" not in line


@pytest.mark.requirement("PL24")
async def test_one_that_the_reconciler_gives_up_is_told_of_once(lab: Lab, service: RunService) -> None:
    execution = await begun(lab, service)
    with ends() as found:
        for _ in range(6):  # each of its workers dies at once
            await service.host.ledger_executor.do(
                lambda ledger: ledger.claim(first_of(execution), "gone", lease_s=0.0)
            )
            await Reconciler(service.host).sweep()
    (line,) = found
    assert told_of(execution, line)
    assert line["event"] == "execution.failed"
    assert "its process died 3 time(s)" in line["error"]


async def test_an_end_that_was_not_kept_is_not_told_of(lab: Lab, service: RunService) -> None:
    execution = await begun(lab, service)
    first, other = service, RunService(service.host)
    with ends() as found:
        await asyncio.gather(first.handle(execution.id).cancel(), other.handle(execution.id).cancel())
    assert len(found) == 1


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (None, "error"),
        (NothingReadError(1, "no"), "error"),
        (TimeoutError(), "timeout"),
        (FetchError("http://h/", "http_503", "no"), "http_503"),
    ],
)
def test_the_failure_class_is_that_of_the_error_or_of_its_cause(error: Exception | None, word: str) -> None:
    assert class_of(error) == word
    if error is not None:
        outer = RuntimeError("outer")
        outer.__cause__ = error
        assert class_of(outer) == word
