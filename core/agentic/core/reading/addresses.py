"""Addresses in documents."""

from __future__ import annotations

from collections.abc import Iterable

from turbohtml import Document

from agentic.core.http import HttpError, canonical_url
from agentic.core.http.politeness.robots import forbids_following
from agentic.core.http.resolving import resolve

NEXT_ATTRIBUTES = (
    "data-next-url", "data-next", "data-url", "data-href", "data-load-more", "hx-get", "data-hx-get",
)  # fmt: skip
"""Attributes of buttons with the address of the next page, where a link has ``href``."""


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


def base_of(document: Document, url: str) -> str:
    """Return what relative addresses on a page from ``url`` are relative to."""
    node = document.select_one("base[href]")
    href = node.attr("href") if node is not None else None
    return (absolute(url, href) if href else None) or url


def asks_not_to_follow(document: Document, robots: str, user_agent: str) -> bool:
    """Whether a page asks crawlers to follow none of its links.

    Args:
        document: The page.
        robots: What ``X-Robots-Tag`` says.
        user_agent: The crawler.
    """
    said = (robots, *(meta.attr("content") or "" for meta in document.select('meta[name="robots" i]')))
    return any(forbids_following(one, user_agent) for one in said if one)


def each_page_once(urls: Iterable[str]) -> dict[str, str]:
    """Return URLs without further spellings of one page, in order, by their canonical spelling."""
    found: dict[str, str] = {}
    for url in urls:
        found.setdefault(canonical_url(url), url)
    return found
