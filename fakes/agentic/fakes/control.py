"""Faults to inject and requests counted: the pure part of ``/__control``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from threading import Lock

from agentic.core.types import JSONValue
from agentic.fakes.clock import FakeClock
from agentic.fakes.faults import Fault
from agentic.fakes.feeds.orders import FeedOrders
from agentic.fakes.firecrawl.account import Account
from agentic.fakes.github.account import GithubAccount
from agentic.fakes.hostile.limits import Flakes, RateLimits
from agentic.fakes.jobs.sessions import Sessions
from agentic.fakes.jobs.tokens import Tokens
from agentic.fakes.news.revisions import Revisions
from agentic.fakes.reddit.account import RedditAccount
from agentic.fakes.redesign.orders import Redesigns
from agentic.fakes.sink import Sink

__all__ = ["Control", "Fault"]


@dataclass(slots=True)
class _Armed:
    fault: Fault
    left: int | None


class Control:
    """Keeps faults and counts; may be used from another thread than the server's.

    Attributes:
        clock: The time at all fakes.
        sessions: Who is logged in to the job board.
        tokens: The tokens of its API.
        revisions: Changes to the newspaper's articles.
        feeds: What became of the feeds.
        rate_limits: Who asked the hostile site too often.
        flakes: Failures the hostile site still owes.
        firecrawl: Credits spent at Firecrawl, and the pace of its jobs.
        github: Who has asked GitHub how often, and what has changed there.
        reddit: The same of Reddit.
        sink: What webhooks sent.
        redesigns: New layouts of the shop and the newspaper.
    """

    def __init__(self) -> None:
        self.clock = FakeClock()
        now = self.clock.now
        self._lock = Lock()
        self._faults: list[_Armed] = []
        self._requests: Counter[str] = Counter()
        self._in_flight = 0
        self._peak = 0
        self.sessions = Sessions()
        self.tokens = Tokens(now)
        self.revisions = Revisions()
        self.feeds = FeedOrders()
        self.rate_limits = RateLimits(now)
        self.flakes = Flakes()
        self.firecrawl = Account(self.clock)
        self.github = GithubAccount(now)
        self.reddit = RedditAccount(now)
        self.sink = Sink()
        self.redesigns = Redesigns()

    def add(self, fault: Fault) -> None:
        """Let ``fault`` happen from now on; of several that fit a request, the oldest happens."""
        with self._lock:
            self._faults.append(_Armed(fault, fault.times))

    def reset(self) -> None:
        """Forget all faults and counts, and everything the fakes remember."""
        with self._lock:
            self._faults.clear()
            self._requests.clear()
            self._peak = self._in_flight
        memories = (self.sessions, self.tokens, self.revisions, self.rate_limits, self.flakes, self.sink)
        for memory in (
            *memories,
            self.redesigns,
            self.feeds,
            self.firecrawl,
            self.github,
            self.reddit,
            self.clock,
        ):
            memory.reset()

    def stats(self) -> dict[str, JSONValue]:
        """Return what was asked, and what waits.

        ``requests`` by path with query, their ``total``, ``peak_in_flight``, ``faults_waiting``, and the
        ``credits`` spent at Firecrawl.
        """
        with self._lock:
            return {
                "requests": dict(sorted(self._requests.items())),
                "total": self._requests.total(),
                "peak_in_flight": self._peak,
                "faults_waiting": len(self._faults),
                "credits": self.firecrawl.credits,
            }

    @contextmanager
    def request(self, path: str, query: str) -> Iterator[Fault | None]:
        """Count a request while it is answered, and say what goes wrong with it."""
        with self._lock:
            self._requests[f"{path}?{query}" if query else path] += 1
            self._in_flight += 1
            self._peak = max(self._peak, self._in_flight)
            fault = self._take(path)
        try:
            yield fault
        finally:
            with self._lock:
                self._in_flight -= 1

    def _take(self, path: str) -> Fault | None:
        armed = next((one for one in self._faults if fnmatchcase(path, one.fault.path)), None)
        if armed is None:
            return None
        if armed.left is not None:
            armed.left -= 1
            if armed.left == 0:
                self._faults.remove(armed)
        return armed.fault
