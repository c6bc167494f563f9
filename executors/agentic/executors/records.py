"""What running an execution reads and writes in SQL; each method is one transaction, and blocks."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sqlalchemy import update
from sqlalchemy.orm import Session

from agentic.core.types import RunId, SaveCounts
from agentic.executors.base import BaseAgentExecutor
from agentic.executors.errors import ResultsRefusedError
from agentic.mappers import (
    AgentModel,
    Database,
    ExecutionModel,
    ExecutionStatus,
    claim_execution,
    find_agent,
    finish_execution,
    touch_execution,
)


@dataclass(slots=True, kw_only=True)
class ExecutionRecords:
    """The rows of one execution, in the hands of the one worker that claimed it.

    Attributes:
        database: Where they are.
        execution_id: The execution.
        attempt: Which claim of it this is, from 1. What a later claim has overtaken cannot write any more.
        agent: The agent, with its project, as of the claim; belongs to no session.
        event_count: Events of the run so far; counted by the runner, written with the end.
    """

    database: Database
    execution_id: str
    attempt: int
    agent: AgentModel
    event_count: int = 0

    @classmethod
    def claim(
        cls, database: Database, execution_id: str, agent_id: str, worker: str
    ) -> ExecutionRecords | None:
        """Make ``worker`` the one that runs the execution; None when it runs already, or has ended.

        Raises:
            UnknownExecutionError: The agent has no such execution.
        """
        with database.writing() as session:
            claimed = claim_execution(session, execution_id, agent_id, worker)
            if claimed is None:
                return None
            agent = find_agent(session, claimed.project_id, claimed.agent_id)
            return cls(database=database, execution_id=execution_id, attempt=claimed.attempts, agent=agent)

    @property
    def run_id(self) -> RunId:
        """Name of the graph's run; a new one for each attempt."""
        return RunId(f"{self.execution_id}-{self.attempt}")

    def touch(self) -> bool:
        """Renew the heartbeat; False when another worker has the execution now."""
        with self.database.writing() as session:
            return touch_execution(session, self.execution_id, self.attempt)

    def prepare(self, executor: BaseAgentExecutor) -> dict[str, object]:
        """Validate the agent and return the state its executor starts from."""
        with self.database.reading() as session, executor.attached(self._agent(session), session):
            executor.validate()
            return executor.create_initial_state()

    def save(
        self, executor: BaseAgentExecutor, results: dict[str, object], superstep_count: int
    ) -> SaveCounts:
        """Store results, counts and success together, or nothing at all.

        The executor may commit or roll back on its own; that touches only what it wrote itself.

        Raises:
            ResultsRefusedError: The executor or its mapper would not store them.
            ExecutionLostError: Another worker has the execution now.
        """
        with self.database.joined() as session, executor.attached(self._agent(session), session):
            if not executor.save_results(results):
                raise ResultsRefusedError(self.agent.agent_name, executor.warnings)
            session.commit()
            finish_execution(
                session,
                self.execution_id,
                status=ExecutionStatus.SUCCEEDED,
                counts=asdict(executor.counts),
                superstep_count=superstep_count,
                event_count=self.event_count,
                attempt=self.attempt,
            )
        return executor.counts

    def give_up(self, status: ExecutionStatus, error: str, superstep_count: int) -> None:
        """Record that the execution failed or was cancelled.

        Raises:
            ExecutionStateError: It has ended already.
            ExecutionLostError: Another worker has it now.
        """
        with self.database.writing() as session:
            finish_execution(
                session,
                self.execution_id,
                status=status,
                error=error,
                superstep_count=superstep_count,
                event_count=self.event_count,
                attempt=self.attempt,
            )

    def recount(self) -> None:
        """Record how many events there were in the end: storing the results is not the last one."""
        with self.database.writing() as session:
            session.execute(
                update(ExecutionModel)
                .where(ExecutionModel.id == self.execution_id, ExecutionModel.attempts == self.attempt)
                .values(event_count=self.event_count)
            )

    def _agent(self, session: Session) -> AgentModel:
        return find_agent(session, self.agent.project_id, self.agent.id)
