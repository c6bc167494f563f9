"""Executions: made, claimed by exactly one worker, kept alive, finished."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Required, TypedDict

from sqlalchemy import and_, or_, select, update
from sqlalchemy.orm import Session
from sqlalchemy.sql.elements import ColumnElement
from typing_extensions import Unpack

from agentic.core.types import JSONValue
from agentic.mappers.columns import StoreNow
from agentic.mappers.content import clean_text
from agentic.mappers.errors import ExecutionLostError, ExecutionStateError, UnknownExecutionError
from agentic.mappers.models import AgentModel, ExecutionModel, ExecutionStatus

TRANSITIONS: Mapping[ExecutionStatus, frozenset[ExecutionStatus]] = {
    ExecutionStatus.QUEUED: frozenset(
        {ExecutionStatus.RUNNING, ExecutionStatus.FAILED, ExecutionStatus.CANCELLED}
    ),
    ExecutionStatus.RUNNING: frozenset(
        {ExecutionStatus.SUCCEEDED, ExecutionStatus.FAILED, ExecutionStatus.CANCELLED}
    ),
    ExecutionStatus.FAILED: frozenset({ExecutionStatus.RUNNING, ExecutionStatus.CANCELLED}),
    ExecutionStatus.SUCCEEDED: frozenset(),
    ExecutionStatus.CANCELLED: frozenset(),
}
"""State -> states that may follow. A running execution whose worker is gone may be claimed once more."""

STALE_AFTER_S = 30.0
"""A running execution whose heartbeat is older than this counts as abandoned."""


class Outcome(TypedDict, total=False):
    """How an execution ended; see :func:`finish_execution`."""

    status: Required[ExecutionStatus]
    error: str | None
    counts: Mapping[str, JSONValue]
    superstep_count: int
    event_count: int
    attempt: int | None


def create_execution(session: Session, agent: AgentModel) -> ExecutionModel:
    """Add a queued execution of ``agent``."""
    execution = ExecutionModel(project_id=agent.project_id, agent_id=agent.id)
    session.add(execution)
    session.flush()
    return execution


def claim_execution(
    session: Session, execution_id: str, agent_id: str, worker: str, stale_after_s: float = STALE_AFTER_S
) -> ExecutionModel | None:
    """Make ``worker`` the one that runs this execution, and count an attempt.

    One conditional update: of any number that try at once, exactly one succeeds. A queued or failed execution
    can be claimed, and a running one whose heartbeat is older than ``stale_after_s`` by the database's clock.

    Returns:
        The running execution, whose ``attempts`` tells this claim from later ones; None when it runs already,
        or has ended: drop the message that asked for it.

    Raises:
        UnknownExecutionError: That agent has no such execution.
    """
    claimed = session.scalar(
        update(ExecutionModel)
        .where(
            ExecutionModel.id == execution_id, ExecutionModel.agent_id == agent_id, _claimable(stale_after_s)
        )
        .values(
            status=ExecutionStatus.RUNNING,
            worker=worker,
            attempts=ExecutionModel.attempts + 1,
            started_at=StoreNow(),
            heartbeat_at=StoreNow(),
            finished_at=None,
            error=None,
        )
        .returning(ExecutionModel)
        .execution_options(populate_existing=True)
    )
    if claimed is None:
        known = session.get(ExecutionModel, execution_id)
        if known is None or known.agent_id != agent_id:
            raise UnknownExecutionError(execution_id, f"agent {agent_id!r}")
    return claimed


def touch_execution(session: Session, execution_id: str, attempt: int | None = None) -> bool:
    """Renew the heartbeat of a running execution.

    Args:
        session: In a transaction.
        execution_id: The execution.
        attempt: ``attempts`` as the claim gave it; left out, any claim counts.

    Returns:
        False when it does not run any more, or another worker has taken it over: stop working on it.
    """
    touched = session.scalar(
        update(ExecutionModel)
        .where(ExecutionModel.id == execution_id, _is_running(attempt))
        .values(heartbeat_at=StoreNow())
        .returning(ExecutionModel.id)
    )
    return touched is not None


def finish_execution(session: Session, execution_id: str, **outcome: Unpack[Outcome]) -> ExecutionModel:
    """Bring an execution to an end: ``succeeded``, ``failed`` or ``cancelled``.

    Args:
        session: In a transaction; share it with the rows, so that both are kept or neither.
        execution_id: The execution.
        outcome: ``status`` and, when known, ``error``, ``counts``, ``superstep_count``, ``event_count``.
            With ``attempt`` (``attempts`` as the claim gave it) only the worker of that claim may finish.

    Raises:
        UnknownExecutionError: There is no such execution.
        ExecutionStateError: It cannot end that way from where it is; it may have ended already.
        ExecutionLostError: Another worker has claimed it since ``attempt``.
    """
    status, attempt = outcome["status"], outcome.get("attempt")
    known = session.get(ExecutionModel, execution_id, with_for_update=True, populate_existing=True)
    if known is None:
        raise UnknownExecutionError(execution_id, "any agent")
    if attempt is not None and known.attempts != attempt:
        raise ExecutionLostError(execution_id, attempt)
    _check_transition(known, status)
    error = outcome.get("error")
    known.status = status
    known.error = clean_text(error) if error else None
    known.counts = dict(outcome.get("counts", known.counts))
    known.superstep_count = outcome.get("superstep_count", known.superstep_count)
    known.event_count = outcome.get("event_count", known.event_count)
    known.finished_at = session.scalar(select(StoreNow()))
    session.flush()
    return known


def find_execution(session: Session, project_id: str, execution_id: str) -> ExecutionModel:
    """Return an execution of that project; those of other projects are not seen.

    Raises:
        UnknownExecutionError: The project has no such execution.
    """
    query = select(ExecutionModel).where(
        ExecutionModel.project_id == project_id, ExecutionModel.id == execution_id
    )
    execution = session.scalar(query)
    if execution is None:
        raise UnknownExecutionError(execution_id, "this project")
    return execution


def list_executions(session: Session, project_id: str, limit: int = 50) -> Sequence[ExecutionModel]:
    """Return up to ``limit`` executions of that project, the newest first."""
    query = select(ExecutionModel).where(ExecutionModel.project_id == project_id)
    newest = query.order_by(ExecutionModel.created_at.desc(), ExecutionModel.id)
    return session.scalars(newest.limit(limit)).all()


def _claimable(stale_after_s: float) -> ColumnElement[bool]:
    waiting = [state for state, after in TRANSITIONS.items() if ExecutionStatus.RUNNING in after]
    abandoned = and_(
        ExecutionModel.status == ExecutionStatus.RUNNING,
        ExecutionModel.heartbeat_at < StoreNow(-stale_after_s),
    )
    return or_(ExecutionModel.status.in_(waiting), abandoned)


def _is_running(attempt: int | None) -> ColumnElement[bool]:
    running = ExecutionModel.status == ExecutionStatus.RUNNING
    return running if attempt is None else and_(running, ExecutionModel.attempts == attempt)


def _check_transition(execution: ExecutionModel, wanted: ExecutionStatus) -> None:
    ends = TRANSITIONS[execution.status] - {ExecutionStatus.RUNNING}
    if wanted not in ends:
        raise ExecutionStateError(execution.id, execution.status, wanted, sorted(ends))
