"""Reads targets in the mode of an agent."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

from agentic.core.browser.fetcher import BrowserFetcher
from agentic.core.http.api import Connect
from agentic.plugins.reddit.reading.archive import ArchiveReader
from agentic.plugins.reddit.reading.feeds import FeedReader
from agentic.plugins.reddit.reading.items import Found, Target
from agentic.plugins.reddit.reading.oauth import OauthReader
from agentic.plugins.reddit.reading.pages import PageReader
from agentic.plugins.reddit.reading.tokens import Secret, TokenKeeper
from agentic.plugins.reddit.settings import Mode, RedditSettings


class Reader(Protocol):
    """One way to read Reddit."""

    async def read(self, target: Target) -> Found:
        """Return the results of a target, at most ``limit``.

        Raises:
            FetchError: An answer did not come.
            UnexpectedAnswerError: It is not the expected answer.
        """
        ...


def now_utc() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


class RedditClient:
    """Reads targets, and adds the mode and time of reading to the results.

    Args:
        mode: The mode of ``reader``.
        reader: Reads.
        clock: Gives the time, aware.
    """

    def __init__(self, mode: Mode, reader: Reader, clock: Callable[[], datetime] = now_utc) -> None:
        self._mode = mode
        self._reader = reader
        self._clock = clock

    async def read(self, target: Target) -> Found:
        """Return the results of a target; see :meth:`Reader.read`."""
        found = await self._reader.read(target)
        return found.model_copy(update={"source_mode": self._mode, "read_at": self._clock()})


def api_client(
    settings: RedditSettings, connect: Connect, secrets: Secret, clock: Callable[[], datetime] = now_utc
) -> RedditClient:
    """Return the client for reading over HTTP: mode oauth, feed or archive."""
    reader: Reader
    match settings.mode:
        case "feed":
            reader = FeedReader(settings, connect, secrets)
        case "archive":
            reader = ArchiveReader(settings, connect, clock)
        case _:
            reader = OauthReader(settings, connect, TokenKeeper(settings, connect, secrets), clock)
    return RedditClient(settings.mode, reader, clock)


def page_client(
    settings: RedditSettings, browser: BrowserFetcher, clock: Callable[[], datetime] = now_utc
) -> RedditClient:
    """Return the client for reading with a browser."""
    return RedditClient(settings.mode, PageReader(settings, browser), clock)
