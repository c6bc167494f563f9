"""A slice of a crawl: a number of pages, some in parallel, written in batches."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, TypeVar

from agentic.core.http.exits.uses import take_uses
from agentic.core.http.politeness.slots import SLOT
from agentic.core.pipeline.crawl.page import PageResult
from agentic.core.pipeline.crawl.slots import PageSlot, PageSlots
from agentic.core.pipeline.crawl.store import (
    CrawlBatch,
    CrawlStore,
    Exchange,
    FrontierCounts,
    FrontierEntry,
    SliceId,
)

Processing = Callable[[FrontierEntry], Coroutine[object, object, PageResult]]
Committed = Callable[[CrawlBatch, Exchange], Awaitable[None]]

T = TypeVar("T")

SUSPECT_AFTER = 2
"""After this many crashes a page is fetched alone: if it is the cause, no other page crashes with it."""

AHEAD = 4
"""Pages held in memory per fetched page: while one batch is written, the others continue."""

MOST_WAITING = 1_000
"""Maximum number of pages that wait for their hosts: each takes some KiB."""

LATEST = 4
"""After this multiple of its time a slice starts no further page, even if one of them is slow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceLimits:
    """The limits of one slice.

    Attributes:
        pages: It ends after this number, as soon as no page is slow.
        seconds: After this time it starts no further page, as soon as no page is slow.
        budget: Pages that the whole crawl may still take.
        commit_pages: Number of finished pages that triggers a write.
        commit_seconds: Age of the oldest finished page that triggers a write; a page that takes longer
            is slow.
        max_parallel: Pages fetched at a time.
        holds_drift: See :class:`~agentic.core.pipeline.crawl.store.CrawlBatch`.
    """

    pages: int
    seconds: float
    budget: int
    commit_pages: int
    commit_seconds: float
    max_parallel: int
    holds_drift: bool = False


def is_over(limits: SliceLimits, elapsed_s: float, slowest_s: float) -> bool:
    """Return whether a slice has no time left to start a page.

    It continues for some more time while a page is slow: the others need not wait for that one.

    Args:
        limits: Of the slice.
        elapsed_s: Seconds since it began.
        slowest_s: Seconds since the oldest page in flight was begun; 0 without one.
    """
    if elapsed_s < limits.seconds:
        return False
    return slowest_s <= limits.commit_seconds or elapsed_s >= LATEST * limits.seconds


def pages_to_take(
    limits: SliceLimits, taken: int, elapsed_s: float, slowest_s: float, *, is_waiting: bool = False
) -> int:
    """Return how many pages a slice may still take.

    A slice that has its pages continues while one of them is slow (but see its time), or waits for its host.

    Args:
        limits: Of the slice.
        taken: Pages it took so far.
        elapsed_s: Seconds since it began.
        slowest_s: Seconds since the oldest page in flight was begun; 0 without one.
        is_waiting: Whether a page waits for its host.
    """
    if is_over(limits, elapsed_s, slowest_s):
        return 0
    left = limits.budget - taken
    return left if is_waiting or slowest_s > limits.commit_seconds else min(left, limits.pages - taken)


def _ignore(counts: FrontierCounts) -> None:
    """Ignore the counts of a write."""


