"""What can go wrong between us and Hacker News, besides the transport."""

from __future__ import annotations

from agentic.core.errors import AgenticError


class HackerNewsError(AgenticError):
    """Something about Hacker News."""


class ItemGoneError(HackerNewsError, LookupError):
    """The API answers ``null`` for an item: it never was, or is no longer there."""

    def __init__(self, item_id: int) -> None:
        super().__init__(f"item {item_id} is gone; the next run reads the list anew")
        self.item_id = item_id


class NoStoryReadError(HackerNewsError):
    """A list was there, and not one of its stories could be read."""

    def __init__(self, count: int, first_reason: str) -> None:
        super().__init__(f"none of {count} stories could be read; the first one: {first_reason}")
        self.count = count
