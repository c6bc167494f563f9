"""Feeds of every kind, well-formed or not, as plain data."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from urllib.parse import urljoin

from agentic.core.types import JSONValue
from agentic.plugins.web.dates import iso_moment
from agentic.plugins.web.extras import load
from agentic.plugins.web.html import absolute
from agentic.plugins.web.markup import MarkupError, elements

EXTRA = "feeds"
XML_BASE = re.compile(rb"<(?:rss|channel|feed|rdf:RDF)\b[^>]*\bxml:base\s*=\s*[\"']([^\"']+)[\"']")
LANGUAGE = re.compile(rb"<(?:dc:)?language>\s*([\w-]+)\s*</|<feed\b[^>]*\bxml:lang\s*=\s*[\"']([\w-]+)[\"']")
HEAD_BYTES = 16 * 1024

Item = dict[str, JSONValue]
_Found = Mapping[str, Any]  # dictionaries of two libraries that are typed by neither


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """A feed; what it does not say is None."""

    title: str | None
    url: str | None
    language: str | None
    items: tuple[Item, ...]


def read_feed(body: bytes, url: str) -> Feed:
    """Return a feed: RSS, Atom, RDF or JSON Feed.

    What is well-formed is read by fastfeedparser, all else by feedparser: the one recovers by leaving out
    what it cannot read, the other costs fifty times as much.

    Args:
        body: As it came.
        url: Where it came from, for relative addresses.

    Raises:
        MarkupError: It is no feed.
        MissingExtraError: A library is not installed.
    """
    found = _read_fast(body) or _read_broken(body)
    if found is None:
        raise MarkupError("it is neither RSS, Atom, RDF nor JSON Feed")
    feed, entries = found
    named = XML_BASE.search(body[:HEAD_BYTES])
    base = urljoin(url, named[1].decode("utf-8", "replace")) if named else url
    home = _text(feed.get("link"))
    return Feed(
        title=_text(feed.get("title")),
        url=absolute(base, home) if home else None,
        language=_language(feed, body),
        items=tuple(_item(entry, base) for entry in entries),
    )


def _read_fast(body: bytes) -> tuple[_Found, Sequence[_Found]] | None:
    """Return feed and entries, None if it is no JSON Feed, and no well-formed XML with entries."""
    fastfeedparser = load("fastfeedparser", EXTRA)
    is_json = body.lstrip()[:1] == b"{"
    try:
        if not is_json:
            deque(elements([body]), maxlen=0)
        found = fastfeedparser.parse(body)
    except Exception:  # whatever it is, the other one is asked
        return None
    return (found.feed, found.entries) if found.entries or is_json else None


def _read_broken(body: bytes) -> tuple[_Found, Sequence[_Found]] | None:
    if b"<!ENTITY" in body[:HEAD_BYTES]:
        return None
    # Given bytes it would first try to open a file of that name.
    found = load("feedparser", EXTRA).parse(BytesIO(body), sanitize_html=False, resolve_relative_uris=False)
    return (found.feed, found.entries) if found.get("version") else None


def _item(entry: _Found, base: str) -> Item:
    link = _text(entry.get("link"))
    address = absolute(base, link) if link else None
    return {
        "id": _text(entry.get("id")) or address,
        "title": _text(entry.get("title")),
        "url": address,
        "published": _moment(entry.get("published")),
        # feedparser would give the time it was published instead, with a warning.
        "updated": _moment(entry.get("updated")) if "updated" in entry else None,
        "author": _text(entry.get("author")),
        "summary": _text(entry.get("summary")) or _text(entry.get("description")),
        "content": next((_text(part.get("value")) for part in entry.get("content") or ()), None),
        "enclosures": [_enclosure(one, base) for one in _enclosures(entry)],
        "tags": [tag["term"] for tag in entry.get("tags") or () if tag.get("term")],
    }


def _enclosures(entry: _Found) -> Iterable[_Found]:
    """Return each enclosure once: the libraries name them apart, among the links, or both."""
    linked = (link for link in entry.get("links") or () if link.get("rel") == "enclosure")
    found = [*(entry.get("enclosures") or ()), *linked]
    return {address: one for one in found if (address := one.get("url") or one.get("href"))}.values()


def _enclosure(one: _Found, base: str) -> Item:
    address = str(one.get("url") or one.get("href"))
    length = str(one.get("length") or "")
    return {
        "url": absolute(base, address) or address,
        "type": _text(one.get("type")),
        "length": int(length) if length.isdigit() else None,
    }


def _language(feed: _Found, body: bytes) -> str | None:
    if known := _text(feed.get("language")):
        return known
    found = LANGUAGE.search(body[:HEAD_BYTES])
    return (found[1] or found[2]).decode() if found else None


def _moment(value: object) -> str | None:
    text = _text(value)
    return (iso_moment(text) or text) if text else None


def _text(value: object) -> str | None:
    return value.strip() or None if isinstance(value, str) else None
