"""How more hits are read than Algolia gives of one search: slice by slice of time, from the newest on.

Of each slice come the newest hits, 1,000 at most. The next slice ends with the second of the oldest of them,
which may have more hits than were seen, so that some come twice and are known by their ids. See
https://github.com/algolia/hn-search/issues/230.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agentic.plugins.hackernews.settings import SEARCH_LIMIT


@dataclass(frozen=True, slots=True)
class Window:
    """A slice of time in seconds since the epoch, both ends included; None is without end."""

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
    """Says which slice comes next, and which hits are new. It asks nobody.

    Attributes:
        window: The slice to read; None when there is none left.
        lost_count: Hits that cannot be had, as one second has more than a slice gives.

    Args:
        since: First second wanted.
        until: Last second wanted.
        most: Hits that a slice gives.
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
        """Tell of each hit whether it comes for the first time."""
        found = []
        for moment in moments:
            found.append(moment.id not in self._seen)
            self._seen.add(moment.id)
        return found

    def advance(self, moments: Sequence[Moment], total: int) -> None:
        """Go on to the next slice.

        Args:
            moments: All that was read of this one.
            total: How many hits it has.
        """
        window = self.window or Window()
        if self._expected is not None:
            self.lost_count += max(self._expected - total, 0)
            self._expected = None
        if len(moments) < self._most or total <= len(moments):
            self.window = None
            return
        oldest = min(moment.time for moment in moments)
        if oldest == window.until:  # one second fills the slice: the rest of it stays out of reach
            oldest -= 1
            self._expected = total - len(moments)
        if window.since is not None and oldest < window.since:
            self.lost_count += self._expected or 0
            self.window = None
            return
        self.window = Window(window.since, oldest)
