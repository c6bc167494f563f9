"""Which posts a question finds, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from agentic.fakes.pages import TODAY
from agentic.fakes.reddit.things import Post

LISTING_LIMIT = 1_000
"""Reddit returns at most this part of a listing."""

PERIODS = {
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
    "month": timedelta(days=30),
    "year": timedelta(days=365),
}


def in_order(posts: Iterable[Post], sort: str, period: str | None) -> list[Post]:
    """Return what a listing has, at most :data:`LISTING_LIMIT`; ``period`` counts for top and the like."""
    newest = sorted(posts, key=lambda post: -post.created)
    if sort in ("top", "controversial", "relevance", "comments"):
        newest = [post for post in newest if post.created >= _since(period)]
    return _sorted(newest, sort)[:LISTING_LIMIT]


def search(posts: Iterable[Post], query: str) -> list[Post]:
    """Return the posts that have all words of ``query``; ``author:`` and ``subreddit:`` are known."""
    found = list(posts)
    for word in query.lower().split():
        name, _, value = word.partition(":")
        if name in ("author", "subreddit") and value:
            found = [post for post in found if str(post.facts[name]).lower() == value]
        else:
            found = [post for post in found if word in _text(post)]
    return found


def page_of(posts: Sequence[Post], asked: Mapping[str, str]) -> tuple[Sequence[Post], str | None]:
    """Return the page that ``limit`` and ``after`` ask for, and what the next one is after."""
    size = min(max(number(asked.get("limit"), 25), 1), 100)
    after = asked.get("after", "")
    start = next((place + 1 for place, post in enumerate(posts) if f"t3_{post.id}" == after), 0)
    shown = posts[start : start + size] if not after or start else ()
    is_last = start + size >= len(posts)
    return shown, None if is_last or not shown else f"t3_{shown[-1].id}"


def number(text: str | None, default: int) -> int:
    """Return a number of a query; ``default`` if it is none."""
    return int(text) if text is not None and text.isascii() and text.isdigit() else default


def _sorted(newest: list[Post], sort: str) -> list[Post]:
    match sort:
        case "top" | "relevance":
            return sorted(newest, key=lambda post: -post.score)
        case "comments":
            return sorted(newest, key=lambda post: -int(str(post.facts["num_comments"])))
        case "controversial":
            return sorted(newest, key=lambda post: float(str(post.facts["upvote_ratio"])))
        case "hot":
            return sorted(newest, key=lambda post: (not post.facts["stickied"], -_heat(post)))
        case _:
            return newest


def _heat(post: Post) -> float:
    return post.score / 100 - (TODAY.timestamp() - post.created) / 3_600


def _since(period: str | None) -> float:
    span = PERIODS.get(period or "")
    return (TODAY - span).timestamp() if span else 0.0


def _text(post: Post) -> str:
    return f"{post.facts['title']} {post.facts['selftext']}".lower()
