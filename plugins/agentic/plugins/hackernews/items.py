"""What the API says, typed. https://github.com/HackerNews/API describes it."""

from __future__ import annotations

import html

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from agentic.plugins.hackernews.settings import MAX_STORIES, StoryList

END_OF_TIME_S = 253_402_300_799
"""The last second of the year 9999: what comes later is no date in Python or SQL."""


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


class StoryQuery(BaseModel):
    """Which stories are wanted: the first ``limit`` of ``list``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    list: StoryList = "top"
    limit: int = Field(default=30, ge=1, le=MAX_STORIES)


class RankedItem(BaseModel):
    """An item and its place in the list, from 1."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rank: PositiveInt
    item: HackerNewsItem


class Stories(BaseModel):
    """What a run read. ``warnings`` holds a sentence for each item that could not be read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    stories: tuple[RankedItem, ...]
    warnings: tuple[str, ...]
