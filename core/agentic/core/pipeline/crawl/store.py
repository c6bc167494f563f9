"""The port for the storage of a crawl: pages to fetch, fetched pages, and their results."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from agentic.core.actors import ContentsOutput, Page
from agentic.core.http.exits.uses import ProxyUse
from agentic.core.pipeline.drift.incidents import Incident
from agentic.core.pipeline.drift.learning import LearntField
from agentic.core.pipeline.drift.looking import UsualLook
from agentic.core.pipeline.drift.sights import PageSight
from agentic.core.pipeline.policies.policies import StepAttempt
from agentic.core.pipeline.steps.state import FailureTally
from agentic.core.records import record
from agentic.core.types import JSONValue, SaveCounts


@record
class FrontierLink:
    """A page that was found, and may be new.

    Attributes:
        url: As it was first seen, and as it is requested.
        url_key: Hash of its canonical spelling, unique in one crawl.
        depth: Links followed from a start page; 0 for the start pages.
    """

    url: str
    url_key: str
    depth: int


@record
class FrontierEntry:
    """A page to fetch now, or to read from storage.

    Attributes:
        url: As it is requested.
        url_key: Its key in the frontier.
        depth: Links from a start page.
        attempts: Number of claims before this one, 0 at first.
        page_key: Key of the stored page to read; None for a page to fetch.
    """

    url: str
    url_key: str
    depth: int
    attempts: int
    page_key: str | None = None


@record
class PageWarning:
    """A warning about a page that was read. ``subject`` is the same for all pages: ``"field 'price'"``."""

    subject: str
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedWarning:
    """How many pages have a warning about one subject, and the first sentence."""

    subject: str
    count: int
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContents:
    """The stored contents of a page, besides its row.

    Attributes:
        read: The contents of the page, with its links.
        followed: Canonical addresses of the links that the crawl follows.
        page: The page itself; None if its raw body is not stored.
        requested_url: URL of the page if a refresh led there; None if the crawl requested it itself.
    """

    read: ContentsOutput
    followed: frozenset[str] = frozenset()
    page: Page | None = None
    requested_url: str | None = None


@record
class CrawledPage:
    """A page that was fetched.

    Attributes:
        url: As it stood in the frontier.
        url_key: Its key there.
        depth: Its depth there.
        final_url: Address after redirects.
        status: HTTP status of the final answer.
        content_type: Media type without parameters, "" when the server named none.
        title: Text of ``<title>``; None for pages without one.
        fields: Result of the detail extraction; empty for pages that are not detail pages.
        content_hash: Hash of the body, hex.
        fetched_at: When the response was complete, UTC.
        item_key: Natural key of the item in ``fields``; None for pages that are not detail pages.
        fetched_by: How it was fetched: ``http``, ``browser``, ``firecrawl``.
        attempts: Every attempt if there was more than one; otherwise empty.
        contents: Further contents to store; None if the crawl stores none.
        warnings: About the reading of its items, and its files.
        files: The downloaded files of the page, each as an item of the actor ``download``.
        has_row: Whether the page gets a row of its own; an item in ``fields`` always gets one.
        is_reread: Whether it was read from storage, not fetched.
        sight: Its look; None for a page that describes no item.
        learnt: Its fields as they look on it; empty for most pages.
        version: The version of the pipeline that read it; None for the pipeline as it was written.
    """

    url: str
    url_key: str
    depth: int
    final_url: str
    status: int
    content_type: str
    title: str | None
    fields: Mapping[str, JSONValue]
    content_hash: str
    fetched_at: datetime
    item_key: str | None = None
    fetched_by: str = "http"
    attempts: tuple[StepAttempt, ...] = ()
    contents: PageContents | None = None
    has_row: bool = True
    warnings: tuple[PageWarning, ...] = ()
    files: tuple[Mapping[str, JSONValue], ...] = ()
    is_reread: bool = False
    sight: PageSight | None = None
    learnt: tuple[LearntField, ...] = ()
    version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedPage:
    """A failed page: the failure class that decided it, a message for people, and every attempt.

    ``is_letter`` says that it becomes a dead letter, ``has_row`` that the crawl keeps a row of
    each page, ``is_reread`` that it was read from storage.
    """

    url: str
    url_key: str
    depth: int
    failure_class: str
    message: str
    attempts: tuple[StepAttempt, ...] = ()
    is_letter: bool = False
    has_row: bool = True
    is_reread: bool = False

    @property
    def gone_status(self) -> int | None:
        """The server's status if it says that the page does not exist: 404 or 410."""
        return {"http_404": 404, "gone": 410}.get(self.failure_class)


