"""Typed answers of the APIs, and queries to them.

https://github.com/HackerNews/API describes the one, https://hn.algolia.com/api the other.
"""

from __future__ import annotations

import html
from collections.abc import Mapping

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt, model_validator

from agentic.core.types import JSONValue
from agentic.plugins.hackernews.settings import MAX_STORIES, Sort, StoryList

END_OF_TIME_S = 253_402_300_799
"""The last second of the year 9999: later times are not dates in Python or SQL."""

Answer = dict[str, JSONValue]
"""A thing as Algolia returns it, validated when it is stored: a bad one does not affect the others."""


class HackerNewsItem(BaseModel):
    """A story, job, poll or comment. Everything but ``id`` may be missing; unknown fields are carried along.

    Attributes:
        type: story, job, poll, pollopt, comment, or what the API may add.
        time: When it was made, seconds since the epoch.
        title: As the API escapes it, see :attr:`plain_title`.
        text: HTML.
        descendants: Comments below it, at any depth.
        deleted: Its author took it back: author, title and text are then missing.
        dead: Moderators or flags took it off the lists.
    """

    __wire_name__ = "agentic.plugins.hackernews.items.HackerNewsItem"

    model_config = ConfigDict(extra="allow", frozen=True)

    id: PositiveInt
    type: str | None = None
    by: str | None = None
    time: int | None = Field(default=None, ge=0, le=END_OF_TIME_S)
    title: str | None = None
    url: str | None = None
    text: str | None = None
    score: int | None = None
    descendants: int | None = None
    parent: int | None = None
    poll: int | None = None
    deleted: bool = False
    dead: bool = False

    @property
    def plain_title(self) -> str | None:
        """The title without HTML escapes."""
        return None if self.title is None else html.unescape(self.title)

    @property
    def is_whole(self) -> bool:
        """Whether it is complete: an omitted field then has no value, because empty ones are not sent."""
        return None not in (self.type, self.by) and not (self.deleted or self.dead)


class HackerNewsUser(BaseModel):
    """Somebody who writes. ``created`` is in seconds since the epoch, ``about`` is HTML.

    Of ``submitted``, ids by the ten thousands, only the number is carried along.
    """

    __wire_name__ = "agentic.plugins.hackernews.items.HackerNewsUser"

    model_config = ConfigDict(extra="allow", frozen=True)

    id: str = Field(min_length=1)
    karma: int | None = None
    created: int | None = Field(default=None, ge=0, le=END_OF_TIME_S)
    about: str | None = None
    submitted_count: NonNegativeInt | None = None

    @model_validator(mode="before")
    @classmethod
    def _counted(cls, answer: object) -> object:
        if not isinstance(answer, Mapping) or not isinstance(ids := answer.get("submitted"), list):
            return answer
        kept = {name: value for name, value in answer.items() if name != "submitted"}
        return {**kept, "submitted_count": len(ids)}


class _OfAlgolia(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    created_at_i: int | None = Field(default=None, ge=0, le=END_OF_TIME_S)
    created_at: AwareDatetime | None = None
    author: str | None = None
    title: str | None = None
    url: str | None = None
    points: int | None = None
    parent_id: PositiveInt | None = None
    story_id: PositiveInt | None = None

    @property
    def plain_title(self) -> str | None:
        """The title without HTML escapes."""
        return None if self.title is None else html.unescape(self.title)


class AlgoliaHit(_OfAlgolia):
    """What a search finds. ``num_comments`` only stories have."""

    id: PositiveInt = Field(alias="objectID")
    story_text: str | None = None
    comment_text: str | None = None
    num_comments: int | None = None
    tags: tuple[str, ...] = Field(default=(), alias="_tags")


class AlgoliaNode(_OfAlgolia):
    """One item of a tree; one that its author took back has neither author nor text."""

    id: PositiveInt
    type: str | None = None
    text: str | None = None

    @property
    def is_deleted(self) -> bool:
        """Whether all of its text is gone."""
        return self.author is None and not (self.text or self.title)


class SearchPage(BaseModel):
    """One page of a search; ``total`` is how many hits there are, of which 1,000 can be had."""

    model_config = ConfigDict(extra="allow", frozen=True)

    hits: tuple[Answer, ...]
    total: NonNegativeInt = Field(alias="nbHits")
    page_count: NonNegativeInt = Field(default=0, alias="nbPages")


class StoryQuery(BaseModel):
    """Which stories are wanted: the first ``limit`` of ``list``."""

    __wire_name__ = "agentic.plugins.hackernews.items.StoryQuery"

    model_config = ConfigDict(extra="forbid", frozen=True)

    list: StoryList = "top"
    limit: int = Field(default=30, ge=1, le=MAX_STORIES)


class SearchQuery(BaseModel):
    """What is searched for; times are seconds since the epoch, both included."""

    __wire_name__ = "agentic.plugins.hackernews.items.SearchQuery"

    model_config = ConfigDict(extra="forbid", frozen=True)

    query: str = ""
    tags: tuple[str, ...] = ()
    sort: Sort = "date"
    min_points: NonNegativeInt | None = None
    min_comments: NonNegativeInt | None = None
    since: int | None = None
    until: int | None = None
    limit: PositiveInt = 30


class TreeQuery(BaseModel):
    """Whose trees are wanted: those of ``items``, or else of what ``search`` or ``stories`` finds."""

    __wire_name__ = "agentic.plugins.hackernews.items.TreeQuery"

    model_config = ConfigDict(extra="forbid", frozen=True)

    items: tuple[PositiveInt, ...] = ()
    search: SearchQuery | None = None
    stories: StoryQuery | None = None


class UserQuery(BaseModel):
    """Who is wanted."""

    __wire_name__ = "agentic.plugins.hackernews.items.UserQuery"

    model_config = ConfigDict(extra="forbid", frozen=True)

    names: tuple[str, ...]


class RankedItem(BaseModel):
    """An item and its place in the list, from 1."""

    __wire_name__ = "agentic.plugins.hackernews.items.RankedItem"

    model_config = ConfigDict(extra="forbid", frozen=True)

    rank: PositiveInt
    item: HackerNewsItem


class Stories(BaseModel):
    """What a run read. ``warnings`` holds a sentence for each of the ``unread_count`` items it could not."""

    __wire_name__ = "agentic.plugins.hackernews.items.Stories"

    model_config = ConfigDict(extra="forbid", frozen=True)

    stories: tuple[RankedItem, ...]
    warnings: tuple[str, ...]
    unread_count: NonNegativeInt = 0


class Tree(BaseModel):
    """An item, the options of a poll and the comments below it, parents first.

    Attributes:
        comment_count: Comments, those that are left out, too.
        option_count: Options of the poll, right behind it.
    """

    __wire_name__ = "agentic.plugins.hackernews.items.Tree"

    model_config = ConfigDict(extra="forbid", frozen=True)

    nodes: tuple[Answer, ...]
    comment_count: NonNegativeInt
    option_count: NonNegativeInt = 0


class Found(BaseModel):
    """What was found.

    Attributes:
        warnings: A sentence for each thing that could not be read, and for what else is missing.
        unread_count: How many hits, trees or users could not be read, though they were wanted.
    """

    __wire_name__ = "agentic.plugins.hackernews.items.Found"

    model_config = ConfigDict(extra="forbid", frozen=True)

    hits: tuple[Answer, ...] = ()
    nodes: tuple[Answer, ...] = ()
    users: tuple[HackerNewsUser, ...] = ()
    warnings: tuple[str, ...] = ()
    unread_count: NonNegativeInt = 0
