"""The report of ``agentic doctor`` on feeds and the agents that watch them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agentic.core.hooks import Finding, warning
from agentic.core.reading.extras import MissingExtraError
from agentic.executors.agents.doctor import AgentsDoctor
from agentic.plugins.feed.libraries import check_libraries
from agentic.plugins.feed.settings import FeedSettings

if TYPE_CHECKING:  # sqlalchemy is loaded when the doctor runs
    from agentic.mappers import AgentModel, Database
    from agentic.plugins.feed.polls import FeedState

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
    return f"failed {feed.failures} times in a row{again}: {feed.last_error}"


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