class CrawlSlice:
    """Takes pages from the store and processes them; meanwhile it writes the results of finished pages.

    Every write is one transaction of the store: a slice that is killed loses only unwritten pages,
    and those pages are taken again.

    Args:
        slice_id: Identifies the owner of the pages.
        store: The frontier.
        process: Processes one page; never raises because of a page.
        limits: Of the slice.
        committed: Called after each write with the batch and its result.
        noted: Called with the counts of each write, before pages of it begin.
        clock: Monotonic seconds.

    Attributes:
        taken: Pages taken so far.
        counts: The frontier's counts after the last write; None before the first.
        ending: The page that fails the pipeline.
    """

    def __init__(  # noqa: PLR0913 - two are for tests
        self,
        slice_id: SliceId,
        store: CrawlStore,
        process: Processing,
        limits: SliceLimits,
        committed: Committed,
        *,
        noted: Callable[[FrontierCounts], None] = _ignore,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._id = slice_id
        self._store = store
        self._process = process
        self._limits = limits
        self._committed = committed
        self._noted = noted
        self._clock = clock
        self._began = clock()
        self._queue: deque[FrontierEntry] = deque()
        self._in_hand: dict[str, FrontierEntry] = {}
        self._is_alone = False
        self._is_careful = False
        self._slots = PageSlots(limits.max_parallel, clock, self._wake)
        self._finished: list[PageResult] = []
        self._finished_since = 0.0
        self._exchange: asyncio.Task[None] | None = None
        self._ended: deque[asyncio.Task[Any]] = deque()
        self._is_woken = asyncio.Event()
        self._alarm: asyncio.TimerHandle | None = None
        self._is_dry = False
        self._without: frozenset[str] = frozenset()
        self.taken = 0
        self.counts: FrontierCounts | None = None
        self.ending: PageResult | None = None

    async def run(self) -> None:
        """Work until the limits are reached or the frontier has no page to take.

        Raises:
            Exception: From the store or ``committed``; the first of several.
        """
        try:
            await self._work()
        finally:  # a cancelled slice leaves its unwritten pages to others
            if self._alarm is not None:
                self._alarm.cancel()
            await _cancelled([*self._slots, *filter(None, [self._exchange])])
            if self._in_hand:
                await self._store.give_back(self._id, list(self._in_hand.values()))

    async def _work(self) -> None:
        while True:
            self._launch()
            if self._exchange is None and self._is_exchange_due():
                self._exchange = self._begin(self._flush_and_claim())
            if self._exchange is None and self._slots.is_empty:
                return
            await self._wait()

    def _launch(self) -> None:
        is_ending = self._is_ending()
        while not is_ending and self._queue and self._slots.is_free and self._may_begin(self._queue[0]):
            entry = self._queue.popleft()
            self._is_alone = _is_suspect(entry)
            slot = PageSlot(self._slots, entry.url)
            token = SLOT.set(slot)  # for the task that begins now
            task = self._begin(self._process(entry))
            SLOT.reset(token)
            self._slots.begin(task, slot)
        if is_ending and self._slots.waiting_count:
            for page in self._slots.unbegun():  # given back: the next slice begins them
                page.cancel()

    def _begin(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        # A task group would use as much memory again for each page as the page's task does.
        task = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(self._note_end)
        return task

    def _note_end(self, task: asyncio.Task[Any]) -> None:
        self._ended.append(task)
        self._wake()

    def _wake(self) -> None:
        self._is_woken.set()

    def _may_begin(self, entry: FrontierEntry) -> bool:
        if not _is_suspect(entry):
            return self._slots.is_empty or not self._is_alone
        return self._slots.is_empty and not (self._finished or self._exchange)

    async def _wait(self) -> None:
        """Wait until a page or a write is done, finished pages are old, or a page in flight is slow."""
        # asyncio.wait would check every page in flight for each finished one.
        if not self._ended:
            self._set_alarm()
            await self._is_woken.wait()
        self._is_woken.clear()
        while self._ended:
            task = self._ended.popleft()
            if task is self._exchange:
                self._exchange = None
                task.result()
                continue
            self._slots.end(task)
            if not task.cancelled():
                self._keep(task.result())

    def _set_alarm(self) -> None:
        """Ensure that a wait ends in time. An alarm may be too early: that costs less than a new one."""
        patience_s = self._patience_s()
        if patience_s is None:
            return
        loop = asyncio.get_running_loop()
        moment = loop.time() + patience_s
        if self._alarm is not None and self._alarm.when() <= moment:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = loop.call_at(moment, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self._is_woken.set()

    def _patience_s(self) -> float | None:
        """Return the seconds until something changes by itself; None if nothing does."""
        if self._exchange is not None:  # it ends first
            return None
        now = self._clock()
        ends = (self._limits.seconds, LATEST * self._limits.seconds)
        moments = [self._began + end for end in ends] if self._slots.waiting_count else []
        # Without results to write, and with a page known to be slow, only a finished page changes anything.
        if self._finished:
            moments.append(max(self._finished_since + self._limits.commit_seconds, now))
        elif self._slots.oldest is not None:
            moments.append(self._slots.oldest + self._limits.commit_seconds)
        return min((moment - now for moment in moments if moment >= now), default=None)

    def _keep(self, page_result: PageResult) -> None:
        if not self._finished:
            self._finished_since = self._clock()
        self._finished.append(page_result)
        if page_result.ends_pipeline and self.ending is None:
            self.ending = page_result

    def _is_exchange_due(self) -> bool:
        wanted = self._wanted()
        # Pages that were left out before may be wanted now.
        is_dry = self._is_dry and self._without <= self._unwanted_sites()
        if not self._finished:
            return wanted > 0 and not is_dry
        is_old = self._clock() - self._finished_since >= self._limits.commit_seconds
        has_links = any(page_result.links for page_result in self._finished)
        # A frontier with too few pages gets more only by links: without new ones, a write would be
        # of no use, and nothing would be left to fetch meanwhile.
        gives_pages = wanted > 0 and (has_links or not is_dry)
        # Without links, each write has its price.
        is_worth_it = has_links or 2 * len(self._finished) >= self._limits.max_parallel
        is_short = gives_pages and is_worth_it and len(self._queue) <= self._limits.max_parallel
        is_starved = self._slots.is_idle or (gives_pages and not self._queue and self._slots.is_free)
        return len(self._finished) >= self._limits.commit_pages or is_old or is_short or is_starved

    def _wanted(self) -> int:
        """Return how many pages to take now: none while there are enough."""
        in_hand = 1 if self._is_careful else self._limits.max_parallel * AHEAD
        if self._is_careful and not self._slots.is_empty:
            return 0
        is_full = len(self._queue) > in_hand // 2 or self._slots.waiting_count > MOST_WAITING
        if is_full or self._is_ending():
            return 0
        may_take = pages_to_take(
            self._limits,
            self.taken,
            self._clock() - self._began,
            self._slowest_s(),
            is_waiting=self._slots.waiting_count > 0,
        )
        return max(min(in_hand - len(self._queue), may_take), 0)

    def _unwanted_sites(self) -> frozenset[str]:
        """Return the sites whose further pages would only wait: with free slots, all with a page waiting."""
        is_starving = not self._queue and self._slots.is_free
        return self._slots.crowded_sites(1 if is_starving else self._limits.max_parallel)

    def _slowest_s(self) -> float:
        if self._slots.has_begun:
            return math.inf
        oldest = self._slots.oldest
        return 0.0 if oldest is None else self._clock() - oldest

    async def _flush_and_claim(self) -> None:
        """Write the finished pages and take more."""
        page_results, self._finished = self._finished, []
        batch = CrawlBatch(
            done=[page_result.done for page_result in page_results if page_result.done],
            failed=[page_result.failed for page_result in page_results if page_result.failed],
            links=[link for page_result in page_results for link in page_result.links],
            beyond=[key for page_result in page_results for key in page_result.beyond],
            outside=sum(page_result.outside for page_result in page_results),
            moves=[move for page_result in page_results for move in page_result.moves],
            proxies=take_uses(),
            held=[page_result.held for page_result in page_results if page_result.held],
            holds_drift=self._limits.holds_drift,
        )
        wanted = self._wanted()
        without = self._unwanted_sites()
        exchange = await self._store.exchange(self._id, batch, wanted, without=without)
        self._noted(exchange.counts)  # before its pages begin: they may be on a host that it names
        written = [*(page.url_key for page in batch.done), *(page.url_key for page in batch.failed)]
        for key in (*written, *batch.held):
            self._in_hand.pop(key, None)
        entries = await self._kept(exchange.entries)
        self._in_hand.update((entry.url_key, entry) for entry in entries)
        self._queue.extend(entries)
        self.taken += len(entries)
        self.counts = exchange.counts
        if wanted:
            self._is_dry, self._without = len(exchange.entries) < wanted, without
        elif batch.links:
            self._is_dry = False
        await self._committed(batch, exchange)

    async def _kept(self, entries: Sequence[FrontierEntry]) -> Sequence[FrontierEntry]:
        """Return the pages up to the first suspect, or that one alone; the others wait."""
        self._is_careful = any(map(_is_suspect, entries))
        if not self._is_careful:
            return entries
        kept = list(takewhile(lambda entry: not _is_suspect(entry), entries)) or entries[:1]
        if others := entries[len(kept) :]:
            await self._store.give_back(self._id, others)
        return kept

    def _is_ending(self) -> bool:
        if self.ending is not None:
            return True
        return is_over(self._limits, self._clock() - self._began, self._slowest_s())


async def _cancelled(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _is_suspect(entry: FrontierEntry) -> bool:
    return entry.attempts >= SUSPECT_AFTER
