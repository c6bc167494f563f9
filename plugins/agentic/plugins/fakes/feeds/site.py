"""Feeds of one workshop, mounted below ``/feeds``.

    /                    a page that links to the feeds with ``rel=alternate``
    /rss.xml             RSS 2.0                       /rdf.xml        RSS 1.0
    /atom.xml            Atom, the newest entries; ``?page=N`` is its archive, reached by ``prev-archive``
    /feed.json           JSON Feed 1.1                 /podcast.xml    RSS 2.0 with enclosures
    /relative.xml        links that count from ``xml:base``
    /malformed.xml       bare ampersands, missing end tags
    /wrong-charset.xml   says UTF-8 and is windows-1252
    /entry/{number}      what an entry links to

All of them have an ETag and a Last-Modified, and answer 304 to who has them already.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from html import escape

from agentic.core.types import JSONValue
from agentic.plugins.fakes.feeds import rss
from agentic.plugins.fakes.feeds.atom import atom, last_updated
from agentic.plugins.fakes.feeds.entries import ENTRIES, TITLE, Entry, build_entries
from agentic.plugins.fakes.pages import TODAY, Page, document, html_page, json_page

KEPT_PAGES = 1_000
RSS = "application/rss+xml; charset=utf-8"
ATOM = "application/atom+xml; charset=utf-8"
JSON_FEED = "application/feed+json; charset=utf-8"
ENTRY = re.compile(r"/entry/([1-9][0-9]{0,8})")
PAGE_NUMBER = re.compile(r"page=([1-9][0-9]{0,5})")
KINDS: dict[str, tuple[str, Callable[[Sequence[Entry], str], str]]] = {
    "/rss.xml": (RSS, rss.rss),
    "/podcast.xml": (RSS, rss.podcast),
    "/malformed.xml": (RSS, rss.malformed),
    "/relative.xml": (RSS, rss.relative),
    "/rdf.xml": ("application/rdf+xml; charset=utf-8", rss.rdf),
}


class Feeds:
    """The feeds over entries made from ``seed``; they are rendered when first asked for, then kept.

    Args:
        seed: The same seed gives the same bytes.
        entries: How many.
    """

    def __init__(self, seed: int = 1, entries: int = ENTRIES) -> None:
        self._entries = build_entries(seed, entries)
        self._numbered = {entry.number: entry for entry in self._entries}
        self._modified = last_updated(self._entries, TODAY)
        self._kept = lru_cache(maxsize=KEPT_PAGES)(self._render)

    def page(self, path: str, query: str, base: str) -> Page | None:
        """See :meth:`Site.page`."""
        number = PAGE_NUMBER.fullmatch(query)
        return self._kept(path, int(number[1]) if number else 0, base)

    def _render(self, path: str, number: int, base: str) -> Page | None:
        if path in KINDS:
            content_type, render = KINDS[path]
            return Page(render(self._entries, base).encode(), content_type, modified=self._modified)
        match path:
            case "/":
                return html_page(_home())
            case "/atom.xml":
                markup = atom(self._entries, base, number)
                return Page(markup.encode(), ATOM, modified=self._modified) if markup else None
            case "/feed.json":
                body = json_page(_json_feed(self._entries, base)).body
                return Page(body, JSON_FEED, modified=self._modified)
            case "/wrong-charset.xml":
                body = rss.rss(self._entries, base).encode("cp1252", "xmlcharrefreplace")
                return Page(body, RSS, modified=self._modified)
        found = ENTRY.fullmatch(path)
        entry = self._numbered.get(int(found[1])) if found else None
        return html_page(_article(entry), entry.updated) if entry else None


def _home() -> str:
    kinds = {"rss.xml": RSS, "atom.xml": ATOM, "feed.json": JSON_FEED}
    links = "".join(
        f'<link rel="alternate" type="{kind.partition(";")[0]}" title="{TITLE}" href="{name}">'
        for name, kind in kinds.items()
    )
    return document(TITLE, f"<h1>{TITLE}</h1>", head=links)


def _article(entry: Entry) -> str:
    stamp = f'<time datetime="{entry.published.isoformat()}">{entry.published:%d %B %Y}</time>'
    return document(entry.title, f"<article><h1>{escape(entry.title)}</h1>{stamp}{entry.content}</article>")


def _json_feed(entries: Sequence[Entry], base: str) -> JSONValue:
    items: list[JSONValue] = [
        {
            "id": f"workshop-{entry.number}",
            "url": f"{base}/entry/{entry.number}",
            "title": entry.title,
            "summary": entry.summary,
            "content_html": entry.content,
            "date_published": entry.published.isoformat(),
            "date_modified": entry.updated.isoformat(),
            "authors": [{"name": entry.author}],
            "tags": [entry.topic],
        }
        for entry in entries
    ]
    return {
        "version": "https://jsonfeed.org/version/1.1",
        "title": TITLE,
        "home_page_url": f"{base}/",
        "feed_url": f"{base}/feed.json",
        "language": "en",
        "items": items,
    }
