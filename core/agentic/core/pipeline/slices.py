"""A slice of a crawl: so many pages, some at a time, written down in batches."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass

from agentic.core.pipeline.crawl_store import CrawlBatch, CrawlStore, FrontierEntry
from agentic.core.pipeline.visits import Visit
from agentic.core.types import SaveCounts

Visiting = Callable[[FrontierEntry], Coroutine[object, object, Visit]]
Committed = Callable[[CrawlBatch, SaveCounts], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceLimits:
    """How much one slice does.

    Attributes:
        pages: After so many it ends, as soon as no page is slow.
        seconds: After so long it takes no further page.
        budget: Pages the whole crawl may still take.
        commit_pages: Pages written at once, at most.
        commit_seconds: Age of the oldest finished page at which all are written; a page that takes longer
            is slow.
        max_parallel: Pages fetched at a time.
    """

    pages: int
    seconds: float
    budget: int
    commit_pages: int
    commit_seconds: float
    max_parallel: int


def pages_to_take(limits: SliceLimits, taken: int, elapsed_s: float, slowest_s: float) -> int:
    """Return how many pages a slice may still take.

    A slice that has its pages goes on while one of them is slow: the others need not wait for that one.

    Args:
        limits: Of the slice.
        taken: Pages it took so far.
        elapsed_s: Seconds since it began.
        slowest_s: Seconds since the oldest page in flight was begun; 0 without one.
    """
    if elapsed_s >= limits.seconds:
        return 0
    left = limits.budget - taken
    return left if slowest_s > limits.commit_seconds else min(left, limits.pages - taken)


class CrawlSlice:
    """Takes pages from the store, visits them, and writes down what they gave.

    Every commit is one transaction of the store: a slice that is killed loses at most what it had not yet
    committed, and those pages are taken again.

    Args:
        store: The frontier.
        visit: Visits one page; never raises for what a page did.
        limits: How much to do.
        committed: Called after each commit with what was written.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        store: CrawlStore,
        visit: Visiting,
        limits: SliceLimits,
        committed: Committed,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._visit = visit
        self._limits = limits
        self._committed = committed
        self._clock = clock
        self._began = clock()
        self._queue: deque[FrontierEntry] = deque()
        self._running: dict[asyncio.Task[Visit], float] = {}
        self._finished: list[Visit] = []
        self._finished_since = 0.0
        self._is_dry = False
        self.taken = 0
        self.ending: Visit | None = None

    async def run(self) -> None:
        """Work until the limits are reached or the frontier has nothing to give.

        ``taken`` then tells how many pages were taken, ``ending`` the page that is to fail the pipeline.
        """
        async with asyncio.TaskGroup() as group:
            while True:
                await self._refill()
                self._launch(group)
                if self._running:
                    await self._wait()
                if self._should_commit():
                    await self._commit()
                elif not self._running:
                    return

    def _may_take(self) -> int:
        if self.ending is not None:
            return 0
        now = self._clock()
        oldest = min(self._running.values(), default=now)
        return pages_to_take(self._limits, self.taken, now - self._began, now - oldest)

    async def _refill(self) -> None:
        """Claim pages ahead of need, so that no slot waits for the store."""
        room = min(self._limits.max_parallel, self._may_take())
        if self._is_dry or room <= 0 or len(self._queue) >= self._limits.max_parallel:
            return
        entries = await self._store.claim(room)
        self._is_dry = len(entries) < room
        self._queue.extend(entries)
        self.taken += len(entries)

    def _launch(self, group: asyncio.TaskGroup) -> None:
        while self._queue and self._is_idle() and self.ending is None:
            entry = self._queue.popleft()
            self._running[group.create_task(self._visit(entry))] = self._clock()

    async def _wait(self) -> None:
        """Wait until a page is finished, or finished ones have become old, or one in flight slow."""
        since = self._finished_since if self._finished else min(self._running.values())
        left_s = since + self._limits.commit_seconds - self._clock()
        # With nothing to write and a page in flight known to be slow, only a finished page changes anything.
        timeout_s = max(left_s, 0.0) if self._finished or left_s > 0 else None
        done, _ = await asyncio.wait(self._running, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            del self._running[task]
            self._keep(task.result())

    def _keep(self, visit: Visit) -> None:
        if not self._finished:
            self._finished_since = self._clock()
        self._finished.append(visit)
        if visit.ends_pipeline and self.ending is None:
            self.ending = visit

    def _should_commit(self) -> bool:
        if not self._finished:
            return False
        is_old = self._clock() - self._finished_since >= self._limits.commit_seconds
        # Pages in hand may hold the links that idle slots wait for.
        is_starved = not self._running or (not self._queue and self._is_idle() and self._may_take() > 0)
        return len(self._finished) >= self._limits.commit_pages or is_old or is_starved

    def _is_idle(self) -> bool:
        return len(self._running) < self._limits.max_parallel

    async def _commit(self) -> None:
        visits, self._finished = self._finished, []
        batch = CrawlBatch(
            done=[visit.done for visit in visits if visit.done],
            failed=[visit.failed for visit in visits if visit.failed],
            links=[link for visit in visits for link in visit.links],
        )
        counts = await self._store.commit(batch)
        self._is_dry = self._is_dry and not batch.links
        await self._committed(batch, counts)
