"""The settings of agents of the platform ``hackernews``."""

from __future__ import annotations

from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AwareDatetime,
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from agentic.core.http import HttpPolicy
from agentic.core.http.api import API_URL, ApiSettings

BASE_URL = "https://hacker-news.firebaseio.com/v0"
ALGOLIA_URL = "https://hn.algolia.com/api/v1"
ALGOLIA_PER_S = 10_000 / 3_600
"""Algolia allows 10,000 requests an hour from one address."""

PER_PAGE = 100
SEARCH_LIMIT = 1_000
"""Algolia returns at most this number of hits per search, on any page."""

PATIENCE_S = 30.0
"""Longest wait inside a step; a step with a longer one is parked and occupies no worker."""

MAX_PARALLEL = 20
MAX_PARALLEL_TREES = 4
MAX_STORIES = 500
MAX_ROWS = 5_000
"""Limit of rows, because a run has one result."""

Mode = Literal["list", "search", "comments", "users"]
StoryList = Literal["top", "new", "best", "ask", "show", "job"]
Sort = Literal["date", "relevance"]
Tag = Annotated[str, StringConstraints(pattern=r"^(?:[\w-]+|\([\w-]+(?:,[\w-]+)*\))$")]
UserName = Annotated[str, StringConstraints(pattern=r"^[\w-]+$", max_length=100)]

SEARCH_KEYS = ("query", "tags", "sort", "min_points", "min_comments", "since", "until", "days")


class HackerNewsSettings(ApiSettings):
    """The config of a Hacker News agent; ``{}`` reads the first 30 top stories."""

    mode: Mode = Field(
        default="list",
        description="Mode: the head of a list, a search, comments (of items, of a search or of a list) or "
        "users.",
    )
    list: StoryList = Field(default="top", description="List of stories to read.")
    limit: int = Field(
        default=30,
        ge=1,
        le=MAX_ROWS,
        description=f"Stories of the list, hits of the search or trees of comments; at most {MAX_STORIES} "
        f"stories and trees.",
    )
    query: str | None = Field(default=None, min_length=1, max_length=500, description="Search terms.")
    tags: tuple[Tag, ...] = Field(
        default=(),
        description="Tags that a hit must have: story, comment, poll, job, show_hn, ask_hn, front_page, "
        "author_NAME, story_ID; alternatives in parentheses: (story,poll).",
    )
    sort: Sort = Field(
        default="date", description=f"Newest first, or the {SEARCH_LIMIT:,} most relevant at most."
    )
    min_points: NonNegativeInt | None = Field(default=None, description="Minimum points of a hit.")
    min_comments: NonNegativeInt | None = Field(
        default=None, description="Minimum comments of a hit (stories only)."
    )
    since: AwareDatetime | None = Field(default=None, description="Only hits created since then.")
    until: AwareDatetime | None = Field(default=None, description="Only hits created until then.")
    days: int | None = Field(
        default=None, ge=1, le=36_500, description="Only hits created in the last N days."
    )
    items: tuple[PositiveInt, ...] = Field(
        default=(), max_length=MAX_STORIES, description="Ids of the trees for mode comments."
    )
    max_comments: int = Field(
        default=2_000, ge=1, le=MAX_ROWS, description="Maximum number of comments of a run, in mode comments."
    )
    users: tuple[UserName, ...] = Field(
        default=(), max_length=MAX_STORIES, description="User names for mode users (case-sensitive)."
    )
    max_wait_s: PositiveFloat = Field(
        default=3_600,
        description="Longest wait for a limit; above it the agent fails.",
    )
    base_url: str = Field(default=BASE_URL, pattern=API_URL, description="Root of the Firebase API.")
    algolia_url: str = Field(
        default=ALGOLIA_URL, pattern=API_URL, description="Root of Algolia's API, for searches and trees."
    )

    @property
    def max_parallel(self) -> int:
        """Number of items read at the same time."""
        return MAX_PARALLEL

    @property
    def is_search(self) -> bool:
        """Whether it has a search query."""
        return self.query is not None or bool(self.tags)

    def policy(self) -> HttpPolicy:
        """Return how to fetch: all users of Algolia share one budget within its limit."""
        policy = super().policy().model_copy(update={"max_wait_s": min(PATIENCE_S, self.max_wait_s)})
        is_limited = urlsplit(self.algolia_url).netloc.lower() == urlsplit(ALGOLIA_URL).netloc
        if self.mode not in ("search", "comments") or not is_limited:
            return policy
        wanted = self.requests_per_second or ALGOLIA_PER_S
        return policy.model_copy(update={"requests_per_second": min(wanted, ALGOLIA_PER_S)})

    @field_validator("limit")
    @classmethod
    def _fits_the_mode(cls, limit: int, info: ValidationInfo) -> int:
        if limit > MAX_STORIES and info.data.get("mode", "list") in ("list", "comments"):
            raise ValueError(f"a list has {MAX_STORIES} stories at most, and one run reads as many trees")
        return limit

    @model_validator(mode="after")
    def _says_what_to_read(self) -> Self:
        searching = [name for name in SEARCH_KEYS if name in self.model_fields_set]
        if self.mode == "search" and not self.is_search:
            raise ValueError("mode search needs a query or tags")
        if searching and (self.mode in ("list", "users") or not self.is_search):
            raise ValueError(
                f"{searching[0]} is for a search: set mode search or comments, and query or tags"
            )
        if self.items and (self.mode != "comments" or searching):
            raise ValueError("items are for mode comments, without a search")
        if bool(self.users) is not (self.mode == "users"):
            raise ValueError("users are for mode users, which needs them")
        if self.days and self.since:
            raise ValueError("give since or days, not both")
        if self.sort == "relevance" and self.limit > SEARCH_LIMIT:
            raise ValueError(f"by relevance there are {SEARCH_LIMIT:,} hits at most; sort by date for more")
        return self
