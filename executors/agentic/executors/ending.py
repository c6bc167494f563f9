"""Ends executions, and logs each end once: when it is kept, by the process that wrote it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING

from agentic.core.actors import failure_class_of
from agentic.core.graph.errors import named_class
from agentic.core.logging import get_logger
from agentic.core.types import SaveCounts
from agentic.mappers import ExecutionStatus, finish_execution

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from agentic.executors.durable.hooks import OnceKept
    from agentic.mappers import EndedExecution

log = get_logger(__name__)

EVENTS = {
    ExecutionStatus.SUCCEEDED: "execution.succeeded",
    ExecutionStatus.FAILED: "execution.failed",
    ExecutionStatus.CANCELLED: "execution.cancelled",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How an execution ends.

    Attributes:
        status: ``succeeded``, ``failed`` or ``cancelled``.
        error: What went wrong, in a line without secrets.
        cause: The error itself, which says its class.
        superstep_count: Supersteps of the run.
        child_run_id: The run of the agent's graph.
        event_count: Durable events of the run.
        log_level: For one that failed.
    """

    status: ExecutionStatus
    error: str | None = None
    cause: BaseException | None = None
    superstep_count: int = 0
    child_run_id: str = ""
    event_count: int = 0
    log_level: int = logging.ERROR


def end_execution(session: Session, project_id: str, execution_id: str, ending: Ending) -> OnceKept:
    """Note how an execution ended; return what logs that, to be called when the transaction is kept.

    Args:
        session: In the transaction that ends the run.
        project_id: Owns the execution.
        execution_id: The execution; nothing is noted and logged of one that was removed meanwhile.
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
    return partial(_log_end, ended, ending)


def class_of(error: BaseException | None) -> str:
    """Return the failure class of what failed an execution: the one that it or a cause of it has."""
    words = (failure_class_of(one) for one in _causes(error))
    return named_class(error) or next((word for word in words if word != "error"), "error")


def _log_end(ended: EndedExecution | None, ending: Ending) -> None:
    if ended is None:
        return
    is_failure = ending.status is ExecutionStatus.FAILED
    why = {"failure_class": class_of(ending.cause), "error": ending.error} if is_failure else {}
    log.log(
        ending.log_level if is_failure else logging.INFO,
        EVENTS[ending.status],
        execution_id=ended.execution_id,
        agent_id=ended.agent_id,
        platform=ended.platform,
        attempts=ended.attempts,
        duration_s=round(ended.duration_s, 3),
        **{name: ended.counts.get(name, 0) for name in asdict(SaveCounts())},
        warning_count=ended.warning_count,
        **why,
    )


def _causes(error: BaseException | None) -> Iterator[Exception]:
    while isinstance(error, Exception):
        yield error
        error = error.__cause__
