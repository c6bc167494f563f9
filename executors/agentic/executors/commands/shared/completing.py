"""Shell completion: names from the database. Without a database there are none."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout
from functools import wraps
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from agentic.mappers import ProjectModel

MAX_EXECUTIONS = 50

Completion = list[tuple[str, str]]
"""Values, each with a description for zsh and fish."""

_Completer = Callable[[typer.Context, str], Completion]


def _silent(find: Callable[[typer.Context], Iterable[tuple[str, str]]]) -> _Completer:
    """Make a completer: errors and log lines must not disturb the prompt."""

    @wraps(find)
    def complete(ctx: typer.Context, incomplete: str) -> Completion:
        try:
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                return [(name, words) for name, words in find(ctx) if name.startswith(incomplete)]
        except Exception:
            return []

    # Typer reads them to choose the arguments.
    complete.__annotations__ = {"ctx": typer.Context, "incomplete": str}
    del complete.__wrapped__  # or it would have the signature of ``find``
    return complete


def _of_project(
    find: Callable[[Session, ProjectModel], Iterable[tuple[str, str]]],
) -> Callable[[typer.Context], Completion]:
    """Make ``find`` search the project of the command line, or of the settings."""

    @wraps(find)
    def look(ctx: typer.Context) -> Completion:
        from agentic.core.settings import load_settings
        from agentic.mappers import Database, find_project

        settings = load_settings()
        database = Database.configured(settings)
        try:
            with database.reading() as session:
                owner = find_project(session, ctx.params.get("project") or settings.project)
                return list(find(session, owner))
        finally:
            database.dispose()

    return look


@_silent
def project_names(_: typer.Context) -> Completion:
    """Find the projects."""
    from agentic.core.settings import load_settings
    from agentic.mappers import Database, list_projects

    database = Database.configured(load_settings())
    try:
        with database.reading() as session:
            return [(project.name, project.description or "") for project in list_projects(session)]
    finally:
        database.dispose()


@_silent
def platform_names(_: typer.Context) -> Completion:
    """Find the installed platforms."""
    from agentic.core.hooks import get_registry

    return [(name, "") for name in sorted(get_registry().platforms)]


@_silent
def statuses(_: typer.Context) -> Completion:
    """Find the statuses of executions."""
    from agentic.mappers import ExecutionStatus

    return [(str(status), "") for status in ExecutionStatus]


@_silent
@_of_project
def agent_names(session: Session, owner: ProjectModel) -> Completion:
    """Find the agents."""
    from agentic.mappers import list_agents

    return [(agent.agent_name, agent.agent_platform) for agent in list_agents(session, owner.id)]


@_silent
@_of_project
def pipeline_names(session: Session, owner: ProjectModel) -> Completion:
    """Find the stored pipelines."""
    from agentic.mappers.catalog.pipelines import list_pipelines

    return [(f"{kept.name}@{kept.version}", "") for kept in list_pipelines(session, owner.id)]


@_silent
@_of_project
def targets(session: Session, owner: ProjectModel) -> Completion:
    """Find agents and stored pipelines to run. The shell finds files by itself."""
    from agentic.mappers import list_agents
    from agentic.mappers.catalog.pipelines import list_pipelines

    agents = [(agent.agent_name, agent.agent_platform) for agent in list_agents(session, owner.id)]
    return [*agents, *((f"{kept.name}@{kept.version}", "") for kept in list_pipelines(session, owner.id))]


@_silent
@_of_project
def schedule_names(session: Session, owner: ProjectModel) -> Completion:
    """Find the schedules."""
    from agentic.mappers import list_schedules

    return [(schedule.name, schedule.agent.agent_name) for schedule in list_schedules(session, owner.id)]


@_silent
@_of_project
def notification_names(session: Session, owner: ProjectModel) -> Completion:
    """Find the notifications."""
    from agentic.mappers.notifications.rules import list_rules

    return [(rule.name, f"{rule.channel}: {rule.events}") for rule in list_rules(session, owner.id)]


@_silent
@_of_project
def execution_ids(session: Session, owner: ProjectModel) -> Completion:
    """Find the newest executions, each with its agent and status."""
    from agentic.mappers import list_agents, list_executions

    names = {agent.id: agent.agent_name for agent in list_agents(session, owner.id)}
    found = list_executions(session, owner.id, MAX_EXECUTIONS)
    return [(each.id, f"{names[each.agent_id]} {each.status}") for each in found]
