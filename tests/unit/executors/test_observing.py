from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from agentic.core.graph import EventKind, WorkflowEvent
from agentic.core.hooks import ObservedExecution, Observer, PluginRegistry, hookimpl
from agentic.core.types import RunId, SaveCounts
from agentic.executors import BaseAgentExecutor
from agentic.executors.agents.observing import Observers
from agentic.executors.agents.runner import run_execution

if TYPE_CHECKING:
    from tests.unit.executors.conftest import Lab

WAIT_S = 10.0


class Watcher:
    """A plugin that notes what it is told, and then does what the test wants."""

    def __init__(self) -> None:
        self.events: list[tuple[str, WorkflowEvent]] = []
        self.executions: list[tuple[str, ObservedExecution]] = []
        self.then: Callable[[], object] = lambda: None

    @hookimpl
    def agentic_event(self, event: WorkflowEvent, project: str) -> None:
        self.events.append((project, event))
        self.then()

    @hookimpl
    def agentic_execution_started(self, execution: ObservedExecution) -> None:
        self.executions.append(("started", execution))
        self.then()

    @hookimpl
    def agentic_execution_finished(self, execution: ObservedExecution) -> None:
        self.executions.append(("finished", execution))
        self.then()

    def numbers(self) -> list[int | None]:
        return [event.sequence for _, event in self.events]


ONE, OTHER = Watcher(), Watcher()


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    for watcher in (ONE, OTHER):
        watcher.__init__()  # type: ignore[misc] # as new


@pytest.fixture
def registry() -> PluginRegistry:
    return PluginRegistry([EntryPoint(name, f"{__name__}:{name}", "agentic") for name in ("ONE", "OTHER")])


def event(number: int) -> WorkflowEvent:
    return WorkflowEvent(EventKind.CUSTOM, RunId("r1"), 1.0, number)


def test_all_observers_are_told_of_events_in_order(lab: Lab, registry: PluginRegistry) -> None:
    observers = Observers(lab.database, registry)
    for number in range(1, 101):
        observers.tell("ours", event(number))
    observers.close(WAIT_S)
    assert ONE.numbers() == OTHER.numbers() == list(range(1, 101))
    assert {project for project, _ in ONE.events} == {"ours"}
    assert ONE.executions == []


@pytest.mark.parametrize(
    "fault", [ValueError("no such channel"), SystemExit(3), AssertionError(), asyncio.CancelledError()]
)
def test_one_that_raises_is_logged_and_the_others_are_told(
    lab: Lab, registry: PluginRegistry, fault: BaseException
) -> None:
    def fail() -> None:
        raise fault

    ONE.then = fail
    with capture_logs() as logs:
        observers = Observers(lab.database, registry)
        for number in range(25):
            observers.tell("ours", event(number))
        observers.close(WAIT_S)
    assert OTHER.numbers() == list(range(25))
    told = [(line["plugin"], line["hook"], line["count"]) for line in logs]
    assert told == [("ONE", "agentic_event", 1), ("ONE", "agentic_event", 10)]
    assert logs[0]["error"].startswith(type(fault).__name__)


def test_one_that_is_slow_delays_nobody_and_what_it_misses_is_counted(
    lab: Lab, registry: PluginRegistry
) -> None:
    may_go_on, has_begun = threading.Event(), threading.Event()

    def wait() -> None:
        has_begun.set()
        may_go_on.wait(WAIT_S)

    ONE.then = wait
    with capture_logs() as logs:
        observers = Observers(lab.database, registry, max_waiting=3)
        observers.tell("ours", event(0))
        assert has_begun.wait(WAIT_S)
        for number in range(1, 11):
            observers.tell("ours", event(number))
        may_go_on.set()
        observers.close(WAIT_S)
    assert ONE.numbers() == [0, 1, 2, 3]
    assert [(line["event"], line["left_out"]) for line in logs] == [("observers.behind", 7)]


def test_one_that_hangs_is_left_behind_when_the_process_ends(lab: Lab, registry: PluginRegistry) -> None:
    may_go_on, has_begun = threading.Event(), threading.Event()

    def hang() -> None:
        has_begun.set()
        may_go_on.wait(WAIT_S)

    ONE.then = hang
    with capture_logs() as logs:
        observers = Observers(lab.database, registry)
        observers.tell("ours", event(1))
        assert has_begun.wait(WAIT_S)
        observers.close(grace_s=0.01)
    may_go_on.set()
    assert [line["event"] for line in logs] == ["observers.left"]


def test_one_that_is_a_coroutine_is_a_fault_that_says_so() -> None:
    async def nobody_waits() -> None:
        raise AssertionError

    observer = Observer("ONE", "agentic_event", nobody_waits, [])
    with pytest.raises(TypeError, match="agentic_event is called without an event loop"):
        observer.tell({})


def test_without_observers_no_thread_is_started(lab: Lab) -> None:
    before = threading.active_count()
    observers = Observers(lab.database, PluginRegistry([]))
    observers.tell("ours", event(1))
    observers.close()
    assert threading.active_count() == before


class TestExecutions:
    async def test_begin_and_end_are_told_with_what_became_of_it(
        self, lab: Lab, registry: PluginRegistry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("agentic.executors.agents.observing.get_registry", lambda: registry)
        execution = lab.execution()
        await run_execution(execution.id, execution.agent_id, database=lab.database, bus=lab.bus)
        (first, started), (last, finished) = ONE.executions
        assert (first, last) == ("started", "finished")
        assert started.id == finished.id == execution.id
        assert (finished.project, finished.agent, finished.platform) == ("lab", "toy-agent", "toy")
        assert (finished.status, finished.error, finished.counts) == ("succeeded", None, SaveCounts())
        assert finished.started_at is not None
        assert finished.finished_at is not None
        assert ONE.events[-1][1].kind is EventKind.RUN_COMPLETED

    async def test_a_failure_is_told_with_its_error(
        self, lab: Lab, registry: PluginRegistry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def work(_executor: BaseAgentExecutor, _state: dict[str, object]) -> dict[str, object]:
            raise ValueError("the page is gone")

        lab.script.work = work
        monkeypatch.setattr("agentic.executors.agents.observing.get_registry", lambda: registry)
        execution = lab.execution()
        await run_execution(execution.id, execution.agent_id, database=lab.database, bus=lab.bus)
        _, finished = ONE.executions[-1]
        assert finished.status == "failed"
        assert "the page is gone" in (finished.error or "")

    async def test_an_agent_that_cannot_be_run_is_told_of_as_failed(
        self, lab: Lab, registry: PluginRegistry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("agentic.executors.agents.observing.get_registry", lambda: registry)
        execution = lab.execution(lab.agent(config={"limit": "many"}))
        await run_execution(execution.id, execution.agent_id, database=lab.database, bus=lab.bus)
        _, finished = ONE.executions[-1]
        assert finished.status == "failed"

    async def test_observers_that_fail_at_everything_change_nothing_of_a_run(
        self, lab: Lab, registry: PluginRegistry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail() -> None:
            raise SystemExit(1)

        ONE.then = OTHER.then = fail
        monkeypatch.setattr("agentic.executors.agents.observing.get_registry", lambda: registry)
        execution = lab.execution()
        outcome = await run_execution(execution.id, execution.agent_id, database=lab.database, bus=lab.bus)
        assert outcome.status == "succeeded"
        assert lab.result_count() == 1
