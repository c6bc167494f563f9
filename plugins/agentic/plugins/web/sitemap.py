"""The actor that reads sitemaps."""

from __future__ import annotations

import asyncio
from collections import deque
from datetime import datetime
from itertools import islice
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from agentic.core.actors import Actor, ActorContext, ActorError, FromResults, LinksOutput, describe_failure
from agentic.core.http import FetchError, HttpRequest, HttpSession
from agentic.core.reading.addresses import absolute
from agentic.core.reading.dates import as_utc, iso_moment, parse_moment
from agentic.core.reading.markup import MarkupError
from agentic.plugins.web.sessions import used_session
from agentic.plugins.web.sitemap_reader import Listed, read_sitemap

MAX_DEPTH = 5  # an index of indexes is against the protocol, and some sites have one
MAX_SITEMAPS = 2_000
SMALL_BYTES = 64 * 1024  # what is read in a millisecond or two


class SitemapInput(BaseModel):
    """Which sitemaps to read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    urls: tuple[str, ...] = Field(default=(), description="Sitemaps, or indexes of them.")
    sites: tuple[str, ...] = Field(
        default=(), description="Any page of a site: the sitemaps its robots.txt names, else /sitemap.xml."
    )
    max_urls: PositiveInt = Field(default=50_000, description="Pages at most.")
    since: datetime | None = Field(default=None, description="Leave out what has not changed since.")
    required: bool = Field(default=False, description="Fail with `empty` if no page is listed.")
    session: Annotated[str | None, FromResults()] = Field(default=None, description="A login, by its name.")


class SitemapEntry(BaseModel):
    """A page that a sitemap lists; what it does not say is null, times are in ISO 8601."""

    model_config = ConfigDict(frozen=True)

    url: str
    lastmod: str | None = None
    published: str | None = None
    title: str | None = None


class SitemapFailure(BaseModel):
    """A sitemap that could not be read, or not to its end."""

    model_config = ConfigDict(frozen=True)

    url: str
    failure_class: str
    message: str


class SitemapOutput(LinksOutput):
    """The pages of sitemaps, each once, and the sitemaps that failed."""

    entries: tuple[SitemapEntry, ...]
    failed: tuple[SitemapFailure, ...] = ()


class SitemapActor(Actor[SitemapInput, SitemapOutput]):
    """Reads sitemaps: XML, text, gzipped, with news, and indexes of them.

    A sitemap that fails is listed in ``failed``; it is a failure of the step if it is one of ``urls`` and no
    page was found.
    """

    name = "sitemap"
    version = "1"
    Input = SitemapInput
    Output = SitemapOutput
    failure_classes = frozenset({"decode", "empty"})
    capabilities = frozenset({"network"})

    async def run(self, ctx: ActorContext, given: SitemapInput, /) -> SitemapOutput:
        """Return the pages, in the order of the sitemaps."""
        guessed = [url for site in given.sites for url in await _sitemaps_of(ctx, site)]
        async with used_session(ctx, given.session) as session:
            walk = _Walk(ctx, given, session)
            await walk.through([*given.urls, *guessed])
        entries = tuple(walk.entries.values())
        if not entries and (named := [exc for url, exc in walk.failures if url in given.urls]):
            raise named[0]
        if not entries and given.required:
            message = f"no sitemap of {', '.join([*given.urls, *given.sites]) or 'nothing'} lists a page"
            raise ActorError(message, failure_class="empty")
        return SitemapOutput(
            list_item_urls=tuple(walk.entries),
            entries=entries,
            failed=tuple(_failure(url, exc) for url, exc in walk.failures),
        )


class _Walk:
    """From sitemap to sitemap, none twice."""

    def __init__(self, ctx: ActorContext, given: SitemapInput, session: HttpSession | None) -> None:
        self.entries: dict[str, SitemapEntry] = {}
        self.failures: list[tuple[str, FetchError | ActorError]] = []
        self._ctx = ctx
        self._session = session
        self._max_urls = given.max_urls
        self._since = as_utc(given.since) if given.since else None
        self._waiting: deque[tuple[str, int]] = deque()
        self._seen: set[str] = set()

    async def through(self, urls: list[str]) -> None:
        self._add(urls, 0)
        while self._waiting and len(self.entries) < self._max_urls:
            url, depth = self._waiting.popleft()
            try:
                await self._read(url, depth)
            except (FetchError, ActorError) as exc:
                self.failures.append((url, exc))

    def _add(self, urls: list[str], depth: int) -> None:
        for url in urls:
            known = absolute(url, url) or url
            if known not in self._seen and len(self._seen) < MAX_SITEMAPS and depth <= MAX_DEPTH:
                self._seen.add(known)
                self._waiting.append((url, depth))

    async def _read(self, url: str, depth: int) -> None:
        response = await self._ctx.http.fetch(HttpRequest(url=url, session=self._session))
        if len(response.body) > SMALL_BYTES:
            listed, fault = await asyncio.to_thread(self._listed, response.body)
        else:
            listed, fault = self._listed(response.body)
        self._take(response.url, listed, depth)
        if fault:
            raise ActorError(f"{url} was not read to its end: {fault}", failure_class="decode")

    def _listed(self, body: bytes) -> tuple[list[Listed], str]:
        """Return what a sitemap lists, as far as it is wanted, and what is wrong with it."""
        wanted: list[Listed] = []
        recent = (one for one in read_sitemap(body) if self._is_recent(one))
        try:
            for one in islice(recent, max(self._max_urls - len(self.entries), MAX_SITEMAPS)):
                wanted.append(one)  # noqa: PERF402 - what came before a fault is kept
        except MarkupError as exc:
            return wanted, str(exc)
        return wanted, ""

    def _is_recent(self, one: Listed) -> bool:
        if self._since is None:
            return True
        moment = parse_moment(one.lastmod or one.published)
        return moment is None or as_utc(moment) >= self._since

    def _take(self, base: str, listed: list[Listed], depth: int) -> None:
        found = [(url, one) for one in listed if (url := absolute(base, one.address))]
        self._add([url for url, one in found if one.is_sitemap], depth + 1)
        for url, one in found:
            if not one.is_sitemap and len(self.entries) < self._max_urls:
                self.entries.setdefault(url, _entry(url, one))


async def _sitemaps_of(ctx: ActorContext, site: str) -> tuple[str, ...]:
    named = await ctx.http.robots.sitemaps(site)
    default = absolute(site, "/sitemap.xml")
    return named or ((default,) if default else ())


def _entry(url: str, one: Listed) -> SitemapEntry:
    return SitemapEntry(
        url=url,
        lastmod=iso_moment(one.lastmod) if one.lastmod else None,
        published=iso_moment(one.published) if one.published else None,
        title=one.title or None,
    )


def _failure(url: str, exc: FetchError | ActorError) -> SitemapFailure:
    failure = describe_failure(exc)
    return SitemapFailure(url=url, failure_class=failure.failure_class, message=failure.message)
