"""When a host may be asked again.

The rate is a GCRA (generic cell rate algorithm, ITU-T I.371) that allows no burst: one request an interval.
On top comes what the host itself asked for with ``Retry-After``. Decisions are plain functions of the clock
handed in; :class:`~agentic.core.http.Fetcher` does the waiting.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from threading import Lock

MAX_HOSTS = 10_000  # beyond it, hosts with nothing to wait for are forgotten


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTimes:
    """Times on a monotonic clock, in seconds: next turn by our own rate, and end of the host's own wish."""

    next_at: float = 0.0
    blocked_until: float = 0.0

    def due_at(self) -> float:
        """Return when the next request may leave."""
        return max(self.next_at, self.blocked_until)


def after_request(times: HostTimes, now: float, interval_s: float) -> HostTimes:
    """Return the times once a request has left at ``now``: the next one is due an interval later."""
    return replace(times, next_at=max(times.next_at, now) + interval_s)


def after_refusal(times: HostTimes, now: float, retry_after_s: float) -> HostTimes:
    """Return the times once the host asked for ``retry_after_s`` of peace; a longer wish stands."""
    return replace(times, blocked_until=max(times.blocked_until, now + retry_after_s))


def still_waiting(times: Mapping[str, HostTimes], now: float) -> dict[str, HostTimes]:
    """Return the hosts that may not be asked yet; the others need not be remembered."""
    return {host: kept for host, kept in times.items() if kept.due_at() > now}


class HostBudget:
    """The times of every host, shared by all fetchers of a process; safe to use from several threads.

    ``now`` is always ``time.monotonic()``, or the test's clock.
    """

    def __init__(self) -> None:
        self._times: dict[str, HostTimes] = {}
        self._lock = Lock()

    def take(self, host: str, now: float, interval_s: float) -> float:
        """Take a turn if one is due and return 0; else return the seconds to wait before asking again."""
        with self._lock:
            times = self._times.get(host, HostTimes())
            if (wait_s := times.due_at() - now) > 0:
                return wait_s
            if interval_s > 0:
                self._put(host, after_request(times, now, interval_s), now)
            return 0.0

    def block(self, host: str, now: float, retry_after_s: float) -> None:
        """Let nobody ask ``host`` for ``retry_after_s``."""
        with self._lock:
            self._put(host, after_refusal(self._times.get(host, HostTimes()), now, retry_after_s), now)

    def blocked_for(self, host: str, now: float) -> float:
        """Return for how many more seconds ``host`` wants peace; 0 when it does not."""
        with self._lock:
            times = self._times.get(host)
        return max(times.blocked_until - now, 0.0) if times else 0.0

    def _put(self, host: str, times: HostTimes, now: float) -> None:
        if len(self._times) >= MAX_HOSTS:
            self._times = still_waiting(self._times, now)
        self._times[host] = times


PROCESS_BUDGET = HostBudget()
"""Used by every fetcher that is not given one of its own."""
