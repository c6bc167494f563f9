"""The settings of agents of the platform ``reddit``, and which of them fit together."""

from __future__ import annotations

import sys
from typing import Annotated, Literal, Self

from pydantic import (
    Field,
    NonNegativeInt,
    PositiveFloat,
    StringConstraints,
    field_validator,
    model_validator,
)

from agentic.core.http import HttpPolicy
from agentic.core.http.api import API_URL, ApiSettings
from agentic.core.http.policy import SECRET

LISTING_LIMIT = 1_000
"""Reddit returns at most this number per listing or search."""

FEED_LIMIT = 100
"""Entries of one feed, read as one page."""

MAX_ROWS = 5_000
"""Limit of rows, because a run has one result."""

READS = {
    "oauth": {"posts", "comments", "scores", "subreddits"},
    "feed": {"posts"},
    "archive": {"posts", "comments", "scores"},
    "browser": {"posts"},
}
"""Readable kinds of each mode."""

LISTED = {"hot", "new", "top", "rising", "controversial"}
SEARCHED = {"hot", "new", "top", "relevance", "comments"}
SUBMITTED = {"hot", "new", "top", "controversial"}
TIMED = {"top", "controversial"}

BASE_URL = "https://oauth.reddit.com"
SITE_URL = "https://www.reddit.com"
ARCHIVE_URL = "https://arctic-shift.photon-reddit.com"
VERSION = "1"

PATIENCE_S = 30.0
"""Longest wait inside a step; a step with a longer one is parked and occupies no worker."""

Mode = Literal["oauth", "feed", "archive", "browser"]
Read = Literal["posts", "comments", "scores", "subreddits"]
Sort = Literal["hot", "new", "top", "rising", "controversial", "relevance", "comments"]
Period = Literal["hour", "day", "week", "month", "year", "all"]
Grant = Literal["client_credentials", "password", "refresh_token", "installed_client"]
SubredditName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_]{2,50}(\+[A-Za-z0-9_]{2,50})*$")]
UserName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,50}$")]
ThingId = Annotated[str, StringConstraints(pattern=r"^(t[13]_)?[0-9a-z]{1,13}$")]

SECRETS = ("client_secret", "password", "refresh_token", "feed_token")
"""Settings that must be ``${secrets.NAME}``."""

NEEDED: dict[Grant, tuple[str, ...]] = {
    "client_credentials": ("client_id", "client_secret"),
    "password": ("client_id", "client_secret", "username", "password"),
    "refresh_token": ("client_id", "refresh_token"),
    "installed_client": ("client_id", "device_id"),
}
"""Required settings of each grant."""


