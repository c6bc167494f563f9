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
from agentic.core.logging import get_logger
from agentic.core.reading.addresses import absolute
from agentic.core.reading.dates import as_utc, iso_moment, parse_moment
from agentic.core.reading.markup import MarkupError
from agentic.core.settings import safe_url
from agentic.plugins.web.login.sessions import used_session
from agentic.plugins.web.reading.sitemaps import Listed, NotASitemapError, SitemapNotes, read_sitemap

log = get_logger(__name__)

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
    odd_count: int = 0
    fault: MarkupError | None = None

    def add(self, base: str, one: Listed) -> None:
        self.count += 1
        if url := absolute(base, one.address):
            if one.is_sitemap:
                self.sitemaps.append(url)
            else:
                self.pages.append((url, one))
        else:
            self.odd_count += 1


@dataclass(frozen=True, slots=True)
class _Task:
    """What to do with sitemaps.

    Attributes:
        failures: Receives those that failed.
        optional: Those that need not exist.
        lone: One that is not retried here.
        since: Skip pages that have not changed since.
    """

    failures: list[_Failed]
    optional: frozenset[str]
    lone: str
    since: datetime | None


class SitemapActor(ListingActor[SitemapInput, SitemapOutput]):
    """Reads sitemaps (XML, RSS, Atom, text, gzip, news) and sitemap indexes.

    Broken ones are repaired where that is possible. A sitemap that fails is listed in ``failed``; it is a
    failure of the step if it is one of ``urls`` and no page was found.
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
        # The only sitemap is retried with the step.
        lone = given.urls[0] if len(given.urls) == 1 and not given.sites else ""
        async with aclosing(_walked(ctx, given, failures, lone)) as pieces:
            async for piece in pieces:
                new = {url: one for url, one in piece if url not in entries}
                room = given.max_urls - len(entries)
                entries |= {url: _entry(url, one) for url, one in islice(new.items(), room)}
                if len(new) > room:
                    ctx.warn(
                        f"the sitemaps list more than {given.max_urls:,} pages, and the others were left "
                        "out: raise max_urls, or set since"
                    )
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
    ctx: ActorContext, given: SitemapInput, failures: list[_Failed], lone: str = ""
) -> AsyncGenerator[list[_Page], None]:
    """Yield what the sitemaps list, piece by piece, and note those that failed.

    Raises:
        ActorError: There is not one page, and a sitemap that is named failed, or there has to be one.
        FetchError: The same.
    """
    named, guessed = await _sitemaps_of(ctx, given.sites)
    is_empty = True
    async with used_session(ctx, given.session) as session:
        optional = frozenset(guessed) - {*given.urls, *named}
        walk = _Walk(ctx, session, _Task(failures, optional, lone, given.since))
        async for piece in walk.through([*given.urls, *named, *guessed]):
            is_empty = False
            yield piece
    if is_empty and (fatal := [exc for url, exc in failures if url in given.urls]):
        raise fatal[0]
    if is_empty and given.required:
        message = f"no sitemap of {', '.join([*given.urls, *given.sites]) or 'nothing'} lists a page"
        raise ActorError(message, failure_class="empty")


class _Walk:
    """From sitemap to sitemap, none twice."""

    def __init__(self, ctx: ActorContext, session: HttpSession | None, task: _Task) -> None:
        self._ctx = ctx
        self._session = session
        self._task = task
        self._since = as_utc(task.since) if task.since else None
        self._waiting: deque[tuple[str, int]] = deque()
        self._seen: set[str] = set()
        self._left_out = 0

    async def through(self, urls: list[str]) -> AsyncIterator[list[_Page]]:
        self._add(urls, 0)
        while self._waiting:
            url, depth = self._waiting.popleft()
            try:
                async for piece in self._read(url, await self._fetched(url), depth):
                    yield piece
            except (FetchError, ActorError) as exc:
                if url in self._task.optional and _is_none(exc):
                    continue
                self._task.failures.append((url, exc))
                self._ctx.part_failed(url, exc)
        if self._left_out:
            self._ctx.warn(
                f"{self._left_out} sitemaps were left out: at most {MAX_SITEMAPS:,} are read, and indexes "
                f"of indexes to a depth of {MAX_DEPTH}; name them in urls"
            )

    async def _fetched(self, url: str) -> HttpResponse:
        """Fetch a sitemap; temporary failures are retried, because an index lists many."""
        if url == self._task.lone:
            return await self._ctx.http.fetch(HttpRequest(url=url, session=self._session))
        found: list[HttpResponse] = []

        async def fetch() -> None:
            found.append(await self._ctx.http.fetch(HttpRequest(url=url, session=self._session)))

        await self._ctx.retry(url, fetch)
        return found[-1]

    def _add(self, urls: list[str], depth: int) -> None:
        for url in urls:
            known = absolute(url, url) or url
            if known in self._seen:
                continue
            if len(self._seen) >= MAX_SITEMAPS or depth > MAX_DEPTH:
                self._left_out += 1
                continue
            self._seen.add(known)
            self._waiting.append((url, depth))

    async def _read(self, url: str, response: HttpResponse, depth: int) -> AsyncIterator[list[_Page]]:
        notes = SitemapNotes()
        listed = self._listed(response, notes)
        count = odd_count = 0
        is_small = len(response.body) <= SMALL_BYTES
        while piece := next(listed, None) if is_small else await asyncio.to_thread(next, listed, None):
            self._add(piece.sitemaps, depth + 1)
            count, odd_count = count + piece.count, odd_count + piece.odd_count
            if piece.pages:
                yield piece.pages
            if piece.fault is not None:
                message = f"{url} was not read completely: {piece.fault}"
                if count:
                    message += f"; the {count} entries that could be read count"
                raise ActorError(message, failure_class="decode") from piece.fault
        self._warn(url, notes, odd_count)

    def _warn(self, url: str, notes: SitemapNotes, odd_count: int) -> None:
        """Report repairs, and the number of entries left out."""
        unlisted = notes.unlisted_count + odd_count
        if unlisted:
            self._ctx.warn(f"{unlisted} entries of {url} have no address that can be fetched")
        if notes.repairs or unlisted:
            log.warning("sitemap.repaired", url=safe_url(url), repairs=notes.repairs, left_out_count=unlisted)

    def _listed(self, response: HttpResponse, notes: SitemapNotes) -> Iterator[_Piece]:
        """Yield what a sitemap lists, and at last what is wrong with it, if anything is."""
        content_type = response.headers.get("content-type")
        found = read_sitemap(response.body, content_type, notes)
        recent = (one for one in found if self._is_recent(one))
        is_whole = False
        while not is_whole:
            piece = _Piece()
            try:
                for one in islice(recent, PIECE_URLS):
                    piece.add(response.url, one)
                is_whole = piece.count < PIECE_URLS
            except MarkupError as exc:
                piece.fault, is_whole = exc, True
            yield piece

    def _is_recent(self, one: Listed) -> bool:
        if self._since is None:
            return True
        moment = parse_moment(one.lastmod or one.published)
        return moment is None or as_utc(moment) >= self._since


async def _sitemaps_of(ctx: ActorContext, sites: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the sitemaps that sites name, and the usual address for those that name none."""
    named: list[str] = []
    guessed: list[str] = []
    for site in sites:
        if found := await ctx.http.robots.sitemaps(site):
            named += [absolute(site, url) or url for url in found]
        elif default := absolute(site, "/sitemap.xml"):
            guessed.append(default)
    return named, guessed


def _is_none(exc: FetchError | ActorError) -> bool:
    """Whether a failure says that a site has no sitemap: it answers 404, or a page for any address."""
    if isinstance(exc, FetchError):
        return exc.status is not None and 400 <= exc.status < 500 and exc.failure_class != "rate_limited"
    return isinstance(exc.__cause__, NotASitemapError)


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
