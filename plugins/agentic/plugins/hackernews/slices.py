"""Reads more hits than Algolia returns per search: in slices of time, the newest first.

Each slice returns its newest hits, 1,000 at most. The next slice ends with the second of the oldest hit. That
second may have more hits than were seen, so some hits come twice and are recognised by their ids. See
https://github.com/algolia/hn-search/issues/230.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agentic.plugins.hackernews.settings import SEARCH_LIMIT


@dataclass(frozen=True, slots=True)
class Window:
    """A slice of time in seconds since the epoch, both ends included; None: unlimited."""

    since: int | None = None
    until: int | None = None

    def filters(self) -> list[str]:
        """Return it as numeric filters of Algolia."""
        first = [] if self.since is None else [f"created_at_i>={self.since}"]
        return first if self.until is None else [*first, f"created_at_i<={self.until}"]


@dataclass(frozen=True, slots=True)
class Moment:
    """Id and time of a hit."""

    id: str
    time: int


class Sweep:
    """Determines the next slice and the new hits, without requests.

    Attributes:
        window: The slice to read; None at the end.
        lost_count: Unreachable hits, because one second has more than a slice returns.

    Args:
        since: First second wanted.
        until: Last second wanted.
        most: Maximum hits per slice.
    """

    def __init__(
        self, since: int | None = None, until: int | None = None, *, most: int = SEARCH_LIMIT
    ) -> None:
        self.window: Window | None = Window(since, until)
        self.lost_count = 0
        self._most = most
        self._seen: set[str] = set()
        self._expected: int | None = None

    def fresh(self, moments: Iterable[Moment]) -> list[bool]:
        """Return for each hit whether it is new."""
        found = []
        for moment in moments:
            found.append(moment.id not in self._seen)
            self._seen.add(moment.id)
        return found

    def advance(self, moments: Sequence[Moment], total: int) -> None:
        """Continue with the next slice.

        Args:
            moments: All hits read from this one.
            total: Its total number of hits.
        """
        window = self.window or Window()
        if self._expected is not None:
            self.lost_count += max(self._expected - total, 0)
            self._expected = None
        if len(moments) < self._most or total <= len(moments):
            self.window = None
            return
        oldest = min(moment.time for moment in moments)
        if oldest == window.until:  # one second fills the slice: the rest of it is unreachable
            oldest -= 1
            self._expected = total - len(moments)
        if window.since is not None and oldest < window.since:
            self.lost_count += self._expected or 0
            self.window = None
            return
        self.window = Window(window.since, oldest)
