"""Addresses in documents."""

from __future__ import annotations

from collections.abc import Iterable

from agentic.core.http import HttpError, canonical_url
from agentic.core.http.resolving import resolve


def absolute(base: str, address: str, encoding: str = "utf-8") -> str | None:
    """Return the URL that a browser requests for an address on a page; None for ``mailto:`` and the like.

    Args:
        base: What addresses on the page are relative to.
        address: As the page has it.
        encoding: Of the page; its queries are written in it.
    """
    try:
        return resolve(base, address, encoding)
    except HttpError:
        return None


def each_page_once(urls: Iterable[str]) -> dict[str, str]:
    """Return URLs without further spellings of one page, in order, by their canonical spelling."""
    found: dict[str, str] = {}
    for url in urls:
        found.setdefault(canonical_url(url), url)
    return found
