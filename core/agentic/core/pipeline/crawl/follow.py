"""Which pages belong to a crawl: pure rules over URLs."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import urlsplit

from agentic.core.http import HttpError, canonical_url, url_key
from agentic.core.http.resolving import request_url
from agentic.core.http.sessions.url_credentials import NO_CREDENTIALS, UrlCredentials, without_user_info
from agentic.core.http.urls import DEFAULT_PORTS
from agentic.core.pipeline.crawl.store import FrontierLink, SiteMove
from agentic.core.pipeline.spec.spec import CrawlStep
from agentic.core.reading.addresses import each_page_once
from agentic.core.records import record

EVERYTHING = "*"


@record
class FoundLinks:
    """The links of a page.

    Attributes:
        links: Pages of the crawl.
        beyond: Keys of pages that are too deep for it.
        outside: Number of links that lead to other hosts, or that no rule includes.
    """

    links: tuple[FrontierLink, ...] = ()
    beyond: tuple[str, ...] = ()
    outside: int = 0


NO_LINKS = FoundLinks()


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlScope:
    """The borders of a crawl.

    Attributes:
        sites: As :func:`site_of` returns them; empty for every host.
        include: Globs; one must match.
        exclude: Globs; none may match.
        details: The globs of the pages, for each rule of ``detail``.
        max_depth: Links from a start page.
        credentials: Credentials in the URLs of the crawl.
        joined: Sites that start pages have led to.
    """

    sites: frozenset[str]
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    details: tuple[tuple[str, ...], ...]
    max_depth: int
    credentials: UrlCredentials = NO_CREDENTIALS
    joined: set[str] = field(default_factory=set)

    def contains(self, url: str) -> bool:
        """Whether the page is on one of the sites of the crawl."""
        if not self.sites:
            return True
        site = site_of(url)
        return site in self.sites or site in self.joined

    def join(self, moves: Iterable[SiteMove]) -> None:
        """Add the sites that start pages have led to."""
        if self.sites:
            self.joined.update(site_of(move.to) for move in moves)

    def covers(self, url: str, depth: int) -> bool:
        """Whether the page belongs to the crawl; start pages (depth 0) only need the right host."""
        if not self.contains(url):
            return False
        return depth == 0 or (depth <= self.max_depth and self.includes(url))

    def includes(self, url: str) -> bool:
        """Whether the rules of ``follow`` include a link."""
        return fits_page(url, self.include) and not (self.exclude and fits_page(url, self.exclude))

    def detail_of(self, url: str) -> int | None:
        """Return which rule of ``detail`` reads the page; None if it describes no item."""
        for number, patterns in enumerate(self.details):
            if fits_page(url, patterns):
                return number
        return None

    def kept(self, url: str) -> str:
        """Return a URL as the frontier keeps it: without password, with a mark for each token."""
        if self.credentials:
            url = self.credentials.stripped(url)
        return without_user_info(url) if "@" in url else url

    def links(self, urls: Sequence[str], depth: int) -> FoundLinks:
        """Return the pages at ``depth`` that belong to the crawl, each once, in order; and the others."""
        if not urls:
            return NO_LINKS
        found = each_page_once(known for url in urls if (known := _requested(url)))
        if self.credentials or "@" in "".join(found):  # one check for all: most pages have no such link
            found = each_page_once(map(self.kept, found.values()))
        covered = [
            frontier_link(url, depth)
            for url in found.values()
            if self.contains(url) and (depth == 0 or self.includes(url))
        ]
        outside = len(found) - len(covered)
        if depth > self.max_depth:
            return FoundLinks(beyond=tuple(link.url_key for link in covered), outside=outside)
        return FoundLinks(links=tuple(covered), outside=outside)


def scope_of(
    step: CrawlStep, starts: Sequence[str], credentials: UrlCredentials = NO_CREDENTIALS
) -> CrawlScope:
    """Return the borders of a crawl whose references are resolved.

    Args:
        step: The crawl.
        starts: URLs of its start pages.
        credentials: Credentials in its URLs.
    """
    sites = frozenset(map(site_of, starts)) if step.follow.same_host else frozenset()
    return CrawlScope(
        sites=sites,
        include=step.follow.include,
        exclude=step.follow.exclude,
        details=tuple(rules.match for rules in step.details),
        max_depth=step.max_depth,
        credentials=credentials,
    )


def frontier_link(url: str, depth: int) -> FrontierLink:
    """Return the frontier's entry for ``url``: as it is requested, with the key of all its spellings."""
    return FrontierLink(url=url, url_key=url_key(url), depth=depth)


def site_of(url: str) -> str:
    """Return the name of the site that a page belongs to.

    http and https are one site, and so are a host and the same host with ``www.``; another port is not.
    """
    return _site_at(url.split("/", 3)[2])  # urlsplit takes ten times as long


@lru_cache(maxsize=4_096)
def _site_at(place: str) -> str:
    host = place.rpartition("@")[2].partition("?")[0].lower()
    for port in DEFAULT_PORTS.values():
        host = host.removesuffix(f":{port}")
    return host.removeprefix("www.")


def fits(url: str, patterns: Sequence[str]) -> bool:
    """Whether one of the globs matches; one that begins with ``/`` is matched against path and query."""
    return any(_compiled(p).match(_path_of(url) if p.startswith("/") else url) for p in patterns)


def fits_page(url: str, patterns: Sequence[str]) -> bool:
    """Whether one of the globs matches the URL as it stands on its page, or its canonical spelling."""
    if not patterns or EVERYTHING in patterns:  # the case of most crawls
        return bool(patterns)
    # Most URLs are canonical, and the answer is known.
    return fits(url, patterns) or ((canonical := canonical_url(url)) != url and fits(canonical, patterns))


def _path_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(pattern))


def _requested(url: str) -> str | None:
    try:
        return request_url(url)
    except HttpError:  # mailto: and the like: not a page
        return None
