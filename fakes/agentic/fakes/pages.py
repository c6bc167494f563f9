"""What a fake site is: a function from paths to pages."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Protocol

from agentic.core.types import JSONValue

HTML = "text/html; charset=utf-8"
XML = "application/xml"
# The day the fakes take for today: pages are the same bytes whenever they are asked for.
TODAY = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Page:
    """What one path answers; with ``modified`` it has an ETag and a Last-Modified too, and may answer 304."""

    body: bytes
    content_type: str
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    modified: datetime | None = None


class Site(Protocol):
    """A fake that is all data: the same question always has the same answer."""

    def page(self, path: str, query: str, base: str) -> Page | None:
        """Return what to answer, or None for 404.

        Args:
            path: Below the place the site is mounted at, with a leading slash.
            query: As it stands in the URL, without question mark.
            base: ``scheme://host:port`` and mount path as the client wrote them, for absolute links.
        """
        ...


def html_page(markup: str, modified: datetime | None = TODAY) -> Page:
    """Return ``markup`` as a page in UTF-8."""
    return Page(markup.encode(), HTML, modified=modified)


def json_page(value: JSONValue, modified: datetime | None = None) -> Page:
    """Return ``value`` as a page of compact JSON, its keys in order."""
    body = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    return Page(body, "application/json; charset=utf-8", modified=modified)


def document(title: str, body: str, *, head: str = "", language: str = "en") -> str:
    """Return a whole HTML document; ``body`` and ``head`` are markup, ``title`` is text."""
    return (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"{head}</head><body>{body}</body></html>"
    )


def json_script(value: JSONValue, kind: str = "application/ld+json", identifier: str = "") -> str:
    """Return ``value`` in a script element that no text of it can end."""
    data = json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
    named = f' id="{identifier}"' if identifier else ""
    return f'<script type="{kind}"{named}>{data}</script>'
