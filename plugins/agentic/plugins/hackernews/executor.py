"""Runs Hacker News agents."""

from __future__ import annotations

from contextlib import nullcontext

from agentic.core.http import open_fetcher
from agentic.executors import BaseAgentExecutor
from agentic.plugins.hackernews.client import HackerNewsClient
from agentic.plugins.hackernews.items import Stories, StoryQuery
from agentic.plugins.hackernews.settings import HackerNewsSettings
from agentic.plugins.hackernews.workflow import story_workflow


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

    async def execute_agent(self, state: dict[str, object]) -> dict[str, object]:
        """Return ``stories``, best first, and ``warnings``: one for each item that could not be read."""
        settings = self.read_config(HackerNewsSettings)
        async with open_fetcher(settings.policy()) as fetcher:
            client = HackerNewsClient(settings.base_url, lambda: nullcontext(fetcher))
            run = await self.run_workflow(story_workflow(client), StoryQuery.model_validate(state["query"]))
        return run.output(Stories).model_dump(mode="json", exclude_unset=True)
