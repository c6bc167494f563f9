"""Removes executions with their durable runs, and agents with their executions."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Select, select

from agentic.core.types import RunId
from agentic.executors.errors import ExecutionError
from agentic.mappers import AgentModel, Database, ExecutionModel, find_agent
from agentic.mappers.catalog.execution_choice import ENDED, ExecutionGoesOnError, remove_execution
from agentic.mappers.catalog.projects import remove_agent
from agentic.mappers.runs.reading import LedgerReader
from agentic.mappers.runs.retention import OldRun, Retention


class ExecutionHeldError(ExecutionError):
    """Events of an execution's run are not published yet."""

    def __init__(self, execution: str) -> None:
        super().__init__(
            f"some events of execution {execution!r} are not published yet; check NATS and `agentic "
            "reconcile`, or add --unpublished"
        )
        self.execution = execution


class ExecutionRemoval:
    """Removes executions of a project that have ended.

    The run is removed first: if killed in between, the execution remains and can be removed again.

    Args:
        database: Holds them.
        project_id: Owns them.
        even_unpublished: Also executions with unpublished events.
    """

    def __init__(self, database: Database, project_id: str, *, even_unpublished: bool) -> None:
        self._database = database
        self._project_id = project_id
        self._even_unpublished = even_unpublished
        self._retention = Retention(database, project_id, 0.0)

    def remove(self, execution: ExecutionModel, agent_name: str) -> None:
        """Remove an execution: the decisions in its run stay in the audit.

        Raises:
            ExecutionGoesOnError: It has not ended.
            ExecutionHeldError: It has unpublished events.
        """
        run = self._run_of(execution)
        if run is not None:
            self._retention.remove(run)
        with self._database.writing() as session:
            remove_execution(session, execution, agent_name)

    def check(self, execution: ExecutionModel) -> None:
        """Check whether an execution can be removed. Raises as :meth:`remove`."""
        self._run_of(execution)

    def remove_agent(self, agent: AgentModel) -> None:
        """Remove an agent with all its executions and their runs.

        Raises:
            ExecutionGoesOnError: One of its executions has not ended; nothing is removed.
            ExecutionHeldError: One has unpublished events; nothing is removed.
        """
        self.check_agent(agent)
        for execution in self._of_agent(agent):
            self.remove(execution, agent.agent_name)
        with self._database.writing() as session:
            found = find_agent(session, self._project_id, agent.id)
            begun = session.scalars(_executions_of(found)).first()
            if begun is not None:  # since the look
                raise ExecutionGoesOnError(begun.id, begun.status)
            remove_agent(session, found)

    def check_agent(self, agent: AgentModel) -> None:
        """Check whether an agent can be removed. Raises as :meth:`remove_agent`."""
        for execution in self._of_agent(agent):
            self.check(execution)

    def _of_agent(self, agent: AgentModel) -> Sequence[ExecutionModel]:
        with self._database.reading() as session:
            return session.scalars(_executions_of(agent)).all()

    def _run_of(self, execution: ExecutionModel) -> OldRun | None:
        if execution.status not in ENDED:
            raise ExecutionGoesOnError(execution.id, execution.status)
        run = self._retention.of(RunId(execution.id), even_unpublished=self._even_unpublished)
        if run is None and self._has_run(execution.id):
            raise ExecutionHeldError(execution.id)
        return run

    def _has_run(self, execution_id: str) -> bool:
        with self._database.reading() as session:
            return bool(LedgerReader(session, self._project_id).named([RunId(execution_id)]))


def _executions_of(agent: AgentModel) -> Select[ExecutionModel]:
    mine = (ExecutionModel.project_id == agent.project_id, ExecutionModel.agent_id == agent.id)
    return select(ExecutionModel).where(*mine).order_by(ExecutionModel.created_at)
