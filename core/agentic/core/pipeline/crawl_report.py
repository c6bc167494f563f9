"""What a crawl did so far: counted, and told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentic.core.graph import WorkflowContext
from agentic.core.pipeline.crawl_store import CrawlBatch, Exchange, FailedPage
from agentic.core.pipeline.result import EXAMPLE_COUNT
from agentic.core.pipeline.state import CrawlTotals, FailureTally
from agentic.core.types import SaveCounts


class CrawlReport:
    """Counts what a crawl did, and tells about it.

    Args:
        ctx: Hears of progress.

    Attributes:
        totals: Of this slice.
    """

    def __init__(self, ctx: WorkflowContext) -> None:
        self.totals = CrawlTotals()
        self._ctx = ctx

    async def committed(self, batch: CrawlBatch, exchange: Exchange) -> None:
        """Add a commit to the totals and report progress."""
        if not (batch.done or batch.failed):
            return
        self.totals = add_commit(self.totals, batch.failed, exchange.saved)
        counts = exchange.counts
        note = f"{counts.failed} failed" if counts.failed else ""
        self._ctx.report_progress(counts.finished, max(counts.finished, counts.total), note)


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
