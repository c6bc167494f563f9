"""Runs Reddit agents, and reports on them to ``agentic doctor``."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from agentic.core.browser import BrowserUnavailableError
from agentic.core.hooks import Finding, warning
from agentic.core.reading.extras import MissingExtraError, load
from agentic.core.reading.feeds import EXTRA
from agentic.core.settings import load_settings
from agentic.executors.agents.actor_resources import SharedBrowser
from agentic.executors.agents.doctor import AgentsDoctor
from agentic.executors.api import ApiAgentExecutor
from agentic.executors.base import AgentWork
from agentic.executors.browser.checkup import find_browser
from agentic.plugins.reddit.client import RedditClient, api_client, page_client
from agentic.plugins.reddit.judging import RedditVerdict
from agentic.plugins.reddit.reading.items import Found, RedditQuery
from agentic.plugins.reddit.settings import MAX_ROWS, RedditSettings
from agentic.plugins.reddit.workflow import reddit_workflow

if TYPE_CHECKING:
    from agentic.core.http.failures import Verdict
    from agentic.executors.project_http import ProjectHttp
    from agentic.mappers import Database


class RedditAgentExecutor(ApiAgentExecutor):
    """Reads posts, comments, scores or subreddits; config: :class:`RedditSettings`."""

    @staticmethod
    def clock() -> datetime:
        """Return the time."""
        return datetime.now(UTC)

    def settings(self) -> RedditSettings:
        """Return the agent's config."""
        return self.read_config(RedditSettings)

    def validate(self) -> None:
        """Check that the agent can run in its mode.

        Raises:
            AgentConfigError: The config does not fit, or a library is not installed.
        """
        super().validate()
        if self.settings().mode == "feed":
            try:
                load("fastfeedparser", EXTRA)
            except MissingExtraError as exc:
                raise self._misconfigured(str(exc)) from None

    def account(self) -> str:
        """Return the client: Reddit counts by client, or by address without one."""
        return self.settings().account

    def verdict(self) -> Verdict:
        """Return Reddit's own rules."""
        return RedditVerdict()

    def create_initial_state(self) -> dict[str, object]:
        """Return the agent's name and goals, and its query."""
        query = query_of(self.settings(), self._known_ids())
        return {
            "agent_name": self.agent.agent_name,
            "goals": self.goals,
            "query": query.model_dump(mode="json", exclude_defaults=True),
        }

    def work(self, database: Database) -> AgentWork:
        """Return the graph; mode browser shares the browser of this process."""
        if self.settings().mode != "browser":
            return super().work(database)
        from agentic.core.settings import load_settings

        self._browser = SharedBrowser(load_settings())
        made = super().work(database)

        async def close() -> None:
            await self._browser.aclose()
            if made.close is not None:
                await made.close()

        return replace(made, close=close)

    def graph(self, http: ProjectHttp) -> AgentWork:
        """Return the graph; posts, comments and subreddits are stored, ``warnings`` reported."""
        settings = self.settings()
        client = self._client(settings, http)
        is_tree = settings.read == "comments" and not settings.ids
        is_paced = settings.mode == "feed"
        return AgentWork(
            workflow=reddit_workflow(client, settings.max_wait_s, is_tree=is_tree, is_paced=is_paced),
            message_of=lambda state: RedditQuery.model_validate(state["query"]),
            results_of=lambda found: Found.model_dump(found, mode="json", exclude_defaults=True),
        )

    def _client(self, settings: RedditSettings, http: ProjectHttp) -> RedditClient:
        if settings.mode == "browser":
            from agentic.core.browser import BrowserFetcher

            return page_client(settings, BrowserFetcher(http.fetcher, self._browser), self.clock)
        connect = nullcontext(http.fetcher)
        return api_client(settings, lambda: connect, http.secrets.secret, self.clock)

    def _known_ids(self) -> tuple[str, ...]:
        """Return the stored posts whose scores to read, the newest first, and one beyond the limit."""
        days = self.settings().days
        if days is None:
            return ()
        from agentic.plugins.reddit.models import recent_posts

        since = self.clock() - timedelta(days=days)
        return recent_posts(self.db_session, self.agent.project_id, since, MAX_ROWS + 1)


def query_of(settings: RedditSettings, known: tuple[str, ...] = ()) -> RedditQuery:
    """Return the query.

    Args:
        settings: The agent's config.
        known: Stored posts, for scores of the last ``days``.
    """
    return RedditQuery(
        read=settings.read,
        subreddits=settings.subreddits,
        users=settings.users,
        query=settings.query,
        sort=settings.sort or "new",
        t=settings.t,
        limit=settings.limit,
        ids=settings.ids or known[:MAX_ROWS],
        is_cut=len(known) > MAX_ROWS,
    )


PLATFORM_NAME = "reddit"


def _look(settings: RedditSettings) -> Iterator[Finding]:
    match settings.mode:
        case "oauth":
            return
        case "feed":
            yield from _feed_findings(settings)
        case "archive":
            yield warning("reads by mode archive: a copy by others, with scores of 36 hours after the post")
        case "browser":
            yield from _browser_findings()


def _feed_findings(settings: RedditSettings) -> Iterator[Finding]:
    text = "reads by mode feed, which has no scores"
    if settings.target_count > 1:
        minutes = settings.target_count * settings.feed_interval_s / 60
        text += (
            f", one page every {settings.feed_interval_s:g} s: its {settings.target_count} feeds take "
            f"{minutes:.0f} minutes a run; join subreddits as a+b"
        )
    yield warning(text)


def _browser_findings() -> Iterator[Finding]:
    try:
        asyncio.run(find_browser(load_settings().browser_path))
    except BrowserUnavailableError as exc:
        yield Finding(f"reads by mode browser, but it cannot: {exc}")
    else:
        yield warning("reads by mode browser: the first posts of a page, and no comments")


DOCTOR = AgentsDoctor(platform=PLATFORM_NAME, settings=RedditSettings, look=_look)
"""Reports agents that cannot run, and their modes. Reddit is not called."""
