"""Agents and executions as rows to print, without secrets."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import ValidationError

from agentic.core.errors import PluginError
from agentic.core.hooks import get_registry
from agentic.core.ids import SHORT_CHARS
from agentic.core.types import JSONValue
from agentic.executors.commands.runs.views import state_of

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from agentic.core.ledger import RunRow
    from agentic.mappers import AgentModel, ExecutionModel


COUNTED = ("inserted", "updated", "unchanged", "rejected", "failed")
"""Row counts of an execution by result, and failures."""


def agent_row(agent: AgentModel) -> dict[str, object]:
    """Return an agent with its config, secrets masked."""
    return {
        "name": agent.agent_name,
        "platform": agent.agent_platform,
        "goals": agent.goals,
        "config": shown_config(agent),
        "state": "enabled" if agent.disabled_at is None else "disabled",
        "created_at": _second(agent.created_at),
        "id": agent.id,
    }


def shown_config(agent: AgentModel) -> dict[str, JSONValue]:
    """Return an agent's config through its platform's settings, secrets masked.

    Masked are ``SecretStr`` fields, and values that look like secrets; references to stored secrets stay.
    If the platform is not installed, or the config is invalid, every value is masked.
    """
    from agentic.executors.agents.redaction import MASK, Redactor

    hidden: dict[str, JSONValue] = dict.fromkeys(agent.config, MASK)
    try:
        model = get_registry().platform(agent.agent_platform).settings
        if model is None:
            return hidden
        config = model.model_validate(agent.config)
        shown = config.model_dump(mode="json", exclude_unset=True, by_alias=True)
        return {name: Redactor.of_agent(agent).data(value) for name, value in shown.items()}
    except (PluginError, ValidationError):
        return hidden


def names_of_schedules(session: Session, project_id: str, agent_id: str | None = None) -> list[str]:
    """Return the names of a project's schedules, or only of one agent's."""
    from agentic.mappers import list_schedules

    found = list_schedules(session, project_id)
    return [schedule.name for schedule in found if agent_id in (None, schedule.agent_id)]


def counts_of_executions(session: Session, project_id: str, agent_id: str | None = None) -> dict[str, int]:
    """Return the number of executions by status, of a project or of one of its agents."""
    from sqlalchemy import func, select

    from agentic.mappers import AgentModel, ExecutionModel

    of = ExecutionModel.project_id == project_id
    if agent_id is not None:
        # The agent's project is not checked per execution: then one index holds all that is counted.
        agent = select(AgentModel.id).where(AgentModel.id == agent_id, AgentModel.project_id == project_id)
        of = ExecutionModel.agent_id.in_(agent)
    query = select(ExecutionModel.status, func.count()).where(of).group_by(ExecutionModel.status)
    return {str(status): count for status, count in sorted(session.execute(query).all())}


def execution_row(
    execution: ExecutionModel,
    agent_name: str,
    run: RunRow | None = None,
    counts: Mapping[str, JSONValue] | None = None,
) -> dict[str, object]:
    """Return an execution, with its counts beside the other columns.

    Args:
        execution: The execution.
        agent_name: Name of its agent.
        run: Its run, if begun: ``state`` is the status as text, with the obstacle to its progress.
        counts: Its counts so far, if it has not ended.
    """
    found = execution.counts if counts is None else counts
    return {
        "id": execution.id,
        "short_id": execution.id[:SHORT_CHARS],
        "agent": agent_name,
        "state": str(execution.status) if run is None or run.status.is_final else state_of(run),
        "status": str(execution.status),
        "attempts": execution.attempts,
        "rows": counted(found),
        **{name: found.get(name, 0) for name in COUNTED},
        "supersteps": execution.superstep_count,
        "events": execution.event_count,
        "worker": execution.worker,
        "created_at": _second(execution.created_at),
        "started_at": _second(execution.started_at),
        "finished_at": _second(execution.finished_at),
        "reason": execution.reason,
        "error": execution.error,
        "warnings": execution.warnings,
    }


def counted(counts: Mapping[str, object]) -> str:
    """Return counts of rows as text, without zeros: ``3 inserted, 1 updated``."""
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def result_of(session: Session, execution: ExecutionModel) -> dict[str, JSONValue]:
    """Return the short result of an execution; empty when it stored nothing."""
    from sqlalchemy import select

    from agentic.mappers import AgentResultModel

    query = select(AgentResultModel.summary).where(
        AgentResultModel.project_id == execution.project_id, AgentResultModel.execution_id == execution.id
    )
    return session.scalar(query) or {}


def _second(time: datetime | None) -> str | None:
    return time.strftime("%Y-%m-%d %H:%M:%SZ") if time else None
