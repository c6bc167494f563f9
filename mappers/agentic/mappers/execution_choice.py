"""Executions chosen by what they have in common, and removed with all that is kept of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from agentic.core.audit import DecisionKind
from agentic.mappers.audit import audit
from agentic.mappers.errors import DataError
from agentic.mappers.models import AgentModel, CrawlModel, ExecutionModel, ExecutionStatus, FrontierModel

ENDED = (
    ExecutionStatus.SUCCEEDED,
    ExecutionStatus.PARTIAL,
    ExecutionStatus.FAILED,
    ExecutionStatus.CANCELLED,
)


class ExecutionGoesOnError(DataError):
    """An execution cannot be removed, as it has not ended."""

    def __init__(self, execution: str, status: str) -> None:
        super().__init__(
            f"execution {execution!r} is {status}; end it with `agentic executions cancel {execution}`, or "
            f"wait"
        )
        self.execution = execution


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionFilter:
    """Which executions are wanted; those of one project, whatever is left out.

    Attributes:
        agent_id: Of this agent.
        platform: Of agents of this platform.
        statuses: That stand so; none for any.
        since: Made no earlier.
    """

    agent_id: str | None = None
    platform: str | None = None
    statuses: Collection[ExecutionStatus] = ()
    since: datetime | None = None


def choose_executions(
    session: Session, project_id: str, wanted: ExecutionFilter, limit: int | None = None
) -> Sequence[ExecutionModel]:
    """Return the executions of a project that are wanted, the newest first, up to ``limit`` of them."""
    query = select(ExecutionModel).where(ExecutionModel.project_id == project_id)
    if wanted.agent_id is not None:
        query = query.where(ExecutionModel.agent_id == wanted.agent_id)
    if wanted.platform is not None:
        of_platform = select(AgentModel.id).where(
            AgentModel.project_id == project_id, AgentModel.agent_platform == wanted.platform
        )
        query = query.where(ExecutionModel.agent_id.in_(of_platform))
    if wanted.statuses:
        query = query.where(ExecutionModel.status.in_(wanted.statuses))
    if wanted.since is not None:
        query = query.where(ExecutionModel.created_at >= wanted.since)
    newest = query.order_by(ExecutionModel.created_at.desc(), ExecutionModel.id)
    return session.scalars(newest.limit(limit)).all()


def remove_execution(session: Session, execution: ExecutionModel, agent_name: str) -> None:
    """Remove an execution that has ended, with its result, its dead letters and its crawl.

    Rows in the tables of platforms stay. Its run is to be removed first.

    Args:
        session: In a transaction.
        execution: As it was read.
        agent_name: For the audit.

    Raises:
        ExecutionGoesOnError: It has not ended, or goes on again.
    """
    own = (ExecutionModel.project_id == execution.project_id, ExecutionModel.id == execution.id)
    gone = delete(ExecutionModel).where(*own, ExecutionModel.status.in_(ENDED)).returning(ExecutionModel.id)
    if session.scalar(gone) is None:
        raise ExecutionGoesOnError(execution.id, execution.status)
    for table in (FrontierModel, CrawlModel):
        session.execute(
            delete(table).where(table.project_id == execution.project_id, table.run == execution.id)
        )
    what = f"an execution of agent {agent_name} is removed, with its result and its run"
    audit(
        session,
        execution.project_id,
        DecisionKind.EXECUTION_REMOVED,
        execution.id,
        what,
        agent=agent_name,
    )
