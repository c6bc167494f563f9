"""Ends executions, and logs each end once: after the commit, by the process that wrote it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from agentic.core.actors import failure_class_of
from agentic.core.graph.errors import named_class
from agentic.core.logging import get_logger
from agentic.executors.notifications.noticing import notice_end
from agentic.mappers import ExecutionStatus, finish_execution
from agentic.mappers.catalog.execution_counts import COUNT_NAMES

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from agentic.executors.durable.runs.catalog import OnceKept
    from agentic.mappers import EndedExecution

log = get_logger(__name__)

EVENTS = {
    ExecutionStatus.SUCCEEDED: "execution.succeeded",
    ExecutionStatus.PARTIAL: "execution.partial",
    ExecutionStatus.FAILED: "execution.failed",
    ExecutionStatus.CANCELLED: "execution.cancelled",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionEnd:
    """How an execution ends.

    Attributes:
        status: ``succeeded``, ``failed`` or ``cancelled``.
        error: The error in one line, without secrets.
        cause: The error itself, with its class.
        superstep_count: Supersteps of the run.
        child_run_id: The run of the agent's graph.
        event_count: Durable events of the run.
        log_level: Log level of a failure.
    """

    status: ExecutionStatus
    error: str | None = None
    cause: BaseException | None = None
    superstep_count: int = 0
    child_run_id: str = ""
    event_count: int = 0
    log_level: int = logging.ERROR


def record_execution_end(
    session: Session, project_id: str, execution_id: str, ending: ExecutionEnd
) -> OnceKept:
    """Record how an execution ended, with its notifications; return a function that logs it after the commit.

    Args:
        session: In the transaction that ends the run.
        project_id: Owns the execution.
        execution_id: The execution; if it was removed meanwhile, nothing is recorded or logged.
        ending: How it ended.
    """
    ended = finish_execution(
        session,
        project_id,
        execution_id,
        ending.status,
        error=ending.error,
        superstep_count=ending.superstep_count,
        child_run_id=ending.child_run_id,
        event_count=ending.event_count,
    )
    if ended is not None:
        told = _why(ended, ending)
        notice_end(
            session, project_id, ended, told.get("error") or ending.error, told.get("failure_class") or ""
        )
    return partial(_log_end, ended, ending)


def end_cut_off(session: Session, run_id: str, *, project_id: str) -> None:
    """Record the cancellation of an execution without its code; the run may have no execution.

    Args:
        session: In the transaction that ends the run.
        run_id: The run.
        project_id: Owns it.
    """
    record_execution_end(
        session, project_id, run_id, ExecutionEnd(status=ExecutionStatus.CANCELLED, error="cancelled")
    )


def class_of(error: BaseException | None) -> str:
    """Return the failure class of an execution's error, or of a cause of it."""
    words = (failure_class_of(one) for one in _causes(error))
    return named_class(error) or next((word for word in words if word != "error"), "error")


def _log_end(ended: EndedExecution | None, ending: ExecutionEnd) -> None:
    if ended is None:
        return
    log.log(
        _level(ended, ending),
        EVENTS[ended.status],
        execution_id=ended.execution_id,
        agent_id=ended.agent_id,
        platform=ended.platform,
        attempts=ended.attempts,
        duration_s=round(ended.duration_s, 3),
        **{name: ended.counts.get(name, 0) for name in COUNT_NAMES},
        warning_count=ended.warning_count,
        **_why(ended, ending),
    )


def _level(ended: EndedExecution, ending: ExecutionEnd) -> int:
    if ended.status is ExecutionStatus.FAILED:
        return ending.log_level
    is_partial = ended.status is ExecutionStatus.PARTIAL
    return min(logging.WARNING, ending.log_level) if is_partial else logging.INFO


def _why(ended: EndedExecution, ending: ExecutionEnd) -> dict[str, str | None]:
    """Return why an execution failed, wholly or partly: an error of its run, or poor results."""
    if ended.reason is not None:
        return {"failure_class": "results", "error": ended.reason}
    if ended.status is ExecutionStatus.FAILED:
        return {"failure_class": class_of(ending.cause), "error": ending.error}
    return {}


def _causes(error: BaseException | None) -> Iterator[Exception]:
    while isinstance(error, Exception):
        yield error
        error = error.__cause__
