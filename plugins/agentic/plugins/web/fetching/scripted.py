"""Whether a page needs a browser to show what is on it, and what is remembered of that: pure rules."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from agentic.core.linear import LinearPattern
from agentic.core.types import JSONValue
from agentic.plugins.web.reading.html import UNSEEN, parse_apart

FEW_CHARACTERS = 200
MOUNTS = "#app, #root, #__next, #__nuxt, #svelte, app-root, [ng-app], [data-reactroot]"
HINT = LinearPattern("javascript", ignore_case=True)
KEPT = timedelta(days=1)

_ID = LinearPattern(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{16,}|\d+", ignore_case=True)


def looks_scripted(markup: str, *, is_lacking: bool) -> bool:
    """Tell whether scripts write the page: it has some, and next to nothing to read.

    Args:
        markup: As the server sent it.
        is_lacking: Something that should be on it is not: then an empty element that scripts fill, or a hint
            to those who have none, is enough.
    """
    document = parse_apart(markup)
    if document.select_one("script") is None:
        return False
    hints = " ".join(node.text for node in document.select("noscript"))
    document.remove(UNSEEN)
    body = document.select_one("body")
    if body is None or len(" ".join(body.text.split())) < FEW_CHARACTERS:
        return True
    mounts = document.select(MOUNTS)
    return is_lacking and (HINT.occurs_in(hints) or any(not node.text.strip() for node in mounts))


def verdict_key(url: str) -> str:
    """Return what the verdict over ``url`` is remembered under: host and path, ids and numbers left open.

    ``https://shop.example/product/17?page=2`` and ``/product/18`` have one verdict.
    """
    parts = urlsplit(url)
    path = "/".join(_general(part) for part in parts.path.split("/"))
    return f"fetch.auto:{parts.netloc.rpartition('@')[2].lower()}{path}"


def needs_browser(verdict: JSONValue, now: datetime) -> bool:
    """Tell whether a remembered verdict still holds: after a day the page is looked at anew."""
    if not isinstance(verdict, Mapping):
        return False
    return datetime.fromisoformat(str(verdict["browser_until"])) > now.astimezone(UTC)


def browser_verdict(now: datetime) -> JSONValue:
    """Return the verdict to remember of a page that needs a browser."""
    return {"browser_until": (now.astimezone(UTC) + KEPT).isoformat()}


def _general(part: str) -> str:
    """Return a part of a path with digits and ids open; a slug of several words is one, too."""
    if part.count("-") >= 2:
        return "*"
    return _ID.sub("*", part)
