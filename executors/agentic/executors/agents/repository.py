"""Database reads and writes of an agent's executions. Each method that opens a session blocks."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, cast

from sqlalchemy.exc import SQLAlchemyError

from agentic.core.graph.model.result import RunStatus
from agentic.core.hooks import get_registry
from agentic.core.logging import get_logger
from agentic.core.masking import KnownSecrets
from agentic.executors.agents.ending import ExecutionEnd, record_execution_end
from agentic.executors.agents.factory import ExecutorFactory, route_of
from agentic.executors.agents.redaction import Redactor
from agentic.executors.base import AgentWork, BaseAgentExecutor
from agentic.executors.errors import AgentGraphError, AgentNotRunnableError, ResultsRefusedError
from agentic.mappers import (
    AgentModel,
    Database,
    DataError,
    ExecutionModel,
    ExecutionStatus,
    StoredResults,
    UnknownExecutionError,
    begin_execution,
    queue_execution,
    save_outcome,
)

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from agentic.core.graph.model.events import WorkflowEvent
    from agentic.core.graph.model.state import RunState
    from agentic.core.types import JSONValue
    from agentic.executors.durable.runs.catalog import OnceKept

log = get_logger(__name__)

TALK_KIND = "talk"
"""Kind of the workflows that are conversations, see :mod:`agentic.executors.agents.talking`."""

WORK = "execute"
"""The executor of the agent, in superstep 1."""

MAX_READ = 50
"""Maximum number of an agent's secrets to search events for: more are unused cookies or tokens."""

ENDS = {
    RunStatus.COMPLETED: ExecutionStatus.SUCCEEDED,
    RunStatus.FAILED: ExecutionStatus.FAILED,
    RunStatus.CANCELLED: ExecutionStatus.CANCELLED,
}


