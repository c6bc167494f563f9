"""Feeds of one workshop, mounted below ``/feeds``.

    /                    a page that links to the feeds with ``rel=alternate``
    /rss.xml             RSS 2.0                       /rdf.xml        RSS 1.0
    /atom.xml            Atom, the newest entries; ``?page=N`` is its archive, reached by ``prev-archive``
    /feed.json           JSON Feed 1.1                 /podcast.xml    RSS 2.0 with enclosures
    /youtube.xml         a channel of YouTube          /subscriptions.opml  a list of feeds
    /relative.xml        links that count from ``xml:base``
    /malformed.xml       bare ampersands, a missing end tag
    /wrong-charset.xml   says UTF-8 and is windows-1252
    /entry/{number}      what an entry links to

All of them have an ETag and a Last-Modified, and answer 304 to who has them already.
``POST /__control/feeds`` publishes entries later, changes titles, and says how often to ask.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from html import escape

from agentic.core.types import JSONValue
from agentic.fakes.feeds import rss
from agentic.fakes.feeds.atom import atom, last_updated
from agentic.fakes.feeds.entries import ENTRIES, TITLE, Entry, build_entries
from agentic.fakes.feeds.orders import AS_EVER, FeedOrder, FeedOrders
from agentic.fakes.feeds.youtube import youtube
from agentic.fakes.pages import TODAY, Page, document, html_page, json_page

KEPT_PAGES = 1_000
RSS = "application/rss+xml; charset=utf-8"
ATOM = "application/atom+xml; charset=utf-8"
JSON_FEED = "application/feed+json; charset=utf-8"
OPML = "text/x-opml; charset=utf-8"
LISTED = ("rss.xml", "atom.xml", "feed.json")
ENTRY = re.compile(r"/entry/([1-9][0-9]{0,8})")
PAGE_NUMBER = re.compile(r"page=([1-9][0-9]{0,5})")
KINDS: dict[str, tuple[str, Callable[[Sequence[Entry], str], str]]] = {
    "/rss.xml": (RSS, rss.rss),
    "/podcast.xml": (RSS, rss.podcast),
    "/malformed.xml": (RSS, rss.malformed),
    "/relative.xml": (RSS, rss.relative),
    "/rdf.xml": ("application/rdf+xml; charset=utf-8", rss.rdf),
}

# Servers of a process share them.
_entries = lru_cache(maxsize=4)(build_entries)


class Feeds:
    """The feeds over entries made from ``seed``; they are rendered when first asked for, then kept.

    Args:
        seed: The same seed gives the same bytes.
        entries: How many.
        orders: What became of them since.
    """

    def __init__(self, seed: int = 1, entries: int = ENTRIES, orders: FeedOrders | None = None) -> None:
        self._orders = orders or FeedOrders()
        self._entries = _entries(seed, entries)
        self._numbered = {entry.number: entry for entry in self._entries}
        self._modified = last_updated(self._entries, TODAY)
        self._kept = lru_cache(maxsize=KEPT_PAGES)(self._render)

    def page(self, path: str, query: str, base: str) -> Page | None:
        """See :meth:`Site.page`."""
        found = PAGE_NUMBER.fullmatch(query)
        number, order = int(found[1]) if found else 0, self._orders.now()
        if order == AS_EVER:
            return self._kept(path, number, base)
        page = self._render(path, number, base, order)
        if page is None or order.max_age_s is None:
            return page
        return replace(page, headers=(("cache-control", f"max-age={order.max_age_s}"),))

    def _render(self, path: str, number: int, base: str, order: FeedOrder = AS_EVER) -> Page | None:
        if path == "/":
            return html_page(_home())
        if path == "/subscriptions.opml":
            return Page(_opml(base).encode(), OPML, modified=self._modified)
        if feed := _feed(path, number, base, order, order.entries(self._entries)):
            return Page(*feed, modified=self._modified)
        found = ENTRY.fullmatch(path)
        entry = self._numbered.get(int(found[1])) if found else None
        return html_page(_article(entry), entry.updated) if entry else None


def _feed(
    path: str, number: int, base: str, order: FeedOrder, entries: Sequence[Entry]
) -> tuple[bytes, str] | None:
    """Return body and type of the feed at ``path``, None if there is none."""
    if path in KINDS:
        content_type, render = KINDS[path]
        return render(entries, base).replace("<channel>", f"<channel>{order.wishes()}").encode(), content_type
    match path:
        case "/atom.xml":
            markup = atom(entries, base, number)
            return (markup.encode(), ATOM) if markup else None
        case "/feed.json":
            return json_page(_json_feed(entries, base)).body, JSON_FEED
        case "/youtube.xml":
            return youtube(entries, base, order.views).encode(), ATOM
        case "/wrong-charset.xml":
            return rss.rss(entries, base).encode("cp1252", "xmlcharrefreplace"), RSS
        case _:
            return None


def _opml(base: str) -> str:
    outlines = "".join(f'<outline type="rss" text="{name}" xmlUrl="{base}/{name}"/>' for name in LISTED)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><opml version="2.0"><head><title>{TITLE}</title></head>'
        f'<body><outline text="Workshops">{outlines}</outline></body></opml>'
    )


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
