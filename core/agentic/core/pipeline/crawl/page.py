"""One page of a crawl: fetch it, read its links, read its item."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

from pydantic import BaseModel
from turbohtml import parse

from agentic.core.actors import (
    Actor,
    ActorContext,
    ActorError,
    ContentsOutput,
    ItemOutput,
    ItemsOutput,
    LinksOutput,
    Page,
    PageOutput,
)
from agentic.core.http import canonical_url, url_key
from agentic.core.http.sessions.url_credentials import UrlCredentials
from agentic.core.pipeline.crawl.files import PageFiles, without_files
from agentic.core.pipeline.crawl.follow import NO_LINKS, CrawlScope, FoundLinks
from agentic.core.pipeline.crawl.offline import NOT_STORED
from agentic.core.pipeline.crawl.page_items import FoundItem, found_items, with_items
from agentic.core.pipeline.crawl.repeated import RepeatedInput
from agentic.core.pipeline.crawl.store import (
    CrawledPage,
    FailedPage,
    FrontierCounts,
    FrontierEntry,
    FrontierLink,
    PageContents,
    PageWarning,
    SiteMove,
)
from agentic.core.pipeline.drift.incidents import Cause
from agentic.core.pipeline.drift.looking import PageWatcher
from agentic.core.pipeline.drift.sights import PageSight
from agentic.core.pipeline.expressions.references import ValuePath
from agentic.core.pipeline.expressions.secret_masking import Hidden
from agentic.core.pipeline.policies.attempts import GivenUp, OnAttempt, RetryContext, try_until_settled
from agentic.core.pipeline.policies.policies import Config, Levels, without_retries
from agentic.core.pipeline.spec.spec import CrawlStep
from agentic.core.pipeline.spec.step_names import detail_place, page_actors
from agentic.core.pipeline.steps.calls import call_until_done, known_parts
from agentic.core.reading.addresses import asks_not_to_follow
from agentic.core.records import record
from agentic.core.settings import safe_url
from agentic.core.types import JSONValue

FETCH: ValuePath = ("fetch",)
LINKS: ValuePath = ("links",)
STORE: ValuePath = ("store",)

NO_ITEM = FoundItem(None, {})

MAX_REFRESHES = 5
"""Pages that take the place of each other, for one page of a crawl."""

GIVEN_UP_AFTER = 4
"""After this many crashes a page is not fetched again."""


@record
class PageResult:
    """The result of one page.

    Attributes:
        done: The page; None if it failed.
        failed: The page as it is recorded if it failed.
        links: Links found on it, even if reading its item failed.
        beyond: Keys of the pages it links to that are too deep for the crawl.
        outside: Number of its links that lead to other hosts, or that no rule includes.
        moves: Its move to another host, if it is a start page that led there.
        ends_pipeline: Whether a rule fails the pipeline because of it.
        attempt_count: Number of attempts.
        held: Its key if it was not fetched because its kind is held.
    """

    done: CrawledPage | None = None
    failed: FailedPage | None = None
    links: tuple[FrontierLink, ...] = ()
    beyond: tuple[str, ...] = ()
    outside: int = 0
    moves: tuple[SiteMove, ...] = ()
    ends_pipeline: bool = False
    attempt_count: int = 1
    held: str = ""


@dataclass(slots=True)
class _Found:
    """The links of a page, and the warnings about it, of its last attempt."""

    links: FoundLinks = NO_LINKS
    moves: tuple[SiteMove, ...] = ()
    warnings: list[PageWarning] = field(default_factory=list)

    def tally(self, subject: str, sentence: str) -> None:
        """Take a warning of an actor."""
        self.warnings.append(PageWarning(subject, sentence))


@dataclass(frozen=True, slots=True, kw_only=True)
class PageProcessor:
    """Processes the pages of one crawl step whose references are resolved.

    Attributes:
        step: The step.
        scope: Its borders.
        actors: The actors it calls, and perhaps others, by name and alias.
        levels: Rules for failures, nearest first.
        context: The context of the actors.
        item_key: Field that identifies an item.
        call: Names this crawl to actors.
        hidden: Secrets that no message may hold.
        credentials: Credentials in URLs of the crawl: put back for each request, and stored nowhere.
        tell: Returns the reporter of the failed attempts at a page.
        stored: Returns a stored page by its key.
        without_network: The context of the actors that read stored pages.
        rerun: Runs an earlier step again, by its id.
        watcher: Looks at the pages, and knows which kinds are held.
        files: Downloads the files of pages; None if the crawl wants none.
        inputs: Path in the step -> checked input of the actor there.
        version: The version of the pipeline that the step is from; None for the pipeline as it was written.
    """

    step: CrawlStep
    scope: CrawlScope
    actors: Mapping[str, type[Actor]]
    levels: Levels
    context: ActorContext
    item_key: str
    call: str
    hidden: Hidden
    credentials: UrlCredentials
    tell: Callable[[str], OnAttempt]
    stored: Callable[[str], Awaitable[Page | None]]
    without_network: ActorContext
    rerun: Callable[[str], Awaitable[None]]
    watcher: PageWatcher
    files: PageFiles | None = None
    inputs: dict[ValuePath, RepeatedInput] = field(default_factory=dict)
    version: int | None = None

    def note(self, counts: FrontierCounts) -> None:
        """Note what other processes have found out about the crawl."""
        self.scope.join(counts.moves)
        self.watcher.held = counts.holds

    def process(self, entry: FrontierEntry) -> Coroutine[object, object, PageResult]:
        """Fetch a page and read it; failures are retried as the rules say, then returned.

        A page from storage is read once, because it stays the same. No request is sent for it: its files are
        not downloaded again.
        """
        if entry.page_key is None:
            is_held = bool(self.watcher.held) and self.watcher.is_held(self.scope.detail_of(entry.url))
            return _held(entry) if is_held else self._process(entry)
        alone = replace(self, context=self.without_network, levels=without_retries(self.levels))
        return alone._process(entry)

    async def fetch(self, url: str) -> Page:
        """Return a page as the crawl fetches it, once, without following its refresh.

        Raises:
            ActorError: It cannot be fetched.
            HttpError: The same.
        """
        return await self._fetched(self.step.fetch.actor, None, url, self._quiet(url))

    async def read(self, number: int, page: Page) -> Sequence[FoundItem]:
        """Return the items that a rule of ``detail`` reads on a page.

        Raises:
            ActorError: They cannot be read.
        """
        return await self._items(number, page, self._quiet(page.final_url))

    def _quiet(self, url: str) -> ActorContext:
        """Return the context of a call whose warnings are of no page of the crawl."""
        return self.context.for_call(f"{self.call}/{url_key(url)}", tally=lambda _subject, _sentence: None)

    async def _process(self, entry: FrontierEntry) -> PageResult:
        found = _Found()
        context = self.context.for_call(f"{self.call}/{entry.url_key}", tally=found.tally)

        async def once(fetcher: str, config: Config | None) -> CrawledPage:
            if entry.attempts >= GIVEN_UP_AFTER:
                message = (
                    f"{entry.attempts} processes died while fetching it, the last one with no other page"
                )
                raise ActorError(message, failure_class="process_crashed")
            warnings = found.warnings
            warnings.clear()
            if entry.page_key is None:
                page = await self._fetch(fetcher, config, entry, context)
            else:
                page = await self._stored(entry, entry.page_key)
            found.moves = self._moves(entry, page)
            read = await self._links(page)
            links: Sequence[str] = read.list_item_urls
            # Of an answer in JSON, its own actor decides about the field Link.
            next_urls = (self._next_url(page) if page.is_html else None, read.next_url)
            if page.refresh_url or any(next_urls):
                links = [*filter(None, (page.refresh_url, *next_urls)), *links]
            file_urls: Sequence[str] = ()
            if self.files is not None and (file_urls := await self.files.find(page, warnings)):
                links = without_files(links, file_urls)
            found.links = self.scope.links(links, entry.depth + 1)
            crawled = await self._read_items(entry, page, read.title, context)
            if self.step.store.is_wanted:
                contents = await self._contents(entry, page, found.links.links)
                crawled = replace(crawled, contents=contents)
            is_fetched = entry.page_key is None
            if (
                self.files is not None and file_urls and is_fetched
            ):  # at the end: a page that fails is fetched again
                crawled = replace(crawled, files=await self.files.load(page, file_urls, warnings))
            if (exits := self.context.http.exits) is not None:
                warnings += [PageWarning(subject, sentence) for subject, sentence in exits.take_news()]
            return replace(crawled, warnings=tuple(warnings)) if warnings else crawled

        outcome = await try_until_settled(once, self.step.fetch.actor, partial(self._retry_context, entry))
        count = len(outcome.attempts)
        if isinstance(outcome, GivenUp):
            return PageResult(
                failed=_failed(entry, outcome, has_row=self.step.store.pages),
                links=found.links.links,
                beyond=found.links.beyond,
                outside=found.links.outside,
                moves=found.moves,
                ends_pipeline=outcome.then == "fail",
                attempt_count=count,
            )
        done = outcome.value if count == 1 else replace(outcome.value, attempts=outcome.attempts)
        return PageResult(
            done=done,
            links=found.links.links,
            beyond=found.links.beyond,
            outside=found.links.outside,
            moves=found.moves,
            attempt_count=count,
        )

    def _retry_context(self, entry: FrontierEntry) -> RetryContext:
        subject = safe_url(entry.url)
        return RetryContext(
            levels=self.levels,
            subject=subject,
            hidden=self.hidden,
            tell=self.tell(subject),
            rerun=self.rerun,
        )

    async def _fetch(
        self, fetcher: str, config: Config | None, entry: FrontierEntry, context: ActorContext
    ) -> Page:
        page = await self._fetched(fetcher, config, entry.url, context)
        if page.refresh_url is not None:
            page = await self._last(page, fetcher, config, entry, context)
        is_where_found = page.final_url == entry.url  # most pages are, and their links were checked
        if not is_where_found and entry.depth > 0 and not self.scope.covers(page.final_url, entry.depth):
            message = f"it leads to {page.final_url}, which the rules of 'follow' exclude"
            raise ActorError(message, failure_class="out_of_scope", status=page.status)
        return page

    async def _stored(self, entry: FrontierEntry, key: str) -> Page:
        """Return a page from storage; that it belonged to the crawl was decided when it was fetched."""
        page = await self.stored(key)
        if page is None:
            message = "it is no longer stored, so it cannot be read again; fetch it with --failed"
            raise ActorError(message, failure_class=NOT_STORED)
        page = page if page.url else page.model_copy(update={"url": entry.url})
        return self._without_secrets(page) if self.hidden.values or self.credentials else page

    async def _last(
        self,
        page: Page,
        fetcher: str,
        config: Config | None,
        entry: FrontierEntry,
        context: ActorContext,
    ) -> Page:
        """Return the page at the end of short refreshes; in a circle, its last new page."""
        seen = {entry.url_key, url_key(page.final_url)}
        for _ in range(MAX_REFRESHES):
            url = self._successor(page, entry)
            if url is None or url_key(url) in seen:
                break
            seen.add(url_key(url))
            page = await self._fetched(fetcher, config, url, context)
            seen.add(url_key(page.final_url))
        return page

    async def _fetched(
        self, fetcher: str, config: Config | None, address: str, context: ActorContext
    ) -> Page:
        actor = self.actors[fetcher]
        url = self.credentials.applied(address) if self.credentials else address
        given: Mapping[str, object] | BaseModel
        if config is not None:
            known = known_parts(actor, {**_no_refresh(actor), **self.step.fetch.config})
            given = {**known, **config, "url": url}
        else:
            given = self._input(FETCH, "url", url).of(url)
        page = cast(PageOutput, await call_until_done(actor, context, given)).page
        return self._without_secrets(page) if self.hidden.values or self.credentials else page

    def _successor(self, page: Page, entry: FrontierEntry) -> str | None:
        """Return the URL of the page that takes the place of ``page``, if it may belong to the crawl."""
        url = page.successor_url
        if url is None or self.step.fetch.config.get("follow_refresh") is False:
            return None
        return url if entry.depth == 0 or self.scope.covers(url, entry.depth) else None

    def _moves(self, entry: FrontierEntry, page: Page) -> tuple[SiteMove, ...]:
        """Return the move of a start page to another host, which belongs to the crawl from now on."""
        if entry.depth > 0 or self.scope.contains(page.final_url):
            return ()
        moves = (SiteMove(entry.url, page.final_url),)
        self.scope.join(moves)
        return moves

    def _without_secrets(self, page: Page) -> Page:
        """Return a page without the secrets of its request, in case it repeats them."""
        kept = {
            "url": self.scope.kept(page.url),
            "final_url": self.scope.kept(page.final_url),
            "text": self.hidden.text(page.text),
            "refresh_url": page.refresh_url and self.scope.kept(page.refresh_url),
        }
        return page.model_copy(update=kept)

    async def _links(self, page: Page) -> LinksOutput:
        if not self._may_read(self.step.links.actor, page):
            return LinksOutput(list_item_urls=())
        return cast(LinksOutput, await self._read(LINKS, page))

    def _next_url(self, page: Page) -> str | None:
        """Return the next page that the header of a page names, if the page lets crawlers follow it."""
        if page.next_url is None or not self._obeys_nofollow():
            return page.next_url
        document = parse(page.text if "robots" in page.text.lower() else "")
        is_closed = asks_not_to_follow(document, page.robots, self.context.http.policy.user_agent)
        return None if is_closed else page.next_url

    async def _read_items(
        self, entry: FrontierEntry, page: Page, title: str | None, context: ActorContext
    ) -> CrawledPage:
        number = self.scope.detail_of(page.final_url)
        may_read = number is not None and self._may_read(self.step.details[number].actor, page)
        items = await self._items(number, page, context) if number is not None and may_read else ()
        sight = wanted = None
        is_watched = self.watcher.kinds and entry.page_key is None and (number is None or may_read)
        if is_watched:
            wanted = number if page.final_url == entry.url else self.scope.detail_of(entry.url)
            fields = [item.fields for item in items]
            sight = self.watcher.look(page, wanted, number, fields)
            if sight is not None and self._leaves_row(sight):
                if items:
                    context.warn_about("rows left as they were", _why_left(entry.url, sight.wall))
                items = ()
        crawled = self._crawled(entry, page, title, items, sight)
        if sight is None or number is None or number != wanted or len(items) != 1:
            return crawled
        learnt = self.watcher.learner.learn(
            page,
            sight,
            self.step.details[number],
            items[0].fields,
            key=items[0].key,
            hidden=self.hidden,
        )
        return replace(crawled, learnt=learnt) if learnt else crawled

    def _leaves_row(self, sight: PageSight) -> bool:
        """Return whether the stored row of a page stays as it is, because the page says nothing about it."""
        reads_all = self.step.on_drift == "continue" and sight.wall is None
        return sight.void is not None and not reads_all

    async def _items(self, number: int, page: Page, context: ActorContext) -> Sequence[FoundItem]:
        rules = self.step.details[number]
        reading = self._input(detail_place(self.step, number), "page", page)
        output = cast(
            ItemOutput | ItemsOutput, await call_until_done(reading.actor, context, reading.of(page))
        )
        if rules.python is not None:
            output = await self._own(rules.python, page, found_items(output, self.item_key))
        return found_items(output, rules.item_key or self.item_key)

    async def _own(self, name: str, page: Page, items: Sequence[FoundItem]) -> ItemsOutput:
        """Return the items after the user's function has changed them."""
        actor = self.actors[name]
        more = {"page": page} if "page" in actor.Input.model_fields else {}
        made: list[dict[str, JSONValue]] = []
        for item in items:
            output = await call_until_done(actor, self.context, {"item": dict(item.fields), **more})
            made += [dict(one.fields) for one in found_items(cast(ItemsOutput, output), self.item_key)]
        return ItemsOutput(items=tuple(made))

    def _may_read(self, actor: str, page: Page) -> bool:
        return page.kind in self.actors[actor].reads

    async def _contents(
        self, entry: FrontierEntry, page: Page, links: Sequence[FrontierLink]
    ) -> PageContents:
        read = cast(ContentsOutput, await self._read(STORE, page))
        return PageContents(
            read=read,
            followed=frozenset(canonical_url(link.url) for link in links),
            page=self._storable(page) if self.step.store.html else None,
            requested_url=page.url if url_key(page.url) != entry.url_key else None,
        )

    def _storable(self, page: Page) -> Page:
        """Return a page without the secrets that its headers may repeat."""
        if not (self.hidden.values or self.credentials):
            return page
        next_url = page.next_url and self.scope.kept(page.next_url)
        return page.model_copy(update={"next_url": next_url, "robots": self.hidden.text(page.robots)})

    async def _read(self, part: ValuePath, page: Page) -> object:
        reading = self._input(part, "page", page)
        return await call_until_done(reading.actor, self.context, reading.of(page))

    def _input(self, part: ValuePath, name: str, value: object) -> RepeatedInput:
        """Return the input of a part's actor; its config is checked with the first page."""
        found = self.inputs.get(part)
        if found is None:
            page_actor = dict(page_actors(self.step))[part]
            actor = self.actors[page_actor.actor]
            config = page_actor.config
            if part == LINKS and "obey_nofollow" in actor.Input.model_fields:
                config = {"obey_nofollow": self._obeys_nofollow(), **config}
            if part == FETCH:
                config = {**_no_refresh(actor), **config}
            found = self.inputs[part] = RepeatedInput(actor, config, name, value)
        return found

    def _obeys_nofollow(self) -> bool:
        return self.step.follow.obey_nofollow and self.context.http.policy.obey_robots

    def _crawled(
        self,
        entry: FrontierEntry,
        page: Page,
        title: str | None,
        items: Sequence[FoundItem],
        sight: PageSight | None,
    ) -> CrawledPage:
        item = items[0] if len(items) == 1 else NO_ITEM
        crawled = CrawledPage(
            url=entry.url,
            url_key=entry.url_key,
            depth=entry.depth,
            final_url=page.final_url,
            status=page.status,
            content_type=page.content_type,
            title=title,
            fields=item.fields,
            content_hash=page.content_hash,
            fetched_at=page.fetched_at,
            item_key=item.key,
            fetched_by=page.fetched_by,
            has_row=self.step.store.pages,
            is_reread=entry.page_key is not None,
            sight=sight,
            version=self.version,
        )
        return with_items(crawled, items) if len(items) > 1 else crawled


def _why_left(url: str, wall: Cause | None) -> str:
    shown = "no value in any field" if wall is None else _INSTEAD.get(wall, "another page")
    return f"{safe_url(url)} shows {shown}; its row stays as it is"


_INSTEAD = {
    Cause.CONSENT: "a consent wall",
    Cause.LOGIN: "a login",
    Cause.GONE: "'not found'",
    Cause.EMPTY: "'no results'",
}


async def _held(entry: FrontierEntry) -> PageResult:
    return PageResult(held=entry.url_key)


def _no_refresh(actor: type[Actor]) -> Config:
    """Return a config that makes an actor follow no refresh: the crawl does it, within its borders."""
    return {"follow_refresh": False} if "follow_refresh" in actor.Input.model_fields else {}


def _failed(entry: FrontierEntry, outcome: GivenUp, *, has_row: bool) -> FailedPage:
    return FailedPage(
        url=entry.url,
        url_key=entry.url_key,
        depth=entry.depth,
        failure_class=outcome.failure.failure_class,
        message=outcome.failure.message,
        attempts=outcome.attempts,
        is_letter=outcome.then == "dead_letter",
        has_row=has_row,
        is_reread=entry.page_key is not None,
    )
