"""Feeds of every kind, well-formed or not, as plain data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from io import BytesIO
from typing import Any, cast
from urllib.parse import urljoin

from agentic.core.linear import LinearPattern
from agentic.core.reading.addresses import absolute
from agentic.core.reading.dates import iso_moment
from agentic.core.reading.extras import load, require
from agentic.core.reading.isolated import IsolatedCallError, ProcessEndedError, call_isolated
from agentic.core.reading.markup import Ended, MarkupError, elements
from agentic.core.types import JSONValue

EXTRA = "feeds"
ACCEPT = "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, */*;q=0.5"
"""Accept header for feeds."""
XML_BASE = LinearPattern(
    r"<(?:rss|channel|feed|rdf:RDF)\b[^>]*\bxml:base\s*=\s*[\"']([^\"']+)[\"']", ascii_only=True
)
LANGUAGE = LinearPattern(
    r"<(?:dc:)?language>\s*([\w-]+)\s*</|<feed\b[^>]*\bxml:lang\s*=\s*[\"']([\w-]+)[\"']", ascii_only=True
)
TTL = LinearPattern(r"<ttl\b[^>]*>\s*(\d{1,9})\s*</ttl>", ascii_only=True)
PERIOD = LinearPattern(
    r"<(?:\w+:)?updatePeriod\b[^>]*>\s*(hourly|daily|weekly|monthly|yearly)\s*</", ascii_only=True
)
FREQUENCY = LinearPattern(r"<(?:\w+:)?updateFrequency\b[^>]*>\s*(\d{1,6})\s*</", ascii_only=True)
PERIODS_S = {"hourly": 3_600, "daily": 86_400, "weekly": 604_800, "monthly": 2_592_000, "yearly": 31_536_000}
YOUTUBE = b"http://www.youtube.com/xml/schemas/"
TEXTS = frozenset({("title",), ("summary",), ("description",), ("body",)})
HEAD_BYTES = 16 * 1024
MAX_BROKEN_BYTES = 4 * 1024 * 1024  # feedparser takes up to eight seconds for one MB

Item = dict[str, JSONValue]
_Found = Mapping[str, Any]  # dictionaries of two libraries; neither has types for them


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """A feed; missing values are None.

    Attributes:
        url: The page of the feed.
        interval_s: Minimum time between two requests (``ttl``, ``sy:updatePeriod``).
        items: Its entries, in its order.
    """

    title: str | None
    url: str | None
    language: str | None
    interval_s: int | None
    items: tuple[Item, ...]


def read_feed(body: bytes, url: str) -> Feed:
    """Return a feed: RSS, Atom, RDF or JSON Feed.

    fastfeedparser reads well-formed feeds, and feedparser all others: the first recovers by leaving out
    unreadable parts, the second costs fifty times as much, and runs in a process of its own. Blocks.

    Args:
        body: As it came.
        url: Its address, for relative addresses.

    Raises:
        MarkupError: It is not a feed.
        MissingExtraError: A library is not installed.
    """
    found = _read_fast(body)
    feed = _feed_of(*found, body, url) if found else _read_broken(body, url)
    if feed is None:
        raise MarkupError("it is neither RSS, Atom, RDF nor JSON Feed")
    return feed


def read_slowly(payload: bytes) -> JSONValue:
    """Return the result of feedparser, for the process that :func:`read_feed` calls it in.

    None if it is not a feed.

    Args:
        payload: The URL in JSON, a line feed, and the body.
    """
    head, _, body = payload.partition(b"\n")
    feedparser = load("feedparser", EXTRA)
    # Bytes alone would first be taken for a file name.
    found = feedparser.parse(BytesIO(body), sanitize_html=False, resolve_relative_uris=False)
    if not found.get("version"):
        return None
    return cast(JSONValue, asdict(_feed_of(found.feed, found.entries, body, str(json.loads(head)))))


def _feed_of(feed: _Found, entries: Sequence[_Found], body: bytes, url: str) -> Feed:
    named = XML_BASE.search(_head(body))
    base = urljoin(url, named[1]) if named else url
    home = _text(feed.get("link"))
    return Feed(
        title=_text(feed.get("title")),
        url=absolute(base, home) if home else None,
        language=_language(feed, body),
        interval_s=_interval_s(_head(body)),
        items=tuple(_item(entry, base) for entry in entries),
    )


def _read_fast(body: bytes) -> tuple[_Found, Sequence[_Found]] | None:
    """Return feed and entries, None if it is neither a JSON Feed nor well-formed XML with entries.

    None, too, for content that fastfeedparser would lose, such as the id and the views of a YouTube video.
    """
    if YOUTUBE in body[:HEAD_BYTES]:
        return None
    fastfeedparser = load("fastfeedparser", EXTRA)
    is_json = body.lstrip()[:1] == b"{"
    try:
        if not is_json and any(_is_lost(element) for element in elements([body])):
            return None
        found = fastfeedparser.parse(body)
    except Exception:  # for any error, the other parser is used
        return None
    return (found.feed, found.entries) if found.entries or is_json else None


def _is_lost(element: Ended) -> bool:
    """Return whether it is markup in a text, as Atom has it in its ``xhtml``, or a text in base64."""
    return element.path[-2:-1] in TEXTS or element.attributes.get("mode") == "base64"


def _read_broken(body: bytes, url: str) -> Feed | None:
    if b"<!ENTITY" in body:  # it may stand behind a long comment
        return None
    if len(body) > MAX_BROKEN_BYTES:
        raise MarkupError(
            f"it is broken, or has markup in its texts, and the limit for such feeds is {MAX_BROKEN_BYTES} "
            "bytes"
        )
    require("feedparser", EXTRA)
    try:
        # 50 KB of a name, or of empty lines before the first `<`, keep its regular expressions busy for
        # minutes.
        found = call_isolated(f"{__name__}:{read_slowly.__name__}", json.dumps(url).encode() + b"\n" + body)
    except ProcessEndedError as exc:
        raise MarkupError(f"it is broken, and {exc}") from None
    except IsolatedCallError:  # it reads nearly everything, and fails in many ways on the rest
        return None
    if found is None:
        return None
    facts = cast("dict[str, Any]", found)
    return Feed(**{**facts, "items": tuple(facts["items"])})


def _item(entry: _Found, base: str) -> Item:
    link = _text(entry.get("link"))
    address = absolute(base, link) if link else None
    return {
        # As in fastfeedparser: otherwise an entry would change its id when its feed is broken for a day.
        "id": _text(entry.get("id")) or link,
        "title": _text(entry.get("title")),
        "url": address,
        "published": _moment(entry.get("published")),
        # feedparser would return the publication time instead, with a warning.
        "updated": _moment(entry.get("updated")) if "updated" in entry else None,
        "author": _text(entry.get("author")),
        "summary": _text(entry.get("summary")) or _text(entry.get("description")),
        "content": next((_text(part.get("value")) for part in entry.get("content") or ()), None),
        "enclosures": [_enclosure(one, base) for one in _enclosures(entry)],
        "tags": [term for tag in entry.get("tags") or () if (term := _text(tag.get("term")))],
        **_video(entry),
    }


def _video(entry: _Found) -> Item:
    """Return the data of a YouTube video; nothing for other entries."""
    if (video_id := _text(entry.get("yt_videoid"))) is None:
        return {}
    return {"video_id": video_id, "views": _number((entry.get("media_statistics") or {}).get("views"))}


def _enclosures(entry: _Found) -> Iterable[_Found]:
    """Return each enclosure once: the libraries list them separately, among the links, or both."""
    linked = (link for link in entry.get("links") or () if link.get("rel") == "enclosure")
    found = [*(entry.get("enclosures") or ()), *linked]
    return {address: one for one in found if (address := one.get("url") or one.get("href"))}.values()


def _enclosure(one: _Found, base: str) -> Item:
    address = _text(str(one.get("url") or one.get("href"))) or ""
    return {
        "url": absolute(base, address) or address,
        "type": _text(one.get("type")),
        "length": _number(one.get("length")),
    }


def _head(body: bytes) -> str:
    return body[:HEAD_BYTES].decode(errors="replace")


def _interval_s(head: str) -> int | None:
    """Return the requested minimum time between requests: the longer of a feed's two ways to state it."""
    ttl, period, frequency = TTL.search(head), PERIOD.search(head), FREQUENCY.search(head)
    found = [int(ttl[1]) * 60] if ttl else []
    if period or frequency:
        # RSS 1.0's module of syndication: daily, and once in that time, unless it says otherwise.
        length_s = PERIODS_S[period[1] if period else "daily"]
        found.append(length_s // max(int(frequency[1]) if frequency else 1, 1))
    return max(found, default=0) or None


def _language(feed: _Found, body: bytes) -> str | None:
    if known := _text(feed.get("language")):
        return known
    found = LANGUAGE.search(_head(body))
    return (found[1] or found[2]) if found else None


def _moment(value: object) -> str | None:
    text = _text(value)
    return (iso_moment(text) or text) if text else None


def _number(value: object) -> int | None:
    text = str(value or "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _text(value: object) -> str | None:
    """Return a valid text: ``&#xD800;`` is half of a character, and could not be written anywhere."""
    return value.encode("utf-8", "replace").decode().strip() or None if isinstance(value, str) else None
