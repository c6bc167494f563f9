"""Runs Hacker News agents."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, NoReturn

from agentic.core.http import Fetcher, SharedTransport
from agentic.executors import BaseAgentExecutor
from agentic.executors.base import AgentWork
from agentic.plugins.hackernews.client import HackerNewsClient
from agentic.plugins.hackernews.items import Stories, StoryQuery
from agentic.plugins.hackernews.settings import HackerNewsSettings
from agentic.plugins.hackernews.workflow import story_workflow

if TYPE_CHECKING:
    from agentic.mappers import Database


class HackerNewsAgentExecutor(BaseAgentExecutor):
    """Reads the head of a story list; config: :class:`HackerNewsSettings`."""

    def create_initial_state(self) -> dict[str, object]:
        """Return the agent's name and goals, and which stories it wants."""
        settings = self.read_config(HackerNewsSettings)
        query = StoryQuery(list=settings.list, limit=settings.limit)
        return {
            "agent_name": self.agent.agent_name,
            "goals": self.goals,
            "query": query.model_dump(mode="json"),
        }

    def work(self, database: Database) -> AgentWork:  # noqa: ARG002 - the port's
        """Return the graph; ``stories`` are stored, best first, and ``warnings``: one for each gone item."""
        settings = self.read_config(HackerNewsSettings)
        transport = SharedTransport(settings.policy())
        fetcher = Fetcher(settings.policy(), transport)
        return AgentWork(
            workflow=story_workflow(HackerNewsClient(settings.base_url, lambda: nullcontext(fetcher))),
            message_of=lambda state: StoryQuery.model_validate(state["query"]),
            results_of=lambda stories: Stories.model_dump(stories, mode="json", exclude_unset=True),
            close=transport.aclose,
        )

    async def execute_agent(self, state: dict[str, object]) -> NoReturn:
        """Never called, as :meth:`work` gives a graph."""
        raise NotImplementedError
