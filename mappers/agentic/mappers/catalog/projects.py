"""Projects and their agents: add, find, list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import delete, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from agentic.core.audit import DecisionKind
from agentic.core.types import JSONValue
from agentic.mappers.audit import audit
from agentic.mappers.errors import (
    DuplicateAgentError,
    DuplicateProjectError,
    ProjectBusyError,
    UnknownAgentError,
    UnknownProjectError,
)
from agentic.mappers.tables.columns import StoreNow, utc_now
from agentic.mappers.tables.core import (
    AgentModel,
    ExecutionModel,
    ExecutionStatus,
    ProjectModel,
    ScheduleModel,
)
from agentic.mappers.tables.ledger import RunModel


def add_project(session: Session, name: str) -> ProjectModel:
    """Add a project.

    Raises:
        DuplicateProjectError: The name is taken.
    """
    project = ProjectModel(name=name)
    try:
        with session.begin_nested():
            session.add(project)
    except IntegrityError:
        raise DuplicateProjectError(name) from None
    audit(session, project.id, DecisionKind.PROJECT_CREATED, name, f"project {name} is added")
    return project


def limit_project(session: Session, project: ProjectModel, max_running: int | None) -> None:
    """Limit how many activations of a project's runs may run at a time; None for no limit."""
    before, project.max_running = project.max_running, max_running
    what = f"at most {max_running} activations at a time" if max_running else "no limit of activations"
    limits: list[JSONValue] = [before, max_running]
    audit(session, project.id, DecisionKind.PROJECT_CHANGED, project.name, what, max_running=limits)


def describe_project(session: Session, project: ProjectModel, description: str | None) -> None:
    """Set the description of a project; None removes it."""
    before, project.description = project.description, description
    texts: list[JSONValue] = [before, description]
    what = f"project {project.name} has a new description"
    audit(session, project.id, DecisionKind.PROJECT_CHANGED, project.name, what, description=texts)


def remove_project(session: Session, project: ProjectModel, counts: Mapping[str, int]) -> None:
    """Remove a project with all its data: agents, executions, rows of all tables, runs, secrets.

    Decisions stay.

    Args:
        session: In a transaction.
        project: The project to remove.
        counts: The removed data, for the audit.

    Raises:
        ProjectBusyError: It has open runs.
    """
    # Work that begins from now on waits for this row, and then finds none.
    session.execute(select(ProjectModel.id).where(ProjectModel.id == project.id).with_for_update())
    check_idle(session, project)
    session.execute(delete(ProjectModel).where(ProjectModel.id == project.id))
    what = f"project {project.name} is removed with all its contents"
    audit(session, project.id, DecisionKind.PROJECT_REMOVED, project.name, what, counts=dict(counts))


def check_idle(session: Session, project: ProjectModel) -> None:
    """Refuse operations that need an idle project.

    Raises:
        ProjectBusyError: It has open runs, or executions that have not begun.
    """
    runs = select(RunModel.run_id).where(
        RunModel.project_id == project.id, RunModel.finished_at.is_(None), ~RunModel.run_id.contains("/")
    )
    executions = select(ExecutionModel.id).where(
        ExecutionModel.project_id == project.id,
        ExecutionModel.status.in_([ExecutionStatus.QUEUED, ExecutionStatus.RUNNING]),
    )
    if live := len(session.execute(runs.union(executions)).all()):
        raise ProjectBusyError(project.name, live)


def find_project(session: Session, name: str) -> ProjectModel:
    """Return the project called ``name``.

    Raises:
        UnknownProjectError: It does not exist.
    """
    project = session.scalar(select(ProjectModel).where(ProjectModel.name == name))
    if project is None:
        raise UnknownProjectError(name, [known.name for known in list_projects(session)])
    return project


def ensure_project(session: Session, name: str) -> ProjectModel:
    """Return the project called ``name``; add it if missing."""
    try:
        return find_project(session, name)
    except UnknownProjectError:
        try:
            return add_project(session, name)
        except DuplicateProjectError:  # another process was faster
            return find_project(session, name)


def list_projects(session: Session) -> Sequence[ProjectModel]:
    """Return all projects by name."""
    return session.scalars(select(ProjectModel).order_by(ProjectModel.name)).all()


