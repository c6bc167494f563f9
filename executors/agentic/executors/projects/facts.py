"""A project's contents, as counts and for its file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from agentic.core.hooks import get_registry
from agentic.core.masking import told
from agentic.core.pipeline.expressions.secret_masking import secret_names
from agentic.core.types import JSONValue
from agentic.core.wrappers import encode
from agentic.executors.commands.agents.files import told_agent
from agentic.executors.projects.notifications import told_rule
from agentic.executors.schedules.times import shown_interval
from agentic.mappers import (
    CatchUp,
    ExecutionModel,
    Overlap,
    ProjectModel,
    ScheduleModel,
    SourceColumns,
    list_agents,
    list_schedules,
)
from agentic.mappers.catalog.pipelines import list_pipelines
from agentic.mappers.catalog.repairs import changes_of, newest_version
from agentic.mappers.crawl.wrappers import StoredWrapper, list_wrappers
from agentic.mappers.notifications.rules import list_rules
from agentic.mappers.vault.vault import list_secrets


def count_owned(session: Session, project: ProjectModel) -> dict[str, int]:
    """Return counts of a project's contents; ``rows`` are in the tables of installed platforms."""
    executions = select(func.count()).where(ExecutionModel.project_id == project.id)
    return {
        "agents": len(list_agents(session, project.id)),
        "pipelines": len({kept.name for kept in list_pipelines(session, project.id)}),
        "schedules": len(list_schedules(session, project.id)),
        "secrets": len(list_secrets(session, project.id)),
        "executions": session.scalar(executions) or 0,
        "rows": sum(count_rows(session, project).values()),
    }


def count_rows(session: Session, project: ProjectModel) -> dict[str, int]:
    """Return a project's row counts by platform and table, without empty tables."""
    models = [
        model
        for _, platform in sorted(get_registry().platforms.items())
        for model in platform.models
        if issubclass(model, SourceColumns)
    ]
    counts = {
        str(model.__table__.name): session.scalar(  # type: ignore[attr-defined]  # of a mapped class
            select(func.count()).select_from(model).where(model.project_id == project.id)
        )
        for model in models
    }
    return {table: count for table, count in counts.items() if count}


def told_project(session: Session, project: ProjectModel) -> dict[str, JSONValue]:
    """Return a project in the form of its file: names of secrets, newest versions of pipelines."""
    agents = [told_agent(agent) for agent in list_agents(session, project.id)]
    newest = {kept.name: kept.spec for kept in reversed(list_pipelines(session, project.id))}
    pipelines = [told(dict(spec)) for _, spec in sorted(newest.items())]
    names = {agent.id: agent.agent_name for agent in list_agents(session, project.id)}
    rules = [told_rule(rule, names) for rule in list_rules(session, project.id)]
    stored = {secret.name for secret in list_secrets(session, project.id)}
    named = {name for part in (*agents, *pipelines, *rules) for name in secret_names(part)}
    facts: Mapping[str, JSONValue] = {
        "name": project.name,
        "description": project.description,
        "max_running": project.max_running,
    }
    return {
        "project": {name: value for name, value in facts.items() if value is not None},
        **_rows("secrets", sorted(stored | named)),
        **_rows("agents", agents),
        **_rows("pipelines", pipelines),
        **_rows("schedules", [_told_schedule(one) for one in list_schedules(session, project.id)]),
        **_rows("notifications", rules),
        **_rows("wrappers", map(_told_wrapper, list_wrappers(session, project.id))),
        **_rows("repairs", _told_repairs(session, project)),
    }


def _rows(name: str, rows: Iterable[JSONValue]) -> dict[str, JSONValue]:
    """Return the rows under their name; nothing without rows."""
    found = list(rows)
    return {name: found} if found else {}


def _told_repairs(session: Session, project: ProjectModel) -> Iterator[JSONValue]:
    """Yield the changes of the repairs in effect, agent by agent."""
    for agent in list_agents(session, project.id):
        changes = changes_of(newest_version(session, agent))
        if changes:
            data: list[JSONValue] = [one.model_dump(mode="json", exclude_defaults=True) for one in changes]
            yield {"agent": agent.agent_name, "changes": told(data)}


def _told_wrapper(one: StoredWrapper) -> JSONValue:
    return {"pipeline": one.pipeline, "key": one.key, "data": encode(one.wrapper).decode()}


def _told_schedule(schedule: ScheduleModel) -> dict[str, JSONValue]:
    times: dict[str, JSONValue] = (
        {"cron": schedule.cron} if schedule.cron else {"every": shown_interval(schedule.every_s or 0)}
    )
    return {
        "name": schedule.name,
        "agent": schedule.agent.agent_name,
        **times,
        **({"timezone": schedule.timezone} if schedule.timezone != "UTC" else {}),
        **({"jitter_s": schedule.jitter_s} if schedule.jitter_s else {}),
        **({"catch_up": str(schedule.catch_up)} if schedule.catch_up is not CatchUp.LAST else {}),
        **({"overlap": str(schedule.overlap)} if schedule.overlap is not Overlap.SKIP else {}),
        **({"paused": True} if schedule.paused_at is not None else {}),
    }
