"""One page of a crawl: fetched, its links read, its item read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from agentic.core.actors import (
    Actor,
    ActorContext,
    ActorError,
    Failure,
    ItemOutput,
    LinksOutput,
    Page,
    PageOutput,
)
from agentic.core.pipeline.attempts import GivenUp, try_until_settled
from agentic.core.pipeline.calls import call_actor
from agentic.core.pipeline.crawl_store import CrawledPage, FailedPage, FrontierEntry, FrontierLink
from agentic.core.pipeline.follow import CrawlScope
from agentic.core.pipeline.policies import Levels
from agentic.core.pipeline.spec import CrawlStep, PageActor
from agentic.core.settings import safe_url
from agentic.core.types import JSONValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """What became of one page.

    Attributes:
        done: The page; None if it was given up.
        failed: The page as it is recorded if it was given up.
        links: Found on it, also if reading its item failed.
        ends_pipeline: Whether a rule says that its failure is the pipeline's.
        attempt_count: Tries it took.
    """

    done: CrawledPage | None = None
    failed: FailedPage | None = None
    links: tuple[FrontierLink, ...] = ()
    ends_pipeline: bool = False
    attempt_count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Visits pages for one crawl step whose references are resolved.

    Attributes:
        step: The step.
        scope: Its borders.
        actors: Every installed actor by name and alias.
        levels: Rules for failures, nearest first.
        context: What the actors may use.
        item_key: Field that identifies an item.
    """

    step: CrawlStep
    scope: CrawlScope
    actors: Mapping[str, type[Actor]]
    levels: Levels
    context: ActorContext
    item_key: str

    async def visit(self, entry: FrontierEntry) -> Visit:
        """Fetch a page and read it; failures are tried again as the rules say, then returned."""
        links: list[FrontierLink] = []

        async def once(fetcher: str) -> CrawledPage:
            page = await self._fetch(fetcher, entry)
            found = await self._links(page)
            links[:] = self.scope.links(
                [*found.list_item_urls, *filter(None, [found.next_url])], entry.depth + 1
            )
            return self._crawled(entry, page, found.title, await self._item(page))

        outcome = await try_until_settled(
            once, self.step.fetch.actor, self.levels, subject=safe_url(entry.url)
        )
        if isinstance(outcome, GivenUp):
            return Visit(
                failed=_failed(entry, outcome.failure),
                links=tuple(links),
                ends_pipeline=outcome.then == "fail",
                attempt_count=len(outcome.attempts),
            )
        return Visit(done=outcome.value, links=tuple(links), attempt_count=len(outcome.attempts))

    async def _fetch(self, fetcher: str, entry: FrontierEntry) -> Page:
        given = {**self.step.fetch.config, "url": entry.url}
        is_fallback = fetcher != self.step.fetch.actor
        output = await call_actor(self.actors[fetcher], self.context, given, is_fallback=is_fallback)
        page = cast(PageOutput, output).page
        if not self.scope.covers(page.final_url, entry.depth):
            message = f"it leads to {page.final_url}, which the rules of 'follow' leave out"
            raise ActorError(message, failure_class="out_of_scope", status=page.status)
        return page

    async def _links(self, page: Page) -> LinksOutput:
        if not page.is_html:
            return LinksOutput(list_item_urls=())
        return cast(LinksOutput, await self._read(self.step.links, page))

    async def _item(self, page: Page) -> Mapping[str, JSONValue]:
        detail = self.step.detail
        if detail is None or not page.is_html or not self.scope.is_detail(page.final_url):
            return {}
        output = await self._read(PageActor(actor=detail.actor, config=detail.config), page)
        return cast(ItemOutput, output).item

    async def _read(self, page_actor: PageActor, page: Page) -> object:
        return await call_actor(
            self.actors[page_actor.actor], self.context, {**page_actor.config, "page": page}
        )

    def _crawled(
        self, entry: FrontierEntry, page: Page, title: str | None, fields: Mapping[str, JSONValue]
    ) -> CrawledPage:
        key = fields.get(self.item_key)
        return CrawledPage(
            url=entry.url,
            url_key=entry.url_key,
            depth=entry.depth,
            final_url=page.final_url,
            status=page.status,
            content_type=page.content_type,
            title=title,
            fields=fields,
            content_hash=page.content_hash,
            fetched_at=page.fetched_at,
            item_key=None if key is None else str(key),
        )


def _failed(entry: FrontierEntry, failure: Failure) -> FailedPage:
    return FailedPage(
        url=entry.url,
        url_key=entry.url_key,
        depth=entry.depth,
        failure_class=failure.failure_class,
        message=failure.message,
    )
