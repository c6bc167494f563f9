"""Which settings fit together: pure rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentic.plugins.reddit.settings import RedditSettings

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
