"""What a crawl did so far: counted, and told."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from agentic.core.graph import CustomEvent, WorkflowContext
from agentic.core.pipeline.crawl_store import (
    CrawlBatch,
    CrawledPage,
    Exchange,
    FailedPage,
    FrontierCounts,
    FrontierEntry,
)
from agentic.core.pipeline.result import EXAMPLE_COUNT
from agentic.core.pipeline.state import CrawlTotals, FailureTally
from agentic.core.pipeline.statistics import CrawlStatistics
from agentic.core.types import SaveCounts

CRAWL_PROGRESS = "crawl.progress"
"""Type of the event that tells, at most once a second, how a crawl goes."""

PROGRESS_S = 0.1
"""Between two reports of progress, at least: there may be hundreds of commits a second."""


class CrawlReport:
    """Counts what a slice of a crawl did, and tells about the crawl.

    Args:
        ctx: Hears of progress.
        statistics: Of the crawl in this process, for all its slices; of this one alone when left out.

    Attributes:
        totals: Of this slice.
    """

    def __init__(self, ctx: WorkflowContext, statistics: CrawlStatistics | None = None) -> None:
        self.totals = CrawlTotals()
        self._ctx = ctx
        self._statistics = CrawlStatistics() if statistics is None else statistics
        self._taken: dict[str, FrontierEntry] = {}
        self._reported_at = -math.inf
        self._unreported: FrontierCounts | None = None

    async def committed(self, batch: CrawlBatch, exchange: Exchange) -> None:
        """Add a commit to the totals and report progress."""
        self._note(batch, exchange)
        if not (batch.done or batch.failed):
            return
        self.totals = add_commit(self.totals, batch.failed, exchange.saved)
        self._unreported = exchange.counts
        if self._statistics.clock() - self._reported_at >= PROGRESS_S:
            self._report_progress()
        if (told := self._statistics.due()) is not None:
            await self._ctx.add_event(CustomEvent(type=CRAWL_PROGRESS, data=told))

    def end(self) -> None:
        """Report where the crawl stands, and note that what the slice did not finish is left to others."""
        self._report_progress()
        self._statistics.gave_back(self._taken.values())
        self._taken.clear()

    def _report_progress(self) -> None:
        counts, self._unreported = self._unreported, None
        if counts is None:
            return
        self._reported_at = self._statistics.clock()
        note = f"{counts.failed} failed" if counts.failed else ""
        self._ctx.report_progress(counts.finished, max(counts.finished, counts.total), note)

    def _note(self, batch: CrawlBatch, exchange: Exchange) -> None:
        self._statistics.add(batch, exchange)
        pages: Iterable[CrawledPage | FailedPage] = (*batch.done, *batch.failed)
        for page in pages:
            self._taken.pop(page.url_key, None)
        self._taken.update((entry.url_key, entry) for entry in exchange.entries)


def add_totals(sofar: CrawlTotals | None, more: CrawlTotals) -> CrawlTotals:
    """Return both together; counts of the frontier's pages are left out."""
    before = sofar or CrawlTotals()
    tallies = {tally.failure_class: tally for tally in before.tallies}
    for tally in more.tallies:
        known = tallies.get(tally.failure_class) or FailureTally(failure_class=tally.failure_class)
        examples = (*known.examples, *tally.examples)[:EXAMPLE_COUNT]
        tallies[tally.failure_class] = replace(known, count=known.count + tally.count, examples=examples)
    return CrawlTotals(
        inserted=before.inserted + more.inserted,
        updated=before.updated + more.updated,
        unchanged=before.unchanged + more.unchanged,
        rejected=before.rejected + more.rejected,
        tallies=tuple(tallies.values()),
    )


def add_commit(totals: CrawlTotals, failed: Sequence[FailedPage], saved: SaveCounts) -> CrawlTotals:
    """Return ``totals`` with the failures and rows of one commit added."""
    tallies = {tally.failure_class: tally for tally in totals.tallies}
    for page in failed:
        known = tallies.get(page.failure_class) or FailureTally(failure_class=page.failure_class)
        examples = (*known.examples, page.message)[:EXAMPLE_COUNT]
        tallies[page.failure_class] = replace(known, count=known.count + 1, examples=examples)
    return replace(
        totals,
        inserted=totals.inserted + saved.inserted,
        updated=totals.updated + saved.updated,
        unchanged=totals.unchanged + saved.unchanged,
        rejected=totals.rejected + saved.rejected,
        tallies=tuple(tallies.values()),
    )
