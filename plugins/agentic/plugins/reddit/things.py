"""Typed posts, comments and subreddits of Reddit.

All fields except the id may be missing or null; unknown fields are passed along.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agentic.core.linear import LinearPattern

Moment = Annotated[float, Field(ge=0, le=32_503_680_000, allow_inf_nan=False)]
"""Seconds since the epoch, up to the year 3000."""

GONE = frozenset({"[deleted]", "[removed]", "[deleted by user]", "[ Removed by Reddit ]"})
"""Placeholders of deleted or removed texts."""

_CONTEXT = LinearPattern(r"/comments/([0-9a-z]+)/")


class _Named(BaseModel):
    """Whatever has an id; those without a ``name`` get theirs of ``id``."""

    model_config = ConfigDict(extra="allow", frozen=True, populate_by_name=True)

    fullname: str = Field(alias="name", max_length=30)
    created_utc: Moment | None = None


class _Written(_Named):
    subreddit: str | None = None
    subreddit_id: str | None = None
    author: str | None = None
    author_fullname: str | None = None
    score: int | None = None
    edited: bool | Moment | None = None
    permalink: str | None = None

    @property
    def writer(self) -> str | None:
        """Who wrote it; None if Reddit no longer says."""
        return None if self.author in GONE else self.author

    @property
    def edited_utc(self) -> float | None:
        """When it was last edited; None if never, or unknown."""
        return None if isinstance(self.edited, bool) else self.edited


class RedditPost(_Written):
    """A post."""

    fullname: str = Field(alias="name", pattern=r"^t3_\w+$", max_length=30)
    title: str | None = None
    selftext: str | None = None
    url: str | None = None
    url_overridden_by_dest: str | None = None
    domain: str | None = None
    upvote_ratio: float | None = None
    num_comments: int | None = None
    over_18: bool | None = None
    spoiler: bool | None = None
    stickied: bool | None = None
    locked: bool | None = None
    is_self: bool | None = None
    is_video: bool | None = None
    link_flair_text: str | None = None
    distinguished: str | None = None
    removed_by_category: str | None = None
    crosspost_parent: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _has_a_name(cls, data: object) -> object:
        return _with_name(data, "t3")

    @property
    def is_gone(self) -> bool:
        """Whether its author has deleted it, or another user has removed it."""
        return bool({self.selftext, self.title} & GONE) or self.removed_by_category is not None


class RedditComment(_Written):
    """A comment. One of an inbox says by its ``context`` only which post it belongs to."""

    fullname: str = Field(alias="name", pattern=r"^t1_\w+$", max_length=30)
    link_id: str | None = None
    parent_id: str | None = None
    body: str | None = None
    score_hidden: bool | None = None
    depth: int | None = None
    is_submitter: bool | None = None
    context: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _has_a_name(cls, data: object) -> object:
        return _with_name(data, "t1")

    @property
    def is_gone(self) -> bool:
        """Whether its author has deleted it, or another user has removed it."""
        return self.body in GONE

    @property
    def post_id(self) -> str | None:
        """Fullname of the post."""
        if self.link_id is not None:
            return self.link_id
        found = _CONTEXT.search(self.context or self.permalink or "")
        return f"t3_{found[1]}" if found else None


class RedditSubreddit(_Named):
    """A subreddit; one that is closed says little more than its name."""

    fullname: str = Field(alias="name", pattern=r"^t5_\w+$", max_length=30)
    display_name: str
    title: str | None = None
    public_description: str | None = None
    description: str | None = None
    subscribers: int | None = None
    accounts_active: int | None = None
    active_user_count: int | None = None
    over18: bool | None = None
    quarantine: bool | None = None
    subreddit_type: str | None = None
    lang: str | None = None
    url: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _has_a_name(cls, data: object) -> object:
        return _with_name(data, "t5")


def _with_name(data: object, kind: str) -> object:
    """Return a thing with its fullname: bare things of an archive may only have their id."""
    if not isinstance(data, dict) or data.get("name") or not isinstance(data.get("id"), str):
        return data
    return {**data, "name": data["id"] if data["id"].startswith(f"{kind}_") else f"{kind}_{data['id']}"}
