"""Runs Hacker News agents."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from agentic.executors.api import ApiAgentExecutor
from agentic.executors.base import AgentWork
from agentic.plugins.hackernews.client import HackerNewsClient
from agentic.plugins.hackernews.items import Stories, StoryQuery
from agentic.plugins.hackernews.settings import HackerNewsSettings
from agentic.plugins.hackernews.workflow import story_workflow

if TYPE_CHECKING:
    from agentic.executors.project_http import ProjectHttp


class HackerNewsAgentExecutor(ApiAgentExecutor):
    """Reads the head of a story list; config: :class:`HackerNewsSettings`."""

    def settings(self) -> HackerNewsSettings:
        """Return the agent's config."""
        return self.read_config(HackerNewsSettings)

    def create_initial_state(self) -> dict[str, object]:
        """Return the agent's name and goals, and which stories it wants."""
        settings = self.settings()
        query = StoryQuery(list=settings.list, limit=settings.limit)
        return {
            "agent_name": self.agent.agent_name,
            "goals": self.goals,
            "query": query.model_dump(mode="json"),
        }

    def graph(self, http: ProjectHttp) -> AgentWork:
        """Return the graph; ``stories`` are stored, best first, and ``warnings``: one for each gone item."""
        client = HackerNewsClient(self.settings().base_url, lambda: nullcontext(http.fetcher))
        return AgentWork(
            workflow=story_workflow(client),
            message_of=lambda state: StoryQuery.model_validate(state["query"]),
            results_of=lambda stories: Stories.model_dump(stories, mode="json", exclude_unset=True),
        )
