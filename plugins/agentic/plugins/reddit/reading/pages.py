"""Reads Reddit pages in a browser: the attributes of their ``shreddit-post`` elements."""

from __future__ import annotations

from collections.abc import Mapping

from turbohtml import parse

from agentic.core.browser import BrowserRequest, RenderedPage
from agentic.core.browser.fetcher import BrowserFetcher
from agentic.core.linear import LinearPattern
from agentic.core.reading.dates import as_utc, parse_moment
from agentic.core.types import JSONValue
from agentic.plugins.reddit.reading.items import Answer, Found, Target
from agentic.plugins.reddit.settings import RedditSettings

POST = "shreddit-post"
NUMBER = LinearPattern("-?[0-9]{1,18}")
NUMBERS = {"score": "score", "comment-count": "num_comments"}
TEXTS = {
    "id": "name",
    "post-title": "title",
    "permalink": "permalink",
    "content-href": "url",
    "author": "author",
    "author-id": "author_fullname",
    "subreddit-name": "subreddit",
    "subreddit-id": "subreddit_id",
    "domain": "domain",
}
"""Attribute -> field of a post."""


class PageReader:
    """Reads targets: the posts that a page shows initially.

    Args:
        settings: What to read.
        browser: Shows pages.
    """

    def __init__(self, settings: RedditSettings, browser: BrowserFetcher) -> None:
        self._settings = settings
        self._browser = browser

    async def read(self, target: Target) -> Found:
        """Return the posts on the page of a target.

        Raises:
            FetchError: The page has no posts or cannot be read; the failure class says why.
            BrowserUnavailableError: No browser starts.
        """
        path = (
            f"user/{target.name}/submitted/" if target.what == "user" else f"r/{target.name}/{target.sort}/"
        )
        query = f"?t={target.t}" if target.t else ""
        url = f"{self._settings.html_url.rstrip('/')}/{path}{query}"
        page = await self._browser.fetch(BrowserRequest(url=url, wait_for=POST))
        posts = posts_on(page)
        if len(posts) < target.limit:
            short = (
                f"the page of {target.name} shows {len(posts):,} posts at first; further ones were not read"
            )
            return Found(posts=posts, warnings=(short,))
        return Found(posts=posts[: target.limit])


def posts_on(page: RenderedPage) -> tuple[Answer, ...]:
    """Return the posts of a page, in its order."""
    return tuple(post_of(node.attrs) for node in parse(page.html, positions=False).select(POST))


def post_of(shown: Mapping[str, object]) -> Answer:
    """Return the attributes of an element as a post, without missing fields."""
    found: dict[str, JSONValue] = {field: _text(shown.get(name)) for name, field in TEXTS.items()}
    found |= {field: _number(shown.get(name)) for name, field in NUMBERS.items()}
    moment = parse_moment(_text(shown.get("created-timestamp")) or "")
    kind = _text(shown.get("post-type"))
    found |= {
        "created_utc": as_utc(moment).timestamp() if moment else None,
        "is_self": None if kind is None else kind == "text",
        "is_video": None if kind is None else kind == "video",
        "over_18": "nsfw" in shown,
        "spoiler": "spoiler" in shown,
    }
    return {name: value for name, value in found.items() if value is not None}


def _text(value: object) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _number(value: object) -> int | None:
    text = _text(value) or ""
    return int(text) if NUMBER.matches(text) else None
