"""Makes the executor that fits an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.errors import AgenticError
from agentic.core.hooks import Platform, get_registry
from agentic.executors.base import BaseAgentExecutor

if TYPE_CHECKING:
    from pydantic import BaseModel
    from sqlalchemy.orm import Session

    from agentic.mappers import AgentModel, ResultMapper


class ExecutorFactory:
    """Platform name -> platform executor, as the installed plugins say."""

    @staticmethod
    def create(agent: AgentModel, *, execution_id: str, session: Session | None = None) -> BaseAgentExecutor:
        """Return a new executor for one execution of ``agent``.

        Args:
            agent: Its ``agent_platform`` chooses the class.
            execution_id: The execution to be run.
            session: Open database session, if one is.

        Raises:
            UnknownPlatformError: No plugin brings the platform.
        """
        return get_registry().platform(agent.agent_platform).executor(agent, execution_id, session)

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
            name: Of the platform.
            cls: Runs its agents.
            mapper: Stores their results; only the general result is stored when left out.
            settings: Validates the config of agents; they take none when left out.

        Raises:
            DuplicateNameError: The name is taken.
        """
        if mapper is None:
            from agentic.executors.agents.default_mapper import GeneralResultMapper

            mapper = GeneralResultMapper
        get_registry().add_platform(Platform(name=name, executor=cls, mapper=mapper, settings=settings))


def route_of(agent: AgentModel) -> str:
    """Return what an agent's work is routed by; its platform where it cannot be run as it is configured."""
    try:
        return ExecutorFactory.create(agent, execution_id="").route
    except AgenticError:
        return agent.agent_platform
