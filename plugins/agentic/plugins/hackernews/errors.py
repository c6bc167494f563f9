"""Errors of Hacker News, besides the transport."""

from __future__ import annotations

from agentic.core.errors import AgenticError


class HackerNewsError(AgenticError):
    """Base of errors about Hacker News."""


class ItemGoneError(HackerNewsError, LookupError):
    """The API answers ``null`` for an item: it never existed, or no longer exists."""

    def __init__(self, item_id: int) -> None:
        super().__init__(f"item {item_id} is gone; the next run reads the list again")
        self.item_id = item_id


class UnknownItemError(HackerNewsError, LookupError):
    """Algolia has no tree for that item."""

    def __init__(self, item_id: int) -> None:
        super().__init__(f"Algolia has no item {item_id}; correct the agent's items, or try a little later")
        self.item_id = item_id


class UnknownUserError(HackerNewsError, LookupError):
    """No user has exactly that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"user {name!r} does not exist; names are case-sensitive, correct the agent's users")
        self.name = name
