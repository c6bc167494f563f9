"""Put the start pages of a crawl into its frontier, and pages of sitemaps piece by piece."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import cast

from agentic.core.actors import Actor, ActorContext, Failure, ListingActor
from agentic.core.http.resolving import request_url
from agentic.core.http.sessions.url_credentials import UrlCredentials
from agentic.core.pipeline.crawl.follow import frontier_link, scope_of
from agentic.core.pipeline.crawl.store import CrawlBatch, CrawlStore, FailedPage, SliceId
from agentic.core.pipeline.spec.spec import CrawlStep
from agentic.core.pipeline.spec.step_names import SITEMAP_ACTOR
from agentic.core.reading.addresses import each_page_once

AddressPieces = AsyncGenerator[Sequence[str], None]
FailedPart = tuple[str, Failure]
"""URL of a sitemap, and why it could not be read."""


class Seeding:
    """Puts pages into the frontier, while the first of them are already fetched.

    Args:
        step: The crawl, its references resolved.
        pieces: URLs from sitemaps, piece by piece.
        store: The frontier.
        credentials: Credentials in URLs of the crawl; the frontier keeps none of them.
        failed: Receives the sitemaps that failed; each is recorded once.

    Attributes:
        is_over: All pages are added, or enough of them.
        more: Set whenever some pages were added, and at the end.
    """

    def __init__(
        self,
        step: CrawlStep,
        pieces: AddressPieces,
        store: CrawlStore,
        credentials: UrlCredentials,
        failed: list[FailedPart],
    ) -> None:
        self.is_over = False
        self.more = asyncio.Event()
        self._starts = starts_of(step)
        self._scope = scope_of(step, self._starts, credentials)
        self._pieces = pieces
        self._store = store
        self._wanted = step.max_pages
        self._failed = failed

    async def begin(self) -> None:
        """Add the start pages and the first piece. Pages that the frontier already knows stay unchanged.

        Raises:
            ActorError: The named sitemaps list no page.
            FetchError: They list no page because none of them could be fetched.
        """
        first = await anext(self._pieces, None)
        await self._store.seed([frontier_link(self._scope.kept(url), 0) for url in self._starts])
        await self._add(first)

    @asynccontextmanager
    async def meanwhile(self) -> AsyncIterator[None]:
        """Add all remaining pages during other work, and at least until that work is done."""
        adding = asyncio.create_task(self._add_all(), name="sitemaps")
        try:
            yield
            await adding
        finally:
            adding.cancel()
            await asyncio.gather(adding, return_exceptions=True)

    async def _add_all(self) -> None:
        try:
            while not self.is_over:
                await self._add(await anext(self._pieces, None))
                self.more.set()
        finally:
            self.is_over = True
            self.more.set()
            await self._pieces.aclose()

    async def _add(self, urls: Sequence[str] | None) -> None:
        await self._record_failures()
        if urls is not None:
            found = await asyncio.to_thread(self._scope.links, urls, 1)
            self._wanted -= await self._store.seed(found.links)
        if urls is None or self._wanted <= 0:
            self.is_over = True
            await self._pieces.aclose()

    async def _record_failures(self) -> None:
        """Record sitemaps that failed as failed pages of the crawl, so that its result reports them."""
        failed, self._failed[:] = list(self._failed), []
        if not failed:
            return
        links = [frontier_link(self._scope.kept(url), 0) for url, _ in failed]
        pages = [
            FailedPage(
                url=link.url,
                url_key=link.url_key,
                depth=link.depth,
                failure_class=failure.failure_class,
                message=f"a sitemap: {failure.message}",
                has_row=False,
            )
            for link, (_, failure) in zip(links, failed, strict=True)
        ]
        await self._store.exchange(SliceId(), CrawlBatch(failed=pages, links=links), 0)


def starts_of(step: CrawlStep) -> list[str]:
    """Return the start pages of a crawl whose references are resolved, each once."""
    urls = [step.start] if isinstance(step.start, str) else step.start
    return list(each_page_once(map(request_url, urls)).values())


async def listed_pages(
    step: CrawlStep, actors: Mapping[str, type[Actor]], context: ActorContext
) -> AsyncGenerator[Sequence[str], None]:
    """Yield the pages of the sitemaps that a crawl reads, piece by piece."""
    if not step.sitemaps:
        return
    actor = cast(type[ListingActor], actors[SITEMAP_ACTOR])
    given = {"urls": step.sitemaps} if isinstance(step.sitemaps, tuple) else {"sites": starts_of(step)}
    async with aclosing(actor().pieces(context, actor.Input.model_validate(given))) as pieces:
        async for urls in pieces:
            yield urls
