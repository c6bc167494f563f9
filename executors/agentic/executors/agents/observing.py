"""Reports executions and events to plugins, on a separate thread: no plugin can harm or delay a run."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from queue import Full, Queue

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from agentic.core.errors import line_of
from agentic.core.graph.model.events import LIFECYCLE_ENDS, EventKind, WorkflowEvent
from agentic.core.hooks import ObservedExecution, Observer, PluginRegistry, get_registry
from agentic.core.logging import get_logger
from agentic.core.types import JSONValue
from agentic.executors.agents.outcome import ExecutionOutcome
from agentic.mappers import AgentModel, Database, ExecutionModel, ProjectModel
from agentic.mappers.catalog.execution_counts import counts_so_far
from agentic.mappers.errors import DataError

log = get_logger(__name__)

MAX_WAITING = 10_000
"""Events that may wait for slow observers; further ones are dropped."""

GRACE_S = 3.0
"""How long the end of a process waits for them."""

EVENT, STARTED, FINISHED = "agentic_event", "agentic_execution_started", "agentic_execution_finished"


@dataclass(frozen=True, slots=True)
class _Told:
    """A report to observers: an event, or an execution that ended before its run began."""

    project: str
    event: WorkflowEvent | None
    execution_id: str


class Observers:
    """The observers among the installed plugins, for one process.

    Args:
        database: Holds the executions.
        registry: The plugins; the installed ones by default.
        max_waiting: How many events may wait.
    """

    def __init__(
        self, database: Database, registry: PluginRegistry | None = None, max_waiting: int = MAX_WAITING
    ) -> None:
        registry = registry or get_registry()
        self._database = database
        self._observers = {hook: registry.observers(hook) for hook in (EVENT, STARTED, FINISHED)}
        self._are_any = any(self._observers.values())
        self._waiting: Queue[_Told | None] = Queue(max_waiting)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._left_out = 0
        self._failures: dict[tuple[str, str], int] = {}

    def tell(self, project: str, event: WorkflowEvent) -> None:
        """Report a project's event to observers; returns at once, from any thread."""
        if self._are_any:
            self._put(_Told(project, event, event.run_id))

    def refused(self, project: str, execution_id: str) -> None:
        """Report an execution that failed before its run began."""
        if self._are_any:
            self._put(_Told(project, None, execution_id))

    def close(self, grace_s: float = GRACE_S) -> None:
        """Wait until everything was reported, for ``grace_s`` seconds at most; drop the rest.

        Blocks. A call that hangs stays on its thread, which does not keep the process alive.
        """
        thread = self._thread
        if thread is None:
            return
        until = time.monotonic() + grace_s
        try:
            self._waiting.put(None, timeout=grace_s)
        except Full:
            pass
        else:
            thread.join(max(0.0, until - time.monotonic()))
        if thread.is_alive():
            log.warning("observers.left", waiting=self._waiting.qsize())

    def _put(self, told: _Told) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._keep_telling, name="observers", daemon=True)
                self._thread.start()
            try:
                self._waiting.put_nowait(told)
            except Full:
                self._left_out += 1

    def _keep_telling(self) -> None:
        while (told := self._waiting.get()) is not None:
            with self._lock:
                left_out, self._left_out = self._left_out, 0
            if left_out:
                log.warning("observers.behind", left_out=left_out)
            self._tell(told)

    def _tell(self, told: _Told) -> None:
        event = told.event
        if event is not None:
            self._call(EVENT, {"event": event, "project": told.project})
        hook = _hook_of(event)
        if hook is not None and self._observers[hook]:
            execution = self._execution(told)
            if execution is not None:
                self._call(hook, {"execution": execution})

    def _call(self, hook: str, arguments: Mapping[str, object]) -> None:
        for observer in self._observers[hook]:
            try:
                observer.tell(arguments)
            # A CancelledError is not an Exception, and would end the thread for all observers.
            except BaseException as exc:
                self._failed(observer, exc)

    def _failed(self, observer: Observer, fault: BaseException) -> None:
        """Log an observer's first, tenth and hundredth failure: it may fail at every event."""
        key = (observer.plugin, observer.hook)
        count = self._failures[key] = self._failures.get(key, 0) + 1
        if count == 10 ** (len(str(count)) - 1):
            log.warning(
                "observer.failed",
                plugin=observer.plugin,
                hook=observer.hook,
                error=line_of(fault),
                count=count,
            )

    def _execution(self, told: _Told) -> ObservedExecution | None:
        """Return the run's execution; None if the run has none."""
        try:
            with self._database.reading() as session:
                found = session.execute(
                    select(ExecutionModel, AgentModel)
                    .join(AgentModel, AgentModel.id == ExecutionModel.agent_id)
                    .join(ProjectModel, ProjectModel.id == ExecutionModel.project_id)
                    .where(ExecutionModel.id == told.execution_id, ProjectModel.name == told.project)
                ).one_or_none()
                if found is None:
                    return None
                counts = counts_so_far(session, found[0].project_id, [found[0]])
                return observed(found[0], found[1], told.project, counts[found[0].id])
        except (DataError, SQLAlchemyError) as exc:
            log.warning("observers.blind", execution_id=told.execution_id, error=type(exc).__name__)
            return None


def observed(
    execution: ExecutionModel,
    agent: AgentModel,
    project: str,
    counts: Mapping[str, JSONValue] | None = None,
) -> ObservedExecution:
    """Return an observer's view of an execution of a project; ``counts`` are its stored rows so far."""
    outcome = ExecutionOutcome.of(execution, counts)
    return ObservedExecution(
        id=execution.id,
        project=project,
        agent=agent.agent_name,
        platform=agent.agent_platform,
        status=str(outcome.status),
        started_at=execution.started_at,
        finished_at=execution.finished_at,
        counts=outcome.counts,
        error=outcome.error,
        warnings=tuple(outcome.warnings),
    )


def _hook_of(event: WorkflowEvent | None) -> str | None:
    if event is None:
        return FINISHED
    if event.path:
        return None
    if event.kind in {EventKind.RUN_STARTED, EventKind.RUN_RESUMED}:
        return STARTED
    return FINISHED if event.kind in LIFECYCLE_ENDS else None