class RedditSettings(ApiSettings):
    """The config of a Reddit agent; ``{"mode": "feed", "subreddits": ["python"]}`` needs nothing else."""

    mode: Mode = Field(
        description="How to read: oauth (the API, with credentials), feed (Atom, a page a minute), archive "
        "(Arctic Shift, a copy kept by others) or browser (pages of the site)."
    )
    read: Read = Field(
        default="posts",
        description="Kind: posts, comments (trees of posts), scores (of stored things) or subreddits (their "
        "descriptions).",
    )
    subreddits: tuple[SubredditName, ...] = Field(
        default=(), description="Names without r/; several in one request as python+django."
    )
    users: tuple[UserName, ...] = Field(
        default=(), description="Users whose posts to read; names without u/."
    )
    query: str | None = Field(
        default=None,
        min_length=1,
        max_length=512,
        description="Search query: in each of subreddits, or everywhere.",
    )
    sort: Sort | None = Field(
        default=None,
        description="Order of a listing: new (the default), hot, top, rising or controversial; of a search: "
        "new, relevance, hot, top or comments.",
    )
    t: Period | None = Field(default=None, description="Time range of top, controversial and a search.")
    limit: int = Field(
        default=25,
        ge=1,
        le=LISTING_LIMIT,
        description=f"Posts of each listing or search; at most {FEED_LIMIT} of a feed.",
    )
    ids: tuple[ThingId, ...] = Field(
        default=(),
        max_length=MAX_ROWS,
        description="Posts to read comments of, or things to read scores of: t3_... or t1_...; a post may "
        "omit its t3_.",
    )
    days: int | None = Field(
        default=None, ge=1, le=3_650, description="Read scores of stored posts of the last N days."
    )
    max_comments: int = Field(default=200, ge=1, le=MAX_ROWS, description="Comments stored per post.")
    more_requests: NonNegativeInt = Field(
        default=10, description="Requests for the omitted parts of one post's tree."
    )
    grant: Grant = Field(default="client_credentials", description="How mode oauth gets its token.")
    client_id: str | None = Field(default=None, description="Of the app, or ${secrets.NAME}.")
    client_secret: str | None = Field(default=None, description="Of the app: ${secrets.NAME}.")
    username: str | None = Field(default=None, description="For grant password, or ${secrets.NAME}.")
    password: str | None = Field(default=None, description="For grant password: ${secrets.NAME}.")
    refresh_token: str | None = Field(default=None, description="For that grant: ${secrets.NAME}.")
    device_id: str = Field(
        default="DO_NOT_TRACK_THIS_DEVICE",
        pattern=r"^[\x21-\x7e]{20,30}$",
        description="For grant installed_client: 20 to 30 characters that name this installation.",
    )
    contact: UserName | None = Field(
        default=None, description="Reddit name of the contact of the agent; mode oauth needs it."
    )
    app: str = Field(
        default="agentic-pipelines", pattern=r"^[\w.-]+$", description="Name of the app in the User-Agent."
    )
    feed_user: UserName | None = Field(default=None, description="User of feed_token.")
    feed_token: str | None = Field(
        default=None, description="Token of the user's own feeds (reddit.com/prefs/feeds): ${secrets.NAME}."
    )
    feed_interval_s: PositiveFloat = Field(
        default=60, description="Seconds between two feeds; Reddit allows about one a minute."
    )
    obey_robots: bool = Field(
        default=True, description="Whether mode browser respects robots.txt; disable it only with permission."
    )
    max_wait_s: PositiveFloat = Field(
        default=3_600,
        description="Longest wait for a limit of Reddit; above it the agent fails.",
    )
    base_url: str = Field(default=BASE_URL, pattern=API_URL, description="Root of the API, for mode oauth.")
    api_url: str = Field(default=SITE_URL, pattern=API_URL, description="URL for tokens.")
    feed_url: str = Field(default=SITE_URL, pattern=API_URL, description="Root of the feeds.")
    archive_url: str = Field(default=ARCHIVE_URL, pattern=API_URL, description="Root of the archive.")
    html_url: str = Field(default=SITE_URL, pattern=API_URL, description="Root of the pages.")

    @property
    def missing(self) -> tuple[str, ...]:
        """The missing settings of mode oauth; empty in other modes."""
        if self.mode != "oauth":
            return ()
        return tuple(name for name in (*NEEDED[self.grant], "contact") if getattr(self, name) is None)

    @property
    def user_agent(self) -> str | None:
        """``linux:app:version (by /u/name)``, as Reddit requires; None: the default of all agents."""
        return f"{sys.platform}:{self.app}:{VERSION} (by /u/{self.contact})" if self.contact else None

    @property
    def account(self) -> str:
        """The client whose limits count; "" without one: then the limits of the host count."""
        return f"reddit/{self.client_id}" if self.mode == "oauth" else ""

    @property
    def target_count(self) -> int:
        """Number of listings and searches to read."""
        return len(self.subreddits) + len(self.users) or 1

    def policy(self) -> HttpPolicy:
        """Return how to fetch: one by one, feeds a minute apart, pages as robots.txt allows."""
        update: dict[str, object] = {
            "max_wait_s": min(PATIENCE_S, self.max_wait_s),
            "obey_robots": self.mode == "browser" and self.obey_robots,
        }
        if self.user_agent is not None:
            update["user_agent"] = self.user_agent
        if self.mode == "feed":
            update["requests_per_second"] = 1 / self.feed_interval_s
        return super().policy().model_copy(update=update)

    @field_validator(*SECRETS)
    @classmethod
    def _is_reference(cls, value: str | None) -> str | None:
        if value is not None and SECRET.fullmatch(value) is None:
            raise ValueError("name a stored secret, as ${secrets.NAME}; see `agentic secrets set`")
        return value

    @model_validator(mode="after")
    def _can_be_read(self) -> Self:
        if fault := fault_in(self):
            raise ValueError(fault)
        return self


