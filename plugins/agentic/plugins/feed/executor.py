"""Runs feed agents, and reports on them to ``agentic doctor``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from agentic.core.hooks import Finding, warning
from agentic.core.pipeline import Judgement
from agentic.core.reading.extras import MissingExtraError, load
from agentic.core.reading.feeds import EXTRA
from agentic.core.settings import load_settings
from agentic.executors import BaseAgentExecutor
from agentic.executors.agents.doctor import AgentsDoctor
from agentic.executors.base import AgentWork
from agentic.executors.project_http import ProjectHttp
from agentic.mappers import utc_now
from agentic.plugins.feed.client import FeedClient
from agentic.plugins.feed.polls import Polls, WatchList
from agentic.plugins.feed.settings import FeedSettings
from agentic.plugins.feed.store import known_feeds
from agentic.plugins.feed.workflow import PollingLimits, poll_workflow

if TYPE_CHECKING:
    from agentic.mappers import AgentModel, Database
    from agentic.plugins.feed.polls import FeedState

LIBRARIES = ("fastfeedparser", "feedparser")

_READ = ("read", "unchanged", "postponed")
"""Counts of polls that did not fail."""


def check_libraries() -> None:
    """Check that feeds can be read here.

    Raises:
        MissingExtraError: A library is missing.
    """
    for library in LIBRARIES:
        load(library, EXTRA)


class FeedAgentExecutor(BaseAgentExecutor):
    """Polls the feeds of a list for new entries; config: :class:`FeedSettings`."""

    _failure: str | None = None

    @staticmethod
    def clock() -> datetime:
        """Return the time that decides which feeds are due."""
        return utc_now()

    def validate(self) -> None:
        """Check that feeds can be read here.

        Raises:
            AgentConfigError: The config does not fit, or a library is not installed.
        """
        super().validate()
        try:
            check_libraries()
        except MissingExtraError as exc:
            raise self._misconfigured(str(exc)) from None

    def create_initial_state(self) -> dict[str, object]:
        """Return the agent's name and goals, and its feeds."""
        settings = self.read_config(FeedSettings)
        wanted = WatchList.model_validate(settings.model_dump(include=set(WatchList.model_fields)))
        return {
            "agent_name": self.agent.agent_name,
            "goals": self.goals,
            "watch": wanted.model_dump(mode="json"),
        }

    def work(self, database: Database) -> AgentWork:
        """Return the graph; it yields the polls, and facts about feeds that were not polled."""
        settings = self.read_config(FeedSettings)
        http = ProjectHttp(database, self.agent.project_id, settings.policy(), load_settings())
        client = FeedClient(lambda: nullcontext(http.fetcher))
        known = partial(known_feeds, database, self.agent.project_id)
        return AgentWork(
            workflow=poll_workflow(client, known, PollingLimits.of(settings, self.clock)),
            message_of=lambda state: WatchList.model_validate(state["watch"]),
            results_of=results_of,
            close=http.aclose,
        )

    def save_results(self, results: dict[str, object]) -> bool:
        """Store the polls."""
        if not any(results.get(outcome) for outcome in _READ):
            polls = Polls.model_validate({"polls": results.get("polls", ())}).polls
            self._failure = next((said for poll in polls for said in (*poll.warnings, poll.feed.name)), None)
        return super().save_results(results)

    @property
    def judgement(self) -> Judgement:
        """The verdict: failed if there were polls, and all failed."""
        if self._failure is None:
            return super().judgement
        return Judgement(outcome="failed", reason=f"no polled feed could be read: {self._failure}")

    async def execute_agent(self, state: dict[str, object]) -> NoReturn:
        """Never called, because :meth:`work` returns a graph."""
        raise NotImplementedError


def results_of(polls: Polls) -> dict[str, object]:
    """Return the stored results of a run: its polls, and their number by outcome."""
    return {**polls.model_dump(mode="json"), **polls.outcome_counts()}


PLATFORM_NAME = "feed"

MOST_TOLD = 10
"""Feeds per agent that are reported by name."""


def _feeds(database: Database, agent: AgentModel, settings: FeedSettings) -> Iterator[Finding]:
    """Report feeds that an agent watches without success, from the stored data of its runs."""
    from agentic.plugins.feed.store import troubled_feeds

    feeds = troubled_feeds(database, agent, settings.feeds, is_all=settings.opml is not None)
    for feed in feeds[:MOST_TOLD]:
        yield warning(f"watches {feed.name}, which {_trouble(feed)}")
    if (more := len(feeds) - MOST_TOLD) > 0:
        yield warning(f"watches {more} more feeds that fail or are gone")


def _trouble(feed: FeedState) -> str:
    if feed.disabled_at is not None:
        return (
            f"is gone (410) since {feed.disabled_at:%Y-%m-%d}; remove it from the list, or set ask_disabled"
        )
    again = f", next attempt after {feed.next_poll_at:%Y-%m-%d %H:%M} UTC" if feed.next_poll_at else ""
    return f"failed ({feed.failures} in a row){again}: {feed.last_error}"


AGENTS = AgentsDoctor(platform=PLATFORM_NAME, settings=FeedSettings, look_into=_feeds)


def doctor() -> Iterator[Finding]:
    """Report agents that cannot run, and feeds that do not answer them. No feed is fetched.

    Without any agent, missing libraries are a warning.
    """
    try:
        check_libraries()
    except MissingExtraError as exc:
        yield warning(f"{exc}; agents that watch feeds need it")
    yield from AGENTS()
