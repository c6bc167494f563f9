"""An agent of a row outside of its executions: for the command line, and for servers."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from agentic.core.agents.responses import AgentResponse
from agentic.core.settings import load_settings
from agentic.executors.agents.talking import TalkingAgent
from agentic.mappers import AgentModel, Database
from agentic.mappers.upserts.upsert import upsert
from agentic.plugins.chat.executor import ChatAgentExecutor, make_agent
from agentic.plugins.chat.models import ChatTurnModel
from agentic.plugins.chat.settings import ChatSettings
from agentic.plugins.chat.turns import turn_of

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from agentic.core.actors import ActorContext
    from agentic.core.types import RunId
    from agentic.executors.agents.actor_resources import ActorResources


OF_EXECUTIONS = ("run-", "kept-")
"""Ids of the threads of executions begin with these."""


def make_talking_agent(row: AgentModel, database: Database) -> TalkingAgent:
    """Return the agent of a row, for servers; its turns become rows, like turns of ``agentic chat``.

    Raises:
        AgentConfigError: The config is invalid.
    """
    settings = ChatAgentExecutor(row, "").settings
    resources = LateResources(database, row.project_id)
    agent = make_agent(row, settings, database, resources.context)

    async def close() -> None:
        async with AsyncExitStack() as stack:
            stack.push_async_callback(resources.aclose)
            stack.push_async_callback(agent.aclose)

    return TalkingAgent(
        agent=agent, store_turn=partial(store_turn, row, settings), close=close, reserved=OF_EXECUTIONS
    )


def store_turn(  # an agent, its config, and a turn
    row: AgentModel,
    settings: ChatSettings,
    session: Session,
    response: AgentResponse[Any],
    prompt: str,
    user_id: str | None,
) -> None:
    """Store a turn that belongs to no execution.

    Args:
        row: The agent.
        settings: Its config.
        session: In a transaction.
        response: The end of the turn.
        prompt: The text of its input.
        user_id: The person who speaks, if known.
    """
    turn = turn_of(response, agent=row.agent_name, prompt=prompt, model=settings.model, user_id=user_id)
    owner = {"project_id": row.project_id, "agent_id": row.id, "execution_id": ""}
    key = ("project_id", "thread_id", "turn")
    upsert(session, ChatTurnModel, [{**turn.model_dump(), **owner}], key=key)


class LateResources:
    """Services for the actors and pipelines of an agent, made when one of them is called.

    Args:
        database: Holds the project's data.
        project_id: Owns the agent.
    """

    def __init__(self, database: Database, project_id: str) -> None:
        self._database = database
        self._project_id = project_id
        self._made: ActorResources | None = None

    def context(self, run_id: RunId) -> ActorContext:
        """Return the services; see :class:`~agentic.executors.agents.actor_resources.ActorResources`."""
        if self._made is None:
            from agentic.core.http import HttpPolicy
            from agentic.executors.agents.actor_resources import ActorResources

            self._made = ActorResources(self._database, self._project_id, HttpPolicy(), load_settings())
        return self._made.context(run_id)

    async def aclose(self) -> None:
        """Close all open resources."""
        if self._made is not None:
            await self._made.aclose()
