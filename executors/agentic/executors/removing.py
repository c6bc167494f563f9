"""Executions removed with their durable runs."""

from __future__ import annotations

from functools import cached_property

from agentic.core.types import RunId
from agentic.executors.errors import ExecutionError
from agentic.mappers import Database, ExecutionModel
from agentic.mappers.execution_choice import ENDED, ExecutionGoesOnError, remove_execution
from agentic.mappers.ledger_reading import LedgerReader
from agentic.mappers.ledger_retention import OldRun, Retention


class ExecutionHeldError(ExecutionError):
    """Events of an execution's run are not published yet."""

    def __init__(self, execution: str) -> None:
        super().__init__(
            f"some events of execution {execution!r} are not published yet; see to NATS and "
            f"`agentic reconcile`, or give --unpublished"
        )
        self.execution = execution


class ExecutionRemoval:
    """Removes executions of a project that have ended.

    The run goes first: killed in between, an execution is left without it, and can be removed again.

    Args:
        database: Holds them.
        project_id: Owns them.
        even_unpublished: Also those of which events are not published yet.
    """

    def __init__(self, database: Database, project_id: str, *, even_unpublished: bool) -> None:
        self._database = database
        self._project_id = project_id
        self._even_unpublished = even_unpublished
        self._retention = Retention(database, project_id, 0.0)

    def remove(self, execution: ExecutionModel, agent_name: str) -> None:
        """Remove an execution: what was decided in its run stays in the audit.

        Raises:
            ExecutionGoesOnError: It has not ended.
            ExecutionHeldError: Events of it are not published yet.
        """
        run = self._run_of(execution)
        if run is not None:
            self._retention.remove(run)
        with self._database.writing() as session:
            remove_execution(session, execution, agent_name)

    def check(self, execution: ExecutionModel) -> None:
        """Look whether an execution can be removed. Raises as :meth:`remove`."""
        self._run_of(execution)

    def _run_of(self, execution: ExecutionModel) -> OldRun | None:
        if execution.status not in ENDED:
            raise ExecutionGoesOnError(execution.id, execution.status)
        run = self._ended.get(execution.id)
        if run is None and self._has_run(execution.id):
            raise ExecutionHeldError(execution.id)
        return run

    @cached_property
    def _ended(self) -> dict[str, OldRun]:
        """The runs that may be removed; looked for once, however many are."""
        found = self._retention.find(even_unpublished=self._even_unpublished)
        return {run.run_id: run for run in found.runs}

    def _has_run(self, execution_id: str) -> bool:
        with self._database.reading() as session:
            return bool(LedgerReader(session, self._project_id).named([RunId(execution_id)]))
