"""The speed, hosts and failures of a crawl, counted while it runs."""

from __future__ import annotations

import heapq
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from agentic.core.pipeline.crawl.store import CrawlBatch, Exchange, FrontierCounts, FrontierEntry
from agentic.core.types import JSONValue, RunId

INTERVAL_S = 1.0
"""Minimum time between two reports."""

WINDOW = 10
"""Reports used for the rate."""

SHOWN_HOSTS = 20
KEPT_HOSTS = 1_000
"""Above this number of hosts the less busy half is dropped."""

KEPT_CRAWLS = 64


@dataclass(slots=True)
class HostCounts:
    """Pages of a host: fetched, failed, and taken but not finished."""

    pages: int = 0
    failed: int = 0
    waiting: int = 0

    @property
    def busyness(self) -> int:
        """All of its pages."""
        return self.pages + self.failed + self.waiting


class _Moment(NamedTuple):
    time: float
    finished: int


@dataclass(slots=True)
class CrawlStatistics:
    """Counts a process's work for a crawl; a few updates of dictionaries for each page.

    Attributes:
        clock: Monotonic seconds.
        failures: Failure class -> failed pages.
        hosts: Host, with its port -> counts.
    """

    clock: Callable[[], float] = time.monotonic
    failures: dict[str, int] = field(default_factory=dict)
    hosts: dict[str, HostCounts] = field(default_factory=dict)
    _moments: deque[_Moment] = field(default_factory=lambda: deque(maxlen=WINDOW + 1))
    _counts: FrontierCounts = field(default_factory=FrontierCounts)
    _began_at: float = field(init=False)
    _reported_at: float | None = None

    def __post_init__(self) -> None:
        self._began_at = self.clock()

    def add(self, batch: CrawlBatch, exchange: Exchange) -> None:
        """Add a commit: its pages, and the pages that were taken with it."""
        self._counts = exchange.counts
        if not self._moments:
            earlier = exchange.counts.finished - len(batch.done) - len(batch.failed)
            self._moments.append(_Moment(self._began_at, earlier))
        for page in batch.done:
            host = self._host(page.url)
            host.pages += 1
            host.waiting -= host.waiting > 0
        for given_up in batch.failed:
            host = self._host(given_up.url)
            host.failed += 1
            host.waiting -= host.waiting > 0
            failure_class = given_up.failure_class
            self.failures[failure_class] = self.failures.get(failure_class, 0) + 1
        for entry in exchange.entries:
            self._host(entry.url).waiting += 1

    def gave_back(self, entries: Iterable[FrontierEntry]) -> None:
        """Subtract pages that were taken and are left to others."""
        for entry in entries:
            host = self._host(entry.url)
            host.waiting -= host.waiting > 0

    def due(self) -> dict[str, JSONValue] | None:
        """Return the report that is due now, or None if the last one is less than a second old.

        ``done``, ``failed``, ``known``, ``left`` and ``pages_per_s`` (over the last ten reports) describe the
        frontier. ``failures`` and ``hosts``, the busiest first, describe this process.
        """
        now = self.clock()
        if self._reported_at is not None and now - self._reported_at < INTERVAL_S:
            return None
        self._reported_at = now
        self._moments.append(_Moment(now, self._counts.finished))
        return {
            "done": self._counts.done,
            "failed": self._counts.failed,
            "known": self._counts.total,
            "left": self._counts.open,
            "pages_per_s": round(rate_of(self._moments), 2),
            "failures": {name: self.failures[name] for name in self._most_frequent()},
            "hosts": self._busiest(),
        }

    def _most_frequent(self) -> list[str]:
        return sorted(self.failures, key=lambda name: (-self.failures[name], name))

    def _busiest(self) -> dict[str, JSONValue]:
        found = heapq.nlargest(SHOWN_HOSTS, self.hosts.items(), key=lambda item: item[1].busyness)
        return {
            host: {"pages": counts.pages, "failed": counts.failed, "waiting": counts.waiting}
            for host, counts in found
        }

    def _host(self, url: str) -> HostCounts:
        # Addresses of a frontier are canonical: scheme://host:port/path. urlsplit takes ten times as long.
        name = url.split("/", 3)[2]
        counts = self.hosts.get(name)
        if counts is None:
            if len(self.hosts) >= KEPT_HOSTS:
                kept = heapq.nlargest(KEPT_HOSTS // 2, self.hosts.items(), key=lambda item: item[1].busyness)
                self.hosts = dict(kept)
            counts = self.hosts[name] = HostCounts()
        return counts


class RunningCrawls:
    """The statistics of the crawls of one step, each over all its slices in this process."""

    def __init__(self) -> None:
        self._known: OrderedDict[RunId, CrawlStatistics] = OrderedDict()

    def of(self, run_id: RunId) -> CrawlStatistics:
        """Return the statistics of a run's crawl, new ones for an unknown run."""
        found = self._known.pop(run_id, None) or CrawlStatistics()
        self._known[run_id] = found
        if len(self._known) > KEPT_CRAWLS:
            self._known.popitem(last=False)
        return found


def rate_of(moments: Sequence[_Moment]) -> float:
    """Return pages a second from the first moment to the last."""
    first, last = moments[0], moments[-1]
    took_s = last.time - first.time
    return max(last.finished - first.finished, 0) / took_s if took_s > 0 else 0.0
