"""Adds and changes agents if their platform accepts them; finds executions by id prefix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import select
from sqlalchemy.orm import Session

from agentic.core.types import JSONValue
from agentic.executors.agents.factory import ExecutorFactory
from agentic.executors.errors import ExecutionError
from agentic.mappers import (
    AgentModel,
    DuplicateAgentError,
    ExecutionModel,
    ProjectModel,
    add_agent,
    find_execution,
)
from agentic.mappers.catalog.projects import change_agent, disable_agent, enable_agent
from agentic.mappers.database.prefixes import begins_with


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFacts:
    """The definition of an agent.

    Attributes:
        name: Name of the agent.
        platform: Runs it.
        config: The whole config.
        goals: None keeps the goals of an existing agent, unless ``is_whole``.
        is_disabled: None keeps an existing agent enabled or disabled; a new one is enabled.
        is_whole: Whether this defines the whole agent, so that None removes its goals.
    """

    name: str
    platform: str
    config: Mapping[str, JSONValue] = field(default_factory=dict)
    goals: str | None = None
    is_disabled: bool | None = None
    is_whole: bool = False


def put_agent(
    session: Session, project: ProjectModel, facts: AgentFacts, *, replace: bool = False
) -> AgentModel:
    """Add an agent to ``project``, or change the one with that name.

    Args:
        session: In a transaction; roll it back when this raises.
        project: Owns the agent.
        facts: The definition of the agent.
        replace: Change an existing agent.

    Raises:
        UnknownPlatformError: No plugin provides the platform.
        AgentConfigError: The platform does not accept the config.
        DuplicateAgentError: There is an agent of that name, and ``replace`` is off.
    """
    agent = find_named(session, project, facts.name)
    if agent is None:
        agent = add_agent(session, project, facts.name, facts.platform, facts.config, facts.goals)
    elif not replace:
        raise DuplicateAgentError(facts.name, project.name)
    else:
        goals = agent.goals if facts.goals is None and not facts.is_whole else facts.goals
        change_agent(session, agent, platform=facts.platform, config=facts.config, goals=goals)
    check_agent(session, agent)
    if facts.is_disabled is not None:
        (disable_agent if facts.is_disabled else enable_agent)(session, agent)
    return agent


def find_named(session: Session, project: ProjectModel, name: str) -> AgentModel | None:
    """Return the agent of ``project`` with exactly that name."""
    query = select(AgentModel).where(AgentModel.project_id == project.id, AgentModel.agent_name == name)
    return session.scalar(query)


def find_by_prefix(session: Session, project: ProjectModel, prefix: str) -> ExecutionModel:
    """Return the execution of ``project`` whose id begins with ``prefix``.

    Raises:
        UnknownExecutionError: None matches.
        ExecutionError: Several match.
    """
    of_project = ExecutionModel.project_id == project.id
    begins = begins_with(ExecutionModel.id, prefix)
    found = session.scalars(select(ExecutionModel).where(of_project, begins).limit(2)).all()
    if len(found) > 1:
        raise ExecutionError(
            f"several executions of {project.name!r} begin with {prefix!r}; use a longer prefix"
        )
    return found[0] if found else find_execution(session, project.id, prefix)


def check_agent(session: Session, agent: AgentModel) -> None:
    """Validate an agent's config and goals with its platform.

    Raises:
        UnknownPlatformError: No plugin provides the platform.
        AgentConfigError: The platform does not accept them.
    """
    executor = ExecutorFactory.create(agent, execution_id="")
    with executor.attached(agent, session):
        executor.validate()
