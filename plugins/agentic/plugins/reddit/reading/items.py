"""Queries to Reddit, and parts of its answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Literal, Self

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    PositiveInt,
    ValidationError,
)

from agentic.core.types import JSONValue
from agentic.plugins.reddit.settings import Mode, Period, Read, Sort

Answer = dict[str, JSONValue]
"""A thing as Reddit returns it, validated when it is stored: a bad one does not affect the others."""

Kind = Literal["listing", "search", "user", "tree", "scores", "about"]


class RedditQuery(BaseModel):
    """What a run is to read; see :class:`~agentic.plugins.reddit.settings.RedditSettings`.

    ``is_cut`` says that there are more stored posts than the newest ones in ``ids``.
    """

    __wire_name__ = "agentic.plugins.reddit.items.RedditQuery"

    model_config = ConfigDict(extra="forbid", frozen=True)

    read: Read = "posts"
    subreddits: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    query: str | None = None
    sort: Sort = "new"
    t: Period | None = None
    limit: PositiveInt = 25
    ids: tuple[str, ...] = ()
    is_cut: bool = False


class Target(BaseModel):
    """One thing to read.

    ``name`` is a subreddit's (of a search: "" for everywhere), a user's or a post's id; ``ids`` are fullnames
    whose scores are read.
    """

    __wire_name__ = "agentic.plugins.reddit.items.Target"

    model_config = ConfigDict(extra="forbid", frozen=True)

    what: Kind
    name: str = ""
    query: str | None = None
    sort: Sort = "new"
    t: Period | None = None
    limit: PositiveInt = 25
    ids: tuple[str, ...] = ()


class Found(BaseModel):
    """What was read. ``warnings`` holds a sentence for each thing that was not.

    Attributes:
        source_mode: The way it was read.
        read_at: When.
    """

    __wire_name__ = "agentic.plugins.reddit.items.Found"

    model_config = ConfigDict(extra="forbid", frozen=True)

    posts: tuple[Answer, ...] = ()
    comments: tuple[Answer, ...] = ()
    subreddits: tuple[Answer, ...] = ()
    warnings: tuple[str, ...] = ()
    source_mode: Mode | None = None
    read_at: AwareDatetime | None = None


class Thing(BaseModel):
    """A thing with its kind: ``{"kind": "t3", "data": {...}}``."""

    model_config = ConfigDict(extra="allow", frozen=True)

    kind: str
    data: Answer


class _Children(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    children: list[JSONValue]
    after: str | None = None


class Listing(BaseModel):
    """A page of a listing; ``data.after`` is what the next one comes after."""

    model_config = ConfigDict(extra="allow", frozen=True)

    kind: Literal["Listing"]
    data: _Children

    @property
    def things(self) -> tuple[Thing, ...]:
        """The things of the page; empty for a list of other values."""
        return tuple(things_of(self.data.children))


class More(BaseModel):
    """What stands for comments that a tree leaves out.

    Attributes:
        count: How many they are; 0 for a thread that goes on deeper than an answer does.
        children: Ids of the first of them.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    parent_id: str
    count: int = 0
    children: tuple[str, ...] = ()

    @property
    def is_thread(self) -> bool:
        """Whether it says "continue this thread"."""
        return not self.children

    def without(self, resolved_count: int) -> Self:
        """Return the rest after the first children are resolved."""
        left = self.children[resolved_count:]
        return self.model_copy(
            update={"children": left, "count": max(self.count - resolved_count, len(left))}
        )


def things_of(values: Iterable[JSONValue]) -> Iterator[Thing]:
    """Yield the values that are things."""
    for value in values:
        if isinstance(value, dict) and value.keys() >= {"kind", "data"}:
            with suppress(ValidationError):
                yield Thing.model_validate(value)