def add_agent(
    session: Session,
    project: ProjectModel,
    name: str,
    platform: str,
    config: Mapping[str, JSONValue] | None = None,
    goals: str | None = None,
) -> AgentModel:
    """Add an agent to ``project``. Neither the platform nor its configuration is checked here.

    Args:
        session: In a transaction.
        project: Owns the agent.
        name: Unique in the project.
        platform: Name of the platform that runs it.
        config: Values for the platform's settings.
        goals: Free words, separated by commas, for platforms that select by goals.

    Raises:
        DuplicateAgentError: The project has an agent with that name.
    """
    agent = AgentModel(
        project_id=project.id,
        agent_name=name,
        agent_platform=platform,
        config=dict(config or {}),
        goals=goals,
    )
    try:
        with session.begin_nested():
            session.add(agent)
    except IntegrityError:
        raise DuplicateAgentError(name, project.name) from None
    session.refresh(agent, ["project"])
    what = f"agent {name} is added"
    audit(session, project.id, DecisionKind.AGENT_CREATED, name, what, platform=platform)
    return agent


def change_agent(
    session: Session,
    agent: AgentModel,
    *,
    platform: str,
    config: Mapping[str, JSONValue],
    goals: str | None,
) -> None:
    """Change an agent. The audit lists the changed fields without values, which may be secret."""
    changed = [f"config.{name}" for name in _differing(agent.config, config)]
    changed += ["platform"] if agent.agent_platform != platform else []
    changed += ["goals"] if agent.goals != goals else []
    if not changed:
        return
    agent.agent_platform, agent.config, agent.goals = platform, dict(config), goals
    session.flush()
    what = f"agent {agent.agent_name} is changed: {', '.join(changed)}"
    audit(session, agent.project_id, DecisionKind.AGENT_CHANGED, agent.agent_name, what, changed=[*changed])


def remove_agent(session: Session, agent: AgentModel) -> None:
    """Remove an agent, with its executions and their results."""
    name, project_id = agent.agent_name, agent.project_id
    session.delete(agent)
    what = f"agent {name} is removed, with its executions"
    audit(session, project_id, DecisionKind.AGENT_REMOVED, name, what)


def disable_agent(session: Session, agent: AgentModel) -> bool:
    """Stop new executions of an agent; running ones continue. Return whether this is a change."""
    if agent.disabled_at is not None:
        return False
    agent.disabled_at = utc_now()
    what = f"agent {agent.agent_name} is disabled: it starts no new executions"
    audit(session, agent.project_id, DecisionKind.AGENT_DISABLED, agent.agent_name, what)
    return True


def enable_agent(session: Session, agent: AgentModel) -> bool:
    """Enable a disabled agent, and return whether this is a change.

    Due times that passed meanwhile are not caught up.
    """
    if agent.disabled_at is None:
        return False
    agent.disabled_at = None
    session.execute(
        update(ScheduleModel)
        .where(ScheduleModel.agent_id == agent.id, ScheduleModel.paused_at.is_(None))
        .values(settled_until=StoreNow(), waiting_due_at=None)
    )
    what = f"agent {agent.agent_name} is enabled"
    audit(session, agent.project_id, DecisionKind.AGENT_ENABLED, agent.agent_name, what)
    return True


def find_agent(session: Session, project_id: str, name_or_id: str) -> AgentModel:
    """Return an agent of that project; agents of other projects are invisible.

    Raises:
        UnknownAgentError: The project has no such agent.
    """
    named = or_(AgentModel.agent_name == name_or_id, AgentModel.id == name_or_id)
    query = select(AgentModel).where(AgentModel.project_id == project_id, named)
    # An agent's name may equal the id of another agent: the id wins.
    agent = session.scalars(query.order_by(AgentModel.id != name_or_id)).first()
    if agent is None:
        project = session.get(ProjectModel, project_id)
        known = [known.agent_name for known in list_agents(session, project_id)]
        raise UnknownAgentError(name_or_id, project.name if project else project_id, known)
    return agent


def list_agents(session: Session, project_id: str) -> Sequence[AgentModel]:
    """Return the agents of that project by name."""
    query = select(AgentModel).where(AgentModel.project_id == project_id)
    return session.scalars(query.order_by(AgentModel.agent_name)).all()


def _differing(before: Mapping[str, JSONValue], after: Mapping[str, JSONValue]) -> list[str]:
    return sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
