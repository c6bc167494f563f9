"""The port through which a crawl remembers: what to fetch, what was fetched, what it gave."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from agentic.core.actors import ContentsOutput
from agentic.core.pipeline.policies.policies import Attempt
from agentic.core.pipeline.steps.state import FailureTally
from agentic.core.records import record
from agentic.core.types import JSONValue, SaveCounts


@record
class FrontierLink:
    """A page found and perhaps not known yet.

    Attributes:
        url: Canonical address.
        url_key: Hash of ``url``, unique in one crawl.
        depth: Links followed from a start page; 0 for the start pages.
    """

    url: str
    url_key: str
    depth: int


@record
class FrontierEntry:
    """A page to fetch now. ``attempts`` counts the claims before this one, 0 at first."""

    url: str
    url_key: str
    depth: int
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContents:
    """What is kept of a page besides its row.

    Attributes:
        read: What was read of the page, its links among it.
        followed: Canonical addresses of those links that the crawl follows.
    """

    read: ContentsOutput
    followed: frozenset[str] = frozenset()


@record
class CrawledPage:
    """A page that was fetched.

    Attributes:
        url: As it stood in the frontier.
        url_key: Its key there.
        depth: Its depth there.
        final_url: Where redirects ended.
        status: HTTP status of the final answer.
        content_type: Media type without parameters, "" when the server named none.
        title: Text of ``<title>``; None for pages without one.
        fields: What the detail extraction gave; empty for pages that are no detail page.
        content_hash: Hash of the body, hex.
        fetched_at: When the answer was complete, UTC.
        item_key: Natural key of what ``fields`` describe; None for pages that are no detail page.
        fetched_by: How it was fetched: ``http``, ``browser``, ``firecrawl``.
        attempts: Every try if there was more than one; else empty.
        contents: What else is to be kept; None where the crawl keeps nothing else.
        has_row: Whether the page gets a row of its own; what is in ``fields`` gets one in any case.
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
    attempts: tuple[Attempt, ...] = ()
    contents: PageContents | None = None
    has_row: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedPage:
    """A page given up: the failure class that decided it, a message for people, and every try.

    ``is_letter`` says that it is to be kept with the dead letters, ``has_row`` that the crawl keeps a row of
    each page.
    """

    url: str
    url_key: str
    depth: int
    failure_class: str
    message: str
    attempts: tuple[Attempt, ...] = ()
    is_letter: bool = False
    has_row: bool = True

    @property
    def gone_status(self) -> int | None:
        """What its server answered if that was that it is not there: 404 or 410."""
        return {"http_404": 404, "gone": 410}.get(self.failure_class)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlBatch:
    """What one commit writes: all of it, or nothing.

    A page is in ``done`` or ``failed``, never in both. ``links`` may hold pages already known.
    """

    done: Sequence[CrawledPage] = ()
    failed: Sequence[FailedPage] = ()
    links: Sequence[FrontierLink] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierCounts:
    """How a crawl stands.

    Attributes:
        total: Pages known.
        done: Pages fetched.
        failed: Pages given up.
        excluded: Those of them that the site wants left out.
        items: Items with a value that were read on the pages.
        saved: Rows of all commits so far, by what storing them did.
    """

    total: int = 0
    done: int = 0
    failed: int = 0
    excluded: int = 0
    items: int = 0
    saved: SaveCounts = field(default_factory=SaveCounts)

    @property
    def finished(self) -> int:
        """Pages fetched or given up."""
        return self.done + self.failed

    @property
    def left(self) -> int:
        """Pages known and not finished, whether somebody has taken them or not."""
        return self.total - self.finished


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What a frontier gave for what was written down.

    Attributes:
        saved: What the rows came to.
        entries: Pages to fetch now.
        counts: How the frontier stands then.
    """

    saved: SaveCounts
    entries: Sequence[FrontierEntry]
    counts: FrontierCounts


@dataclass(frozen=True, slots=True)
class SliceId:
    """Which slice of a crawl takes pages.

    Slices of one superstep end before the next one begins, so that what one of an earlier superstep still
    holds nobody works on.

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
        """Add the pages not known yet, as new, and return how many those were."""
        ...

    async def begin(self, slice_id: SliceId) -> FrontierCounts:
        """Make pages new again that nobody works on any more, and return how the frontier stands.

        They are those taken in other supersteps, and those an attempt at this slice took that was cut off.
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

        No entries: nothing to fetch at the moment. Cancelled meanwhile, it ends the transaction before the
        cancellation goes on.

        Args:
            slice_id: Whose the pages are then.
            batch: What to write down.
            limit: Pages to take at most.
            without: What the URLs of sites begin with of which none are wanted now: ``http://a.example/``.
        """
        ...

    async def give_back(self, slice_id: SliceId, entries: Sequence[FrontierEntry]) -> None:
        """Make pages new again that a slice took and nobody will fetch for it."""
        ...

    async def failures(self, examples: int) -> Sequence[FailureTally]:
        """Return the classes of the pages given up, by name, each with up to ``examples`` messages."""
        ...
