"""Agents, added and changed only when their platform accepts them; executions found as people name them."""

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
    """What an agent is to be.

    Attributes:
        name: Of the agent.
        platform: Runs it.
        config: All of it.
        goals: None leaves those of an agent that is changed as they are, unless ``is_whole``.
        is_disabled: None leaves an agent that is changed enabled or disabled, as it is; a new one is enabled.
        is_whole: Whether all of the agent is told, so that goals that are None are to be none.
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
    """Add an agent to ``project``, or change the one of that name.

    Args:
        session: In a transaction; roll it back when this raises.
        project: Owns the agent.
        facts: What the agent is to be.
        replace: Change an agent that is there.

    Raises:
        UnknownPlatformError: No plugin brings the platform.
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
        UnknownExecutionError: None does.
        ExecutionError: Several do.
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
    """Let the agent's platform look at its config and goals.

    Raises:
        UnknownPlatformError: No plugin brings the platform.
        AgentConfigError: The platform does not accept them.
    """
    executor = ExecutorFactory.create(agent, execution_id="")
    with executor.attached(agent, session):
        executor.validate()
