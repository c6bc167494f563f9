"""Runs Hacker News agents."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from agentic.executors.api import ApiAgentExecutor
from agentic.executors.base import AgentWork
from agentic.plugins.hackernews.algolia import AlgoliaClient
from agentic.plugins.hackernews.client import HackerNewsClient
from agentic.plugins.hackernews.items import Found, SearchQuery, Stories, StoryQuery, TreeQuery, UserQuery
from agentic.plugins.hackernews.searching import search_workflow, tree_workflow, user_workflow
from agentic.plugins.hackernews.settings import HackerNewsSettings
from agentic.plugins.hackernews.workflow import story_workflow

if TYPE_CHECKING:
    from agentic.core.graph import Workflow
    from agentic.executors.project_http import ProjectHttp

Query = StoryQuery | SearchQuery | TreeQuery | UserQuery

QUERIES: dict[str, type[Query]] = {
    "list": StoryQuery,
    "search": SearchQuery,
    "comments": TreeQuery,
    "users": UserQuery,
}


class HackerNewsAgentExecutor(ApiAgentExecutor):
    """Reads a story list, a search, comments or users; config: :class:`HackerNewsSettings`."""

    def settings(self) -> HackerNewsSettings:
        """Return the agent's config."""
        return self.read_config(HackerNewsSettings)

    def create_initial_state(self) -> dict[str, object]:
        """Return the agent's name and goals, and its query."""
        query = query_of(self.settings(), datetime.now(UTC))
        return {
            "agent_name": self.agent.agent_name,
            "goals": self.goals,
            "query": query.model_dump(mode="json", exclude_none=True),
        }

    def graph(self, http: ProjectHttp) -> AgentWork:
        """Return the graph of the mode; its results are stored, and ``warnings`` reported."""
        settings = self.settings()
        asked = QUERIES[settings.mode]
        return AgentWork(
            workflow=_workflow(settings, http),
            message_of=lambda state: asked.model_validate(state["query"]),
            results_of=_results,
        )


def query_of(settings: HackerNewsSettings, now: datetime) -> Query:
    """Return the query; ``days`` count back from ``now``."""
    match settings.mode:
        case "list":
            return StoryQuery(list=settings.list, limit=settings.limit)
        case "search":
            return _search(settings, now, settings.tags)
        case "users":
            return UserQuery(names=settings.users)
        case "comments" if settings.items:
            return TreeQuery(items=settings.items)
        case "comments" if settings.is_search:
            # By default, trees belong to whole stories.
            return TreeQuery(search=_search(settings, now, settings.tags or ("story",)))
        case "comments":
            return TreeQuery(stories=StoryQuery(list=settings.list, limit=settings.limit))


def _search(settings: HackerNewsSettings, now: datetime, tags: tuple[str, ...]) -> SearchQuery:
    since = now - timedelta(days=settings.days) if settings.days else settings.since
    return SearchQuery(
        query=settings.query or "",
        tags=tags,
        sort=settings.sort,
        min_points=settings.min_points,
        min_comments=settings.min_comments,
        since=int(since.timestamp()) if since else None,
        until=int(settings.until.timestamp()) if settings.until else None,
        limit=settings.limit,
    )


def _workflow(settings: HackerNewsSettings, http: ProjectHttp) -> Workflow:
    connect = nullcontext(http.fetcher)
    client = HackerNewsClient(settings.base_url, lambda: connect)
    algolia = AlgoliaClient(settings.algolia_url, lambda: connect)
    wait_s = settings.max_wait_s
    match settings.mode:
        case "list":
            return story_workflow(client, wait_s)
        case "search":
            return search_workflow(algolia, wait_s)
        case "comments":
            return tree_workflow(client, algolia, max_comments=settings.max_comments, max_wait_s=wait_s)
        case "users":
            return user_workflow(client, wait_s)


def _results(found: Stories | Found) -> dict[str, object]:
    if isinstance(found, Stories):
        return found.model_dump(mode="json", exclude_unset=True)
    return found.model_dump(mode="json", exclude_defaults=True)