@record
class SiteMove:
    """A start page that led to a host outside of the crawl, which belongs to the crawl from then on.

    Attributes:
        start: The start page.
        to: The address after its redirects.
    """

    start: str
    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlBatch:
    """The content of one commit: all of it is written, or nothing.

    A page is in ``done`` or ``failed``, never in both. ``links`` may hold pages already known.

    Attributes:
        done: Fetched pages.
        failed: Failed pages.
        links: Pages that belong to the crawl.
        beyond: Keys of pages that are too deep for the crawl, known or not.
        outside: Number of links that lead to other hosts, or that no rule includes.
        moves: Start pages that led to other hosts.
        proxies: Requests through each of several proxies since the last commit, for these and other pages.
        held: Keys of pages that were taken and not fetched because their kind is held.
        holds_drift: Whether pages of a kind are held from the page on that is an alarm.
    """

    done: Sequence[CrawledPage] = ()
    failed: Sequence[FailedPage] = ()
    links: Sequence[FrontierLink] = ()
    beyond: Collection[str] = ()
    outside: int = 0
    moves: Sequence[SiteMove] = ()
    proxies: Sequence[ProxyUse] = ()
    held: Sequence[str] = ()
    holds_drift: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierCounts:
    """The counts of a crawl.

    Attributes:
        total: Pages known.
        done: Pages fetched.
        failed: Pages that failed.
        excluded: The failed pages that the site excludes.
        items: Items with a value that were read on the pages.
        beyond: Pages that were too deep for the crawl; one that several processes found counts for each.
        outside: Links that lead to other hosts, or that no rule includes.
        saved: Rows of all commits so far, by the effect of storing them.
        moves: Start pages that led to other hosts.
        to_reread: Pages that the crawl reads from storage.
        reread: Those it has read, with success or not.
        unstored: Pages fetched earlier that it cannot read again because they are not stored.
        is_offline: Whether the crawl only reads pages from storage and fetches none.
        held: Pages that wait because their kind is held.
        holds: Keys of the kinds that are held.
    """

    total: int = 0
    done: int = 0
    failed: int = 0
    excluded: int = 0
    items: int = 0
    beyond: int = 0
    outside: int = 0
    saved: SaveCounts = field(default_factory=SaveCounts)
    moves: tuple[SiteMove, ...] = ()
    to_reread: int = 0
    reread: int = 0
    unstored: int = 0
    is_offline: bool = False
    held: int = 0
    holds: frozenset[str] = frozenset()

    @property
    def finished(self) -> int:
        """Pages fetched or failed."""
        return self.done + self.failed

    @property
    def left(self) -> int:
        """Pages known and not finished, taken or not."""
        return self.total - self.finished

    @property
    def unread(self) -> int:
        """Pages that the crawl still has to read from storage, taken or not."""
        return max(self.to_reread - self.reread, 0)

    @property
    def open(self) -> int:
        """Pages that the crawl may still work on, apart from ``max_pages``."""
        return self.unread if self.is_offline else max(self.left - self.held, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """The frontier's answer to a written batch.

    Attributes:
        saved: Counts of the saved rows.
        entries: Pages to fetch now.
        counts: The frontier's counts after it.
        incidents: Why pages of a kind are held, or noted, from this batch on.
    """

    saved: SaveCounts
    entries: Sequence[FrontierEntry]
    counts: FrontierCounts
    incidents: Sequence[Incident] = ()


@dataclass(frozen=True, slots=True)
class SliceId:
    """The slice of a crawl that takes pages.

    Slices of one superstep end before the next one begins: no process works on pages that
    an earlier superstep still holds.

    Attributes:
        superstep: Of the run.
        number: Within the superstep, from 0.
    """

    superstep: int = 0
    number: int = 0

    def __str__(self) -> str:
        return f"{self.superstep}.{self.number}"


class CrawlStore(Protocol):
    """The frontier of one crawl. Safe to use from several processes at once."""

    async def seed(self, urls: Sequence[FrontierLink]) -> int:
        """Add the unknown pages, as new, and return their number."""
        ...

    async def begin(self, slice_id: SliceId) -> FrontierCounts:
        """Make pages new again that no process works on, and return the frontier's counts.

        These were taken in other supersteps, or by an attempt at this slice that was cut off.
        """
        ...

    async def exchange(
        self,
        slice_id: SliceId,
        batch: CrawlBatch,
        limit: int,
        *,
        without: Collection[str] = (),
    ) -> Exchange:
        """Mark pages, add links, store rows and take up to ``limit`` new pages, all in one transaction.

        No entries: nothing to fetch at the moment. When cancelled, it ends the transaction before the
        cancellation continues.

        Args:
            slice_id: The new owner of the pages.
            batch: The data to write.
            limit: Pages to take at most.
            without: Prefixes of the URLs of sites whose pages are not wanted now: ``http://a.example/``.
        """
        ...

    async def give_back(self, slice_id: SliceId, entries: Sequence[FrontierEntry]) -> None:
        """Make pages new again that a slice took and will not fetch."""
        ...

    async def stored_page(self, key: str) -> Page | None:
        """Return a stored page as it was fetched, by its ``page_key``; None if it is no longer stored."""
        ...

    async def failures(self, examples: int) -> Sequence[FailureTally]:
        """Return the classes of the failed pages, by name, each with up to ``examples`` messages."""
        ...

    async def warnings(self) -> Sequence[CountedWarning]:
        """Return the warnings about pages that were read, by subject, in the order of the pages."""
        ...

    async def proxies(self) -> Sequence[ProxyUse]:
        """Return the requests through each of several proxies, of all commits so far."""
        ...

    async def looks(self) -> Mapping[str, UsualLook]:
        """Return the looks of healthy pages, by the key of their kind."""
        ...

    async def incidents(self) -> Sequence[Incident]:
        """Return why kinds of pages are held, or noted; without those that were settled."""
        ...

    async def release(self, *, is_accepted: bool, repaired: Collection[str] = ()) -> None:
        """Make all held pages new again, and those that raised the alarm; a second call changes nothing.

        Args:
            is_accepted: Whether the pages are right as they are: they are not watched any longer in this
                crawl.
            repaired: Keys of the kinds whose pages are read with other rules from now on.
        """
        ...
