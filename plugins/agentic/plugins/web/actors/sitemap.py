"""The actor that reads sitemaps."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from agentic.core.actors import (
    ActorContext,
    ActorError,
    FromResults,
    LinksOutput,
    ListingActor,
    describe_failure,
)
from agentic.core.http import FetchError, HttpRequest, HttpResponse, HttpSession
from agentic.core.reading.addresses import absolute
from agentic.core.reading.dates import as_utc, iso_moment, parse_moment
from agentic.core.reading.markup import MarkupError
from agentic.plugins.web.login.sessions import used_session
from agentic.plugins.web.reading.sitemaps import Listed, read_sitemap

MAX_DEPTH = 5  # an index of indexes is against the protocol, and some sites have one
MAX_SITEMAPS = 2_000
SMALL_BYTES = 64 * 1024  # what is read in a millisecond or two
PIECE_URLS = 1_000  # a few hundred KB


class SitemapInput(BaseModel):
    """Which sitemaps to read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    urls: tuple[str, ...] = Field(default=(), description="URLs of sitemaps or sitemap indexes.")
    sites: tuple[str, ...] = Field(
        default=(), description="Any page of a site: uses the sitemaps of its robots.txt, else /sitemap.xml."
    )
    max_urls: PositiveInt = Field(default=50_000, description="Maximum number of pages.")
    since: datetime | None = Field(default=None, description="Skip pages that have not changed since.")
    required: bool = Field(default=False, description="Fail with `empty` if no page is listed.")
    session: Annotated[str | None, FromResults()] = Field(
        default=None, description="Name of a login session."
    )


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


_Page = tuple[str, Listed]
_Failed = tuple[str, FetchError | ActorError]


@dataclass(slots=True)
class _Piece:
    """Part of what a sitemap lists."""

    count: int = 0
    pages: list[_Page] = field(default_factory=list)
    sitemaps: list[str] = field(default_factory=list)
    fault: str = ""

    def add(self, base: str, one: Listed) -> None:
        self.count += 1
        if url := absolute(base, one.address):
            if one.is_sitemap:
                self.sitemaps.append(url)
            else:
                self.pages.append((url, one))


class SitemapActor(ListingActor[SitemapInput, SitemapOutput]):
    """Reads sitemaps (XML, text, gzip, news) and sitemap indexes.

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
        entries: dict[str, SitemapEntry] = {}
        failures: list[_Failed] = []
        async with aclosing(_walked(ctx, given, failures)) as pieces:
            async for piece in pieces:
                for url, one in piece:
                    if url not in entries and len(entries) < given.max_urls:
                        entries[url] = _entry(url, one)
                if len(entries) == given.max_urls:
                    break
        return SitemapOutput(
            list_item_urls=tuple(entries),
            entries=tuple(entries.values()),
            failed=tuple(_failure(url, exc) for url, exc in failures),
        )

    async def pieces(self, ctx: ActorContext, given: SitemapInput, /) -> AsyncGenerator[Sequence[str], None]:
        """Yield the pages in the order of the sitemaps, each sitemap as it is read."""
        async with aclosing(_walked(ctx, given, [])) as pieces:
            async for piece in pieces:
                yield list(dict.fromkeys(url for url, _ in piece))


async def _walked(
    ctx: ActorContext, given: SitemapInput, failures: list[_Failed]
) -> AsyncGenerator[list[_Page], None]:
    """Yield what the sitemaps list, piece by piece, and note those that failed.

    Raises:
        ActorError: There is not one page, and a sitemap that is named failed, or there has to be one.
        FetchError: The same.
    """
    guessed = [url for site in given.sites for url in await _sitemaps_of(ctx, site)]
    is_empty = True
    async with used_session(ctx, given.session) as session:
        walk = _Walk(ctx, given, session, failures)
        async for piece in walk.through([*given.urls, *guessed]):
            is_empty = False
            yield piece
    if is_empty and (named := [exc for url, exc in failures if url in given.urls]):
        raise named[0]
    if is_empty and given.required:
        message = f"no sitemap of {', '.join([*given.urls, *given.sites]) or 'nothing'} lists a page"
        raise ActorError(message, failure_class="empty")


class _Walk:
    """From sitemap to sitemap, none twice."""

    def __init__(
        self, ctx: ActorContext, given: SitemapInput, session: HttpSession | None, failures: list[_Failed]
    ) -> None:
        self._failures = failures
        self._ctx = ctx
        self._session = session
        self._since = as_utc(given.since) if given.since else None
        self._waiting: deque[tuple[str, int]] = deque()
        self._seen: set[str] = set()

    async def through(self, urls: list[str]) -> AsyncIterator[list[_Page]]:
        self._add(urls, 0)
        while self._waiting:
            url, depth = self._waiting.popleft()
            try:
                response = await self._ctx.http.fetch(HttpRequest(url=url, session=self._session))
                async for piece in self._read(url, response, depth):
                    yield piece
            except (FetchError, ActorError) as exc:
                self._failures.append((url, exc))

    def _add(self, urls: list[str], depth: int) -> None:
        for url in urls:
            known = absolute(url, url) or url
            if known not in self._seen and len(self._seen) < MAX_SITEMAPS and depth <= MAX_DEPTH:
                self._seen.add(known)
                self._waiting.append((url, depth))

    async def _read(self, url: str, response: HttpResponse, depth: int) -> AsyncIterator[list[_Page]]:
        listed = self._listed(response)
        is_small = len(response.body) <= SMALL_BYTES
        while piece := next(listed, None) if is_small else await asyncio.to_thread(next, listed, None):
            self._add(piece.sitemaps, depth + 1)
            if piece.pages:
                yield piece.pages
            if piece.fault:
                message = f"{url} was not read completely: {piece.fault}"
                raise ActorError(message, failure_class="decode")

    def _listed(self, response: HttpResponse) -> Iterator[_Piece]:
        """Yield what a sitemap lists, and at last what is wrong with it, if anything is."""
        recent = (one for one in read_sitemap(response.body) if self._is_recent(one))
        is_whole = False
        while not is_whole:
            piece = _Piece()
            try:
                for one in islice(recent, PIECE_URLS):
                    piece.add(response.url, one)
                is_whole = piece.count < PIECE_URLS
            except MarkupError as exc:
                piece.fault, is_whole = str(exc), True
            yield piece

    def _is_recent(self, one: Listed) -> bool:
        if self._since is None:
            return True
        moment = parse_moment(one.lastmod or one.published)
        return moment is None or as_utc(moment) >= self._since


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
