"""Executions: create, queue for their durable run, store the result."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from sqlalchemy import ColumnElement, case, exists, func, or_, select, update
from sqlalchemy.orm import Session
from typing_extensions import Unpack

from agentic.core.http.exits.uses import ProxyUse, dump_uses
from agentic.core.ids import new_id
from agentic.core.masking import mask_known
from agentic.core.types import JSONValue
from agentic.mappers.catalog.execution_choice import ExecutionFilter, choose_executions
from agentic.mappers.catalog.execution_counts import crawl_counts
from agentic.mappers.content import clean_text
from agentic.mappers.errors import AgentDisabledError, UnknownExecutionError
from agentic.mappers.tables.columns import StoreNow
from agentic.mappers.tables.core import AgentModel, ExecutionModel, ExecutionStatus
from agentic.mappers.tables.ledger import RunModel

MAX_WARNINGS = 100
"""Limit per execution; there may be one warning per row."""


_LEFT_OUT = re.compile(r"\.\.\. and (\d+) more")


class ExecutionFacts(TypedDict, total=False):
    """How the run of an execution ended.

    Attributes:
        error: The error.
        superstep_count: Supersteps of the run.
        child_run_id: The run of the agent's graph; its supersteps are added.
        event_count: Durable events of the run.
    """

    error: str | None
    superstep_count: int
    child_run_id: str
    event_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedExecution:
    """Summary of an ended execution.

    Attributes:
        duration_s: Since its newest attempt began; since the request, if none began.
        counts: Rows, by result.
        status: How it ended.
        reason: Why its results are partial or failed.
    """

    execution_id: str
    agent_id: str
    platform: str
    attempts: int
    duration_s: float
    counts: Mapping[str, JSONValue]
    warning_count: int
    status: ExecutionStatus
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResults:
    """Result of storing an execution's results.

    Attributes:
        counts: Rows, by result, and failures.
        warnings: Problems with parts of the results.
        outcome: The status of the execution when its run ends.
        reason: Why the status is not ``succeeded``.
        proxies: Requests through each of several proxies.
    """

    counts: Mapping[str, JSONValue]
    warnings: Sequence[str] = ()
    outcome: ExecutionStatus = ExecutionStatus.SUCCEEDED
    reason: str | None = None
    proxies: Sequence[ProxyUse] = ()


_NOT_RUNNING = (ExecutionStatus.FAILED, ExecutionStatus.CANCELLED)


def create_execution(session: Session, agent: AgentModel, execution_id: str | None = None) -> ExecutionModel:
    """Add a queued execution of ``agent``.

    Args:
        session: In a transaction.
        agent: The agent.
        execution_id: A new one if omitted.

    Raises:
        AgentDisabledError: It is disabled.
    """
    disabled = select(AgentModel.disabled_at).where(AgentModel.id == agent.id)  # the current value
    if session.scalar(disabled) is not None:
        raise AgentDisabledError(agent.agent_name, agent.project.name)
    execution = ExecutionModel(id=execution_id or new_id(), project_id=agent.project_id, agent_id=agent.id)
    session.add(execution)
    session.flush()
    return execution


def queue_execution(session: Session, project_id: str, execution_id: str) -> None:
    """Record a new attempt: the run began, or continues after it failed or was cancelled."""
    is_new = or_(ExecutionModel.attempts == 0, ExecutionModel.status.in_(_NOT_RUNNING))
    session.execute(
        update(ExecutionModel)
        .where(*_is(project_id, execution_id), is_new)
        .values(
            status=ExecutionStatus.QUEUED,
            attempts=ExecutionModel.attempts + 1,
            finished_at=None,
            error=None,
            outcome=None,
            reason=None,
        )
    )


def begin_execution(session: Session, project_id: str, execution_id: str, worker: str) -> None:
    """Record that ``worker`` began a queued execution; a running one stays unchanged."""
    session.execute(
        update(ExecutionModel)
        .where(*_is(project_id, execution_id), ExecutionModel.status == ExecutionStatus.QUEUED)
        .values(status=ExecutionStatus.RUNNING, worker=worker, started_at=StoreNow())
    )


def cancel_unbegun(session: Session, project_id: str, execution_id: str) -> bool:
    """Mark an execution as cancelled if its run never began; return whether it did so."""
    has_run = exists().where(RunModel.project_id == project_id, RunModel.run_id == execution_id)
    changed = session.execute(
        update(ExecutionModel)
        .where(*_is(project_id, execution_id), ExecutionModel.status == ExecutionStatus.QUEUED, ~has_run)
        .values(status=ExecutionStatus.CANCELLED, error="cancelled", finished_at=StoreNow())
        .returning(ExecutionModel.id)
    )
    return changed.first() is not None


def save_outcome(session: Session, project_id: str, execution_id: str, stored: StoredResults) -> None:
    """Record the result of storing an execution's results; share the session with the rows.

    Warnings added during the run stay.
    """
    session.execute(
        update(ExecutionModel)
        .where(*_is(project_id, execution_id))
        .values(
            counts=dict(stored.counts),
            outcome=stored.outcome,
            reason=_clean(stored.reason),
            proxies=dump_uses(stored.proxies),
        )
    )
    add_warnings(session, project_id, execution_id, stored.warnings)


def add_warnings(session: Session, project_id: str, execution_id: str, warnings: Sequence[str]) -> None:
    """Add warnings to an execution; share the session with their rows.

    Beyond ``MAX_WARNINGS``, only the number is kept. A repeated sentence is ignored.
    """
    if not warnings:
        return
    mine = _is(project_id, execution_id)
    known = session.scalar(select(ExecutionModel.warnings).where(*mine).with_for_update()) or []
    told, left_out = _without_count(known)
    for warning in dict.fromkeys(warnings):
        sentence = clean_text(mask_known(warning))
        if sentence in told:
            continue
        if len(told) < MAX_WARNINGS:
            told.append(sentence)
        else:
            left_out += 1
    listed = [*told, f"... and {left_out} more"] if left_out else told
    session.execute(update(ExecutionModel).where(*mine).values(warnings=listed))


def _without_count(warnings: Sequence[str]) -> tuple[list[str], int]:
    """Return the warnings without the line that counts omitted ones, and that count."""
    found = _LEFT_OUT.fullmatch(warnings[-1]) if warnings else None
    return (list(warnings), 0) if found is None else (list(warnings[:-1]), int(found[1]))


def _clean(text: str | None) -> str | None:
    return clean_text(mask_known(text)) if text else None


def finish_execution(
    session: Session,
    project_id: str,
    execution_id: str,
    status: ExecutionStatus,
    **outcome: Unpack[ExecutionFacts],
) -> EndedExecution | None:
    """Record how the run of an execution ended, and return a summary.

    If it succeeded, its status is the outcome of its results. Nothing happens if the execution was removed
    meanwhile.

    Args:
        session: In the transaction that ends the run.
        project_id: Owns the execution.
        execution_id: The execution.
        status: ``succeeded``, ``failed`` or ``cancelled``.
        outcome: Further facts.
    """
    error, child_run_id = outcome.get("error"), outcome.get("child_run_id", "")
    child = select(func.coalesce(func.sum(RunModel.superstep), 0)).where(
        RunModel.project_id == project_id, RunModel.run_id == child_run_id
    )
    session.execute(
        update(ExecutionModel)
        .where(*_is(project_id, execution_id))
        .values(
            **_end(status, error),
            event_count=outcome.get("event_count", 0),
            finished_at=StoreNow(),
            superstep_count=outcome.get("superstep_count", 0) + child.scalar_subquery(),
        )
    )
    return _ended(session, project_id, execution_id)


def _end(status: ExecutionStatus, error: str | None) -> dict[str, object]:
    if status is not ExecutionStatus.SUCCEEDED:
        return {"status": status, "error": _clean(error)}
    has_failed = ExecutionModel.outcome == ExecutionStatus.FAILED
    return {
        "status": func.coalesce(ExecutionModel.outcome, status, type_=ExecutionModel.status.type),
        "error": case((has_failed, ExecutionModel.reason)),
    }


def _ended(session: Session, project_id: str, execution_id: str) -> EndedExecution | None:
    of = ExecutionModel
    found = session.execute(
        select(
            of.agent_id,
            AgentModel.agent_platform,
            of.attempts,
            func.coalesce(of.started_at, of.created_at, type_=of.created_at.type),
            of.finished_at,
            of.counts,
            of.warnings,
            of.status,
            of.reason,
        )
        .join(AgentModel, AgentModel.id == of.agent_id)
        .where(*_is(project_id, execution_id))
    ).one_or_none()
    if found is None:
        return None
    agent_id, platform, attempts, began_at, finished_at, counts, warnings, status, reason = found
    return EndedExecution(
        execution_id=execution_id,
        agent_id=agent_id,
        platform=platform,
        attempts=attempts,
        duration_s=max((finished_at - began_at).total_seconds(), 0.0) if finished_at else 0.0,
        counts=counts or crawl_counts(session, project_id, [execution_id]).get(execution_id, {}),
        warning_count=len(warnings),
        status=status,
        reason=reason,
    )


def waiting_executions(session: Session, project_id: str, older_than_s: float) -> Sequence[ExecutionModel]:
    """Return the executions of a project that have not begun: their start message may be lost."""
    query = select(ExecutionModel).where(
        ExecutionModel.project_id == project_id,
        ExecutionModel.status == ExecutionStatus.QUEUED,
        ExecutionModel.attempts == 0,
        ExecutionModel.created_at <= StoreNow(-older_than_s),
    )
    return session.scalars(query.order_by(ExecutionModel.created_at).limit(100)).all()


def find_execution(session: Session, project_id: str, execution_id: str) -> ExecutionModel:
    """Return an execution of that project; executions of other projects are invisible.

    Raises:
        UnknownExecutionError: The project has no such execution.
    """
    execution = session.scalar(select(ExecutionModel).where(*_is(project_id, execution_id)))
    if execution is None:
        raise UnknownExecutionError(execution_id, "this project")
    return execution


def list_executions(
    session: Session, project_id: str, limit: int = 50, *, agent_id: str | None = None
) -> Sequence[ExecutionModel]:
    """Return up to ``limit`` executions of that project, or of one of its agents, the newest first."""
    return choose_executions(session, project_id, ExecutionFilter(agent_id=agent_id), limit)


def _is(project_id: str, execution_id: str) -> tuple[ColumnElement[bool], ...]:
    """Select one execution; an invented run id must not reach another project's execution."""
    return ExecutionModel.project_id == project_id, ExecutionModel.id == execution_id
