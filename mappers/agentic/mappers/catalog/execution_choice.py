"""Filters executions, and removes them with all their stored data."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, and_, delete, false, or_, select, union_all
from sqlalchemy.orm import Session

from agentic.core.audit import DecisionKind
from agentic.mappers.audit import audit
from agentic.mappers.database.prefixes import follows
from agentic.mappers.errors import DataError
from agentic.mappers.tables.core import AgentModel, CrawlModel, ExecutionModel, ExecutionStatus, FrontierModel

Part = tuple[ColumnElement[bool], ...]
_MAX_PARTS = 250
"""SQLite allows 500 in a statement."""

ENDED = (
    ExecutionStatus.SUCCEEDED,
    ExecutionStatus.PARTIAL,
    ExecutionStatus.FAILED,
    ExecutionStatus.CANCELLED,
)


class ExecutionGoesOnError(DataError):
    """An execution cannot be removed because it has not ended."""

    def __init__(self, execution: str, status: str) -> None:
        super().__init__(
            f"execution {execution!r} is {status}; end it with `agentic executions cancel {execution}`, or "
            f"wait"
        )
        self.execution = execution


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionFilter:
    """Filter of the executions of one project; all fields are optional.

    Attributes:
        agent_id: Of this agent.
        platform: Of agents of this platform.
        statuses: With one of these; empty for any.
        since: Created at this time or later.
    """

    agent_id: str | None = None
    platform: str | None = None
    statuses: Collection[ExecutionStatus] = ()
    since: datetime | None = None


def choose_executions(
    session: Session,
    project_id: str,
    wanted: ExecutionFilter,
    limit: int | None = None,
    *,
    after: ExecutionModel | None = None,
) -> Sequence[ExecutionModel]:
    """Return the matching executions of a project, the newest first.

    Args:
        session: In a transaction.
        project_id: Owns them.
        wanted: The filter.
        limit: Maximum number; None for all.
        after: Only executions after this one in that order: the last one of the previous page.
    """
    of = ExecutionModel
    where: list[ColumnElement[bool]] = []
    if wanted.since is not None:
        where.append(of.created_at >= wanted.since)
    if after is not None:
        where.append(follows(of.created_at, after.created_at, of.id, after.id))
    # Each part follows the order of an index, so its newest rows are found without reading older ones.
    parts = list(_parts(session, project_id, wanted))
    newest = (of.created_at.desc(), of.id)
    if len(parts) > 1 and limit is not None:
        where.append(of.id.in_(_newest(session, parts, where, limit)))
    elif len(parts) == 1:
        where += parts[0]
    else:
        where.append(or_(false(), *(and_(*part) for part in parts)))
    return session.scalars(select(of).where(*where).order_by(*newest).limit(limit)).all()


def _newest(
    session: Session, parts: Sequence[Part], where: Sequence[ColumnElement[bool]], limit: int
) -> list[str]:
    """Return the ids of the newest executions of all parts, and of some others."""
    of = ExecutionModel
    found: list[str] = []
    for start in range(0, len(parts), _MAX_PARTS):
        queries = [
            select(
                select(of.id, of.created_at)
                .where(*where, *part)
                .order_by(of.created_at.desc(), of.id)
                .limit(limit)
                .subquery()
            )
            for part in parts[start : start + _MAX_PARTS]
        ]
        together = union_all(*queries).subquery()
        best = select(together.c.id).order_by(together.c.created_at.desc(), together.c.id).limit(limit)
        found += session.scalars(best)
    return found


def _parts(session: Session, project_id: str, wanted: ExecutionFilter) -> Iterator[Part]:
    """Yield the common values of each part: agent and status, or one of them, or nothing."""
    of = ExecutionModel
    agents = None if wanted.agent_id is None else [wanted.agent_id]
    if wanted.platform is not None:
        query = select(AgentModel.id).where(
            AgentModel.project_id == project_id, AgentModel.agent_platform == wanted.platform
        )
        of_platform = session.scalars(query).all()
        agents = [one for one in of_platform if agents is None or one in agents]
    statuses = wanted.statuses
    own = of.project_id == project_id
    if agents is None and not statuses:
        yield (own,)
    elif agents is None:
        yield from ((own, of.status == status) for status in statuses)
    else:
        # Computed; otherwise SQLite would use the index of the project's executions by status.
        own = of.project_id.concat("") == project_id
        for agent in agents:
            of_agent = (own, of.agent_id == agent)
            yield from ((*of_agent, of.status == status) for status in statuses) if statuses else (of_agent,)


def remove_execution(session: Session, execution: ExecutionModel, agent_name: str) -> None:
    """Remove an execution that has ended, with its result, its dead letters and its crawl.

    Rows in the tables of platforms stay. Remove its run first.

    Args:
        session: In a transaction.
        execution: As read before.
        agent_name: For the audit.

    Raises:
        ExecutionGoesOnError: It has not ended, or continues again.
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
