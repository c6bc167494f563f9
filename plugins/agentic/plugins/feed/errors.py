"""Errors of watching feeds, besides the transport."""

from __future__ import annotations

from agentic.core.errors import AgenticError
from agentic.core.settings import safe_url


class FeedError(AgenticError):
    """Base of errors about feeds."""


class UnreadableFeedError(FeedError, ValueError):
    """The answer is not a feed."""

    def __init__(self, url: str, reason: str) -> None:
        shown = safe_url(url)
        super().__init__(f"{shown} is not a feed: {reason}")
        self.url = shown


class UnreadableOpmlError(FeedError, ValueError):
    """The list of feeds is missing or invalid."""

    def __init__(self, place: str, reason: str) -> None:
        shown = safe_url(place)
        super().__init__(
            f"the OPML {shown} cannot be read: {reason}; give the URL or path of a list of feeds"
        )
        self.place = shown
