"""The progress of a crawl."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from agentic.core.graph import CustomEvent, WorkflowContext
from agentic.core.logging import get_logger
from agentic.core.pipeline.crawl.statistics import CrawlStatistics
from agentic.core.pipeline.crawl.store import (
    CrawlBatch,
    CrawledPage,
    Exchange,
    FailedPage,
    FrontierCounts,
    FrontierEntry,
)

CRAWL_PROGRESS = "crawl.progress"
"""Type of the event about the progress of a crawl, at most once a second."""

CRAWL_DRIFTED = "crawl.drifted"
"""Type of the event about pages that differ from healthy ones."""

PROGRESS_S = 0.1
"""Minimum time between two progress reports: there may be hundreds of commits a second."""

log = get_logger(__name__)


class CrawlReport:
    """Reports the progress of a crawl.

    Args:
        ctx: Receives the progress.
        statistics: Of the crawl in this process, for all its slices; default: of this slice alone.
    """

    def __init__(self, ctx: WorkflowContext, statistics: CrawlStatistics | None = None) -> None:
        self._ctx = ctx
        self._statistics = CrawlStatistics() if statistics is None else statistics
        self._taken: dict[str, FrontierEntry] = {}
        self._reported_at = -math.inf
        self._unreported: FrontierCounts | None = None

    async def committed(self, batch: CrawlBatch, exchange: Exchange) -> None:
        """Note a commit and report progress."""
        self._note(batch, exchange)
        for incident in exchange.incidents:
            facts = {**incident.model_dump(mode="json"), "is_held": batch.holds_drift}
            log.warning("crawl.drifted", kind=incident.label, cause=incident.cause, reason=incident.words)
            await self._ctx.add_event(CustomEvent(type=CRAWL_DRIFTED, data=facts))
        if not (batch.done or batch.failed):
            return
        self._unreported = exchange.counts
        if self._statistics.clock() - self._reported_at >= PROGRESS_S:
            self._report_progress()
        if (told := self._statistics.due()) is not None:
            await self._ctx.add_event(CustomEvent(type=CRAWL_PROGRESS, data=told))

    def end(self) -> None:
        """Report the counts of the crawl, and note that other slices get the unfinished pages."""
        self._report_progress()
        self._statistics.gave_back(self._taken.values())
        self._taken.clear()

    def _report_progress(self) -> None:
        counts, self._unreported = self._unreported, None
        if counts is None:
            return
        self._reported_at = self._statistics.clock()
        note = " · ".join(_losses(counts))
        self._ctx.report_progress(counts.finished, max(counts.finished, counts.finished + counts.open), note)

    def _note(self, batch: CrawlBatch, exchange: Exchange) -> None:
        self._statistics.add(batch, exchange)
        pages: Iterable[CrawledPage | FailedPage] = (*batch.done, *batch.failed)
        for page in pages:
            self._taken.pop(page.url_key, None)
        for key in batch.held:
            self._taken.pop(key, None)
        self._taken.update((entry.url_key, entry) for entry in exchange.entries)


def _losses(counts: FrontierCounts) -> Iterator[str]:
    if failed := counts.failed - counts.excluded:
        yield f"{failed} failed"
    if counts.excluded:
        yield f"{counts.excluded} excluded by robots.txt"
    if counts.held:
        yield f"{counts.held} held"