class AgentRepository:
    """The rows of an agent and of its executions; an execution's durable run has its id.

    Args:
        database: Holds them.
        project_id: Owns the agent and the runs; other projects' runs are not seen.
        agent_id: The agent.
        worker: Name of this process.
        log_level: Level of failed executions; lower where the caller shows the errors.

    Attributes:
        agent_id: The agent.
        log_level: As given.
        redactor: Knows the secrets of its config, as last read by this process.
        secrets: Secrets that its handlers have read or received in this process.
    """

    def __init__(
        self,
        database: Database,
        project_id: str,
        agent_id: str,
        worker: str,
        log_level: int = logging.ERROR,
    ) -> None:
        self._database = database
        self._project_id = project_id
        self._worker = worker
        self.agent_id = agent_id
        self.log_level = log_level
        self.redactor = Redactor()
        self.secrets = KnownSecrets(MAX_READ)

    def work(self) -> AgentWork | None:
        """Return the graph that does the agent's work, if there is one.

        Raises:
            AgentNotRunnableError: The agent's config cannot run, or its platform fails with it.
            DataError: The database is unavailable.
            SQLAlchemyError: The database fails.
        """
        with self._database.reading() as session:
            agent = self._agent(session)
            platform = None if agent is None else get_registry().platforms.get(agent.agent_platform)
            if agent is None or platform is None:
                return None  # its executions fail, and say so
            self._note_secrets(agent)
            try:
                with self._attached(session, agent, "") as executor:
                    return executor.work(self._database)
            except (AgentNotRunnableError, DataError, SQLAlchemyError):
                raise
            except Exception as exc:  # any error of a plugin: a retry would not help
                reason = self.redactor.error(exc)
                raise AgentGraphError(agent.agent_name, agent.agent_platform, reason) from exc

    def route(self) -> str:
        """Return the route of the agent's work; "" if there is no such agent."""
        with self._database.reading() as session:
            agent = self._agent(session)
            return "" if agent is None else route_of(agent)

    def prepare(self, execution_id: str) -> dict[str, object]:
        """Validate the agent and return its executor's initial state.

        Raises:
            UnknownExecutionError: The execution was removed, or the agent.
            UnknownPlatformError: No plugin provides the agent's platform.
            AgentConfigError: The agent's config cannot run.
        """
        self.begin(execution_id)
        with self._database.reading() as session, self._lent(session, execution_id) as executor:
            executor.validate()
            return executor.create_initial_state()

    def begin(self, execution_id: str) -> BaseAgentExecutor:
        """Record that this process works on an execution; return an executor for it.

        Raises:
            UnknownExecutionError: The execution was removed, or the agent.
            UnknownPlatformError: No plugin provides the agent's platform.
        """
        with self._database.reading() as session:
            execution, agent = self._rows(session, execution_id)
        if execution.status is ExecutionStatus.QUEUED:
            with self._database.writing() as session:
                begin_execution(session, self._project_id, execution_id, self._worker)
        return ExecutorFactory.create(agent, execution_id=execution_id)

    def save(self, session: Session, execution_id: str, results: dict[str, object]) -> None:
        """Store results and counts in the transaction of ``session``.

        The executor may commit or roll back; that affects only its own writes.

        Raises:
            ResultsRefusedError: The executor or its mapper refuses them.
            UnknownExecutionError: The execution was removed, or the agent.
        """
        with self._lent(session, execution_id) as executor:
            is_kept = executor.save_results(self._clean_results(results))
            warnings = [self.redactor.text(warning) for warning in executor.warnings]
            if not is_kept:
                raise ResultsRefusedError(executor.agent.agent_name, warnings)
            session.commit()
            judgement = executor.judgement
        stored = StoredResults(
            counts={**asdict(executor.counts), "failed": executor.failed_count},
            warnings=warnings,
            outcome=ExecutionStatus(judgement.outcome),
            reason=self.redactor.text(judgement.reason) if judgement.reason else None,
            proxies=executor.proxy_uses,
        )
        save_outcome(session, self._project_id, execution_id, stored)

    def _clean_results(self, results: dict[str, object]) -> dict[str, object]:
        return cast("dict[str, object]", self.redactor.data(cast("JSONValue", results)))

    def clean(self, event: WorkflowEvent) -> WorkflowEvent:
        """Return ``event`` without the secrets known so far."""
        return self.redactor.joined(self.secrets.masker.secrets).event(event)

    def on_rest(self, session: Session, state: RunState) -> OnceKept | None:
        """Record the state of an execution's run; log its end after the commit."""
        if state.status is RunStatus.RUNNING:
            queue_execution(session, self._project_id, state.run_id)
            return None
        status = ENDS.get(state.status)
        if status is None:
            return None
        error = "cancelled" if status is ExecutionStatus.CANCELLED else None
        ending = ExecutionEnd(
            status=status,
            error=error if state.error is None else self.redactor.error(state.error),
            cause=state.error,
            superstep_count=state.superstep,
            child_run_id=f"{state.run_id}/{WORK}.1.0",
            event_count=state.sequence,
            log_level=self.log_level,
        )
        return record_execution_end(session, self._project_id, state.run_id, ending)

    @contextmanager
    def _lent(self, session: Session, execution_id: str) -> Iterator[BaseAgentExecutor]:
        _, agent = self._rows(session, execution_id)
        with self._attached(session, agent, execution_id) as executor:
            yield executor

    @contextmanager
    def _attached(
        self, session: Session, agent: AgentModel, execution_id: str
    ) -> Iterator[BaseAgentExecutor]:
        executor = ExecutorFactory.create(agent, execution_id=execution_id)
        with executor.attached(agent, session):
            yield executor

    def _rows(self, session: Session, execution_id: str) -> tuple[ExecutionModel, AgentModel]:
        execution, agent = session.get(ExecutionModel, execution_id), self._agent(session)
        if execution is None or agent is None or execution.agent_id != agent.id:
            raise UnknownExecutionError(execution_id, f"agent {self.agent_id!r}")
        self._note_secrets(agent)
        return execution, agent

    def _agent(self, session: Session) -> AgentModel | None:
        agent = session.get(AgentModel, self.agent_id)
        return None if agent is None or agent.project_id != self._project_id else agent

    def _note_secrets(self, agent: AgentModel) -> None:
        found = Redactor.of_agent(agent)
        if not set(found.secrets) <= set(self.redactor.secrets):
            self.redactor = self.redactor.joined(found.secrets)
