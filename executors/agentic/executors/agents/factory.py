"""Creates the executor for an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentic.core.errors import AgenticError
from agentic.core.hooks import Platform, get_registry
from agentic.executors.base import BaseAgentExecutor

if TYPE_CHECKING:
    from pydantic import BaseModel
    from sqlalchemy.orm import Session

    from agentic.mappers import AgentModel, ResultMapper


class ExecutorFactory:
    """Platform name -> platform executor, from the installed plugins."""

    @staticmethod
    def create(agent: AgentModel, *, execution_id: str, session: Session | None = None) -> BaseAgentExecutor:
        """Return a new executor for one execution of ``agent``.

        Args:
            agent: Its ``agent_platform`` chooses the class.
            execution_id: The execution to run.
            session: An open database session, if any.

        Raises:
            UnknownPlatformError: No plugin provides the platform.
        """
        return executor_class(agent.agent_platform)(agent, execution_id, session)

    @staticmethod
    def register_executor(
        name: str,
        cls: type[BaseAgentExecutor],
        *,
        mapper: type[ResultMapper] | None = None,
        settings: type[BaseModel] | None = None,
    ) -> None:
        """Add a platform to this process at run time; an installed plugin is the lasting way.

        Args:
            name: Name of the platform.
            cls: Runs its agents.
            mapper: Stores their results; without it only the general result is stored.
            settings: Validates the config of agents; without it they take none.

        Raises:
            DuplicateNameError: The name is taken.
        """
        if mapper is None:
            from agentic.executors.agents.default_mapper import GeneralResultMapper

            mapper = GeneralResultMapper
        get_registry().add_platform(Platform(name=name, executor=cls, mapper=mapper, settings=settings))


def executor_class(platform: str) -> type[BaseAgentExecutor]:
    """Return the class that runs agents of a platform.

    Raises:
        UnknownPlatformError: No plugin provides the platform.
    """
    # The core, which is below, knows only what it needs of it.
    return cast("type[BaseAgentExecutor]", get_registry().platform(platform).executor)


def route_of(agent: AgentModel) -> str:
    """Return the route of an agent's work; its platform if its config cannot run."""
    try:
        return ExecutorFactory.create(agent, execution_id="").route
    except AgenticError:
        return agent.agent_platform
