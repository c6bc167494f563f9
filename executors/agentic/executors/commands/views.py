"""Agents and executions as rows to be printed; secrets never are."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import ValidationError

from agentic.core.errors import UnknownPlatformError
from agentic.core.hooks import get_registry
from agentic.core.types import JSONValue
from agentic.executors.errors import ExecutionNotRunnableError

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from agentic.mappers import AgentModel, ExecutionModel

SHORT_ID_CHARS = 10


def agent_row(agent: AgentModel) -> dict[str, object]:
    """Return an agent with its config, secrets masked."""
    return {
        "name": agent.agent_name,
        "platform": agent.agent_platform,
        "goals": agent.goals,
        "config": shown_config(agent),
        "created_at": _second(agent.created_at),
        "id": agent.id,
    }


def shown_config(agent: AgentModel) -> dict[str, JSONValue]:
    """Return an agent's config as its platform's settings show it: ``SecretStr`` fields are masked.

    Where that cannot be told, as the platform is not installed or the config does not fit it, every value is.
    """
    from agentic.executors.redaction import MASK

    hidden: dict[str, JSONValue] = dict.fromkeys(agent.config, MASK)
    try:
        model = get_registry().platform(agent.agent_platform).settings
        if model is None:
            return hidden
        return model.model_validate(agent.config).model_dump(mode="json", exclude_unset=True, by_alias=True)
    except (UnknownPlatformError, ValidationError):
        return hidden


def execution_row(execution: ExecutionModel, agent_name: str, now: datetime) -> dict[str, object]:
    """Return an execution, with its counts beside the other columns.

    ``state`` is its status in words: a running one whose worker gives no sign of life says so.
    """
    return {
        "id": execution.id,
        "short_id": execution.id[:SHORT_ID_CHARS],
        "agent": agent_name,
        "state": state_of(execution, now),
        "status": str(execution.status),
        "attempts": execution.attempts,
        "rows": counted(execution.counts),
        **{name: execution.counts.get(name, 0) for name in ("inserted", "updated", "unchanged", "rejected")},
        "supersteps": execution.superstep_count,
        "events": execution.event_count,
        "worker": execution.worker,
        "created_at": _second(execution.created_at),
        "started_at": _second(execution.started_at),
        "heartbeat_at": _second(execution.heartbeat_at),
        "finished_at": _second(execution.finished_at),
        "error": execution.error,
    }


def counted(counts: Mapping[str, object]) -> str:
    """Return counts of rows in words, those of nothing left out: ``3 inserted, 1 updated``."""
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def state_of(execution: ExecutionModel, now: datetime) -> str:
    """Return the status of an execution, as it is: ``running, no heartbeat for 45 s``."""
    from agentic.mappers.executions import STALE_AFTER_S

    silent_s = silence_of(execution, now)
    if silent_s <= STALE_AFTER_S:
        return str(execution.status)
    return f"{execution.status}, no heartbeat for {silent_s:.0f} s"


def silence_of(execution: ExecutionModel, now: datetime) -> float:
    """Return the seconds since the last heartbeat of a running execution, else 0."""
    from agentic.mappers import ExecutionStatus

    if execution.status is not ExecutionStatus.RUNNING or execution.heartbeat_at is None:
        return 0.0
    return max((now - execution.heartbeat_at).total_seconds(), 0.0)


def refuse_unless_runnable(execution: ExecutionModel) -> None:
    """Return when an execution may be run: it waits, has failed, or has lost its worker.

    Raises:
        ExecutionNotRunnableError: It has ended for good, or a worker is on it.
    """
    from agentic.mappers import ExecutionStatus, utc_now
    from agentic.mappers.executions import STALE_AFTER_S

    match execution.status:
        case ExecutionStatus.SUCCEEDED:
            reason = "it has succeeded; start a new one with `agentic run`"
        case ExecutionStatus.CANCELLED:
            reason = "it was cancelled; start a new one with `agentic run`"
        case ExecutionStatus.RUNNING if (silent_s := silence_of(execution, utc_now())) <= STALE_AFTER_S:
            reason = (
                f"worker {execution.worker} is on it and gave a sign of life {silent_s:.0f} s ago; "
                f"it counts as lost {STALE_AFTER_S:.0f} s after the last one"
            )
        case _:
            return
    raise ExecutionNotRunnableError(execution.id, reason)


def result_of(session: Session, execution: ExecutionModel) -> dict[str, JSONValue]:
    """Return the short form of what an execution gave; empty when it stored nothing."""
    from sqlalchemy import select

    from agentic.mappers import AgentResultModel

    query = select(AgentResultModel.summary).where(AgentResultModel.execution_id == execution.id)
    return session.scalar(query) or {}


def _second(time: datetime | None) -> str | None:
    return time.strftime("%Y-%m-%d %H:%M:%SZ") if time else None