def fault_in(settings: RedditSettings) -> str:
    """Return the problem with settings, and a solution; "" without problems."""
    checks = (_mode_fault, _login_fault, _place_fault, _order_fault, _archive_fault, _feed_fault, _size_fault)
    return next((fault for check in checks if (fault := check(settings))), "")


def _mode_fault(settings: RedditSettings) -> str:
    if settings.read not in READS[settings.mode]:
        able = sorted(mode for mode, reads in READS.items() if settings.read in reads)
        return f"mode {settings.mode} cannot read {settings.read}; {' and '.join(able)} can"
    if settings.mode == "browser" and settings.query:
        return "mode browser cannot search; modes oauth and feed can"
    return ""


def _login_fault(settings: RedditSettings) -> str:
    if not settings.missing:
        return ""
    return f"mode oauth with grant {settings.grant} needs {', '.join(settings.missing)}"


def _place_fault(settings: RedditSettings) -> str:
    places = bool(settings.subreddits or settings.users or settings.query)
    if settings.days and settings.read != "scores":
        return "days are for read scores"
    if settings.query and settings.users:
        return "for a search, put author:NAME in the query instead of users"
    match settings.read:
        case "posts":
            is_right = places and not settings.ids
            return "" if is_right else "read posts needs subreddits, users or a query, and no ids"
        case "comments":
            return _tree_fault(settings, places=places)
        case "scores":
            is_right = not places and bool(settings.ids) is not bool(settings.days)
            return "" if is_right else "read scores needs either ids or days only"
        case "subreddits":
            others = settings.users or settings.query or settings.ids
            is_each = bool(settings.subreddits) and "+" not in "".join(settings.subreddits)
            return "" if is_each and not others else "read subreddits needs a list of single subreddits only"


def _tree_fault(settings: RedditSettings, *, places: bool) -> str:
    if places is bool(settings.ids):
        return "read comments needs either ids, or subreddits, users or a query to find posts"
    is_odd = any(name.startswith("t1_") for name in settings.ids)
    return "read comments needs ids of posts: t3_..." if is_odd else ""


def _order_fault(settings: RedditSettings) -> str:
    sort = settings.sort or "new"
    known = SEARCHED if settings.query else LISTED & SUBMITTED if settings.users else LISTED
    if settings.sort and settings.read in ("scores", "subreddits"):
        return f"read {settings.read} has no sort"
    if sort not in known:
        return f"sort {sort} is not available here; use one of {', '.join(sorted(known))}"
    if settings.t and not settings.query and sort not in TIMED:
        return "t is for sort top, for sort controversial and for a query"
    return ""


def _archive_fault(settings: RedditSettings) -> str:
    if settings.mode != "archive":
        return ""
    if settings.query and not settings.subreddits:
        return "the archive searches in subreddits only; name them"
    if any("+" in name for name in settings.subreddits):
        return "the archive needs single subreddits, not joined by +"
    return (
        "" if (settings.sort or "new") == "new" and not settings.t else "the archive supports sort new only"
    )


def _feed_fault(settings: RedditSettings) -> str:
    if settings.mode == "feed" and settings.limit > FEED_LIMIT:
        return f"a feed has {FEED_LIMIT} entries at most; lower limit"
    if bool(settings.feed_token) is not bool(settings.feed_user):
        return "feed_token and feed_user need each other"
    return ""


def _size_fault(settings: RedditSettings) -> str:
    posts = len(settings.ids) if settings.ids else settings.target_count * settings.limit
    rows = posts * settings.max_comments if settings.read == "comments" else posts
    if settings.read in ("posts", "comments") and rows > MAX_ROWS:
        lower = "max_comments or limit" if settings.read == "comments" else "limit"
        more = f"that may be {rows:,} rows in one run, more than {MAX_ROWS:,}"
        return f"{more}; lower {lower}, or create several agents"
    return ""
