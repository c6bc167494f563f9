"""Reads Reddit's feeds: fields that they lack, such as scores, keep their stored values."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode, urlsplit

from pydantic import SecretStr
from turbohtml import parse

from agentic.core.http import FailureClass, FetchError, HttpRequest, HttpResponse, UnexpectedAnswerError
from agentic.core.http.api import Connect
from agentic.core.http.policy import SECRET
from agentic.core.reading.dates import as_utc, parse_moment
from agentic.core.reading.extras import MissingExtraError
from agentic.core.reading.feeds import ACCEPT, read_feed
from agentic.core.threads import in_spare_thread
from agentic.core.types import JSONValue
from agentic.plugins.reddit.judging import no_subreddit
from agentic.plugins.reddit.reading.items import Answer, Found, Target
from agentic.plugins.reddit.reading.tokens import Secret
from agentic.plugins.reddit.settings import RedditSettings


class FeedReader:
    """Reads targets, one page of each, and then pauses for ``feed_interval_s``.

    Args:
        settings: What to read.
        connect: Returns the fetcher.
        secrets: Returns a secret by name.
    """

    def __init__(self, settings: RedditSettings, connect: Connect, secrets: Secret) -> None:
        self._settings = settings
        self._connect = connect
        self._secrets = secrets

    async def read(self, target: Target) -> Found:
        """Return the content of a target's feed.

        Raises:
            FetchError: The answer did not come.
            UnexpectedAnswerError: It is not a feed.
            MissingExtraError: A library that reads feeds is not installed.
        """
        path, options = feed_of(target)
        url = f"{self._settings.feed_url.rstrip('/')}/{path}?{urlencode({**options, **await self._user()})}"
        response = await self._fetch(url)
        if missing := no_subreddit(target.name, response):
            raise missing
        return Found(posts=(await in_spare_thread(_posts, response))[: target.limit])

    async def _fetch(self, url: str) -> HttpResponse:
        """Return the answer; after any answer, the next request knows at once how long to wait."""
        async with self._connect() as fetcher:
            try:
                response = await fetcher.fetch(HttpRequest(url=url, headers={"accept": ACCEPT}))
            except FetchError as exc:
                # A waiting caller has sent nothing, or knows how long to wait.
                if exc.failure_class != FailureClass.RATE_LIMITED:
                    await fetcher.leave_alone(url, self._settings.feed_interval_s)
                raise
            await fetcher.leave_alone(url, self._settings.feed_interval_s)
        return response

    async def _user(self) -> dict[str, str]:
        """Return the parameters that identify the owner of the feed."""
        settings = self._settings
        found = SECRET.fullmatch(settings.feed_token or "")
        if found is None or settings.feed_user is None:
            return {}
        token: SecretStr = await self._secrets(found[1])
        return {"feed": token.get_secret_value().strip(), "user": settings.feed_user}


def feed_of(target: Target) -> tuple[str, dict[str, object]]:
    """Return path and query of the feed of a target."""
    options: dict[str, object] = {"limit": target.limit, **({"t": target.t} if target.t else {})}
    if target.what == "user":
        return f"user/{target.name}/submitted/.rss", {**options, "sort": target.sort}
    if target.what == "listing":
        return f"r/{target.name}/{target.sort}/.rss", options
    options |= {"q": target.query or "", "sort": target.sort}
    return (
        (f"r/{target.name}/search.rss", {**options, "restrict_sr": 1})
        if target.name
        else ("search.rss", options)
    )


def _posts(response: HttpResponse) -> tuple[Answer, ...]:
    try:
        feed = read_feed(response.body, response.url, response.headers.get("content-type"))
    except MissingExtraError:
        raise
    except Exception as exc:  # two libraries read untrusted input; each fails in its own ways
        raise UnexpectedAnswerError(
            "Reddit", response.url, f"{str(exc) or type(exc).__name__:.200}"
        ) from None
    return tuple(post_of(item) for item in feed.items)


def post_of(item: Mapping[str, JSONValue]) -> Answer:
    """Return an entry of a feed as a post, without missing fields."""
    link = str(item.get("url") or "")
    content = parse(str(item.get("content") or item.get("summary") or ""), positions=False)
    tags = item.get("tags")
    anchors = {node.text.strip(): node.attr("href") for node in content.select("a")}
    text = content.select_one("div.md")
    url = anchors.get("[link]")
    moment = parse_moment(str(item.get("published") or item.get("updated") or ""))
    found: dict[str, JSONValue] = {
        "name": item.get("id"),
        "title": item.get("title"),
        "permalink": _path(link),
        "subreddit": tags[0] if isinstance(tags, list) and tags else None,
        "author": str(item.get("author") or "").removeprefix("/u/") or None,
        "url": url,
        "is_self": None if url is None else _path(url) == _path(link),
        "selftext": text.text.strip() if text is not None else None,
        "created_utc": as_utc(moment).timestamp() if moment else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _path(url: str) -> str | None:
    """Return the path of an address; None if it is invalid."""
    try:
        return urlsplit(url).path or None
    except ValueError:
        return None
