"""Fetches feeds, and only new content."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from agentic.core.http import Fetcher, HttpRequest, HttpResponse
from agentic.core.reading.extras import MissingExtraError
from agentic.core.reading.feeds import ACCEPT, Feed, read_feed
from agentic.core.threads import in_spare_thread
from agentic.plugins.feed.errors import UnreadableFeedError
from agentic.plugins.feed.polls import FeedState

Connect = Callable[[], AbstractAsyncContextManager[Fetcher]]
"""Returns the fetcher for one request: a shared one, or a new one."""

OPML = "text/x-opml, application/xml;q=0.9, */*;q=0.5"


class FeedClient:
    """Fetches feeds and lists of feeds.

    Args:
        connect: Returns the fetcher.
    """

    def __init__(self, connect: Connect) -> None:
        self._connect = connect

    async def ask(self, feed: FeedState) -> tuple[HttpResponse, Feed | None]:
        """Return the answer of a feed's server, and the feed; None if it has not changed.

        Raises:
            FetchError: The answer did not come.
            UnreadableFeedError: It is not a feed.
            MissingExtraError: A library that reads feeds is not installed.
        """
        headers = {"accept": ACCEPT, **validators(feed)}
        async with self._connect() as fetcher:
            response = await fetcher.fetch(HttpRequest(url=feed.url, headers=headers))
        if response.status == 304:
            if not validators(feed):
                raise UnreadableFeedError(response.url, "304 answers a request that named no earlier version")
            return response, None
        return response, await in_spare_thread(_read, response)

    async def opml(self, url: str) -> bytes:
        """Return a list of feeds, unchanged.

        Raises:
            FetchError: The answer did not come.
        """
        async with self._connect() as fetcher:
            response = await fetcher.fetch(HttpRequest(url=url, headers={"accept": OPML}))
        return response.body


def validators(feed: FeedState) -> dict[str, str]:
    """Return the headers for a server to send nothing if nothing is new."""
    found = {"if-none-match": feed.etag, "if-modified-since": feed.last_modified}
    return {name: value for name, value in found.items() if value}


def _read(response: HttpResponse) -> Feed:
    try:
        return read_feed(response.body, response.url, response.headers.get("content-type"))
    except MissingExtraError:
        raise
    except Exception as exc:  # two libraries read untrusted input; each fails in its own ways
        reason = str(exc) or type(exc).__name__
        raise UnreadableFeedError(response.url, f"{reason:.200}") from None
