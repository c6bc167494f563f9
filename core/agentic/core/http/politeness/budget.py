"""When a host may be requested again.

Each client has its own interval. Between two turns is the shorter interval of the two clients, so no client
waits longer than its own interval because another one is slower. The host's own ``Retry-After`` is added.
Decisions are plain functions of a clock; :class:`~agentic.core.http.Fetcher` does the waiting.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf
from threading import Lock
from typing import Protocol, runtime_checkable

from agentic.core.http.errors import HttpError
from agentic.core.records import record

MAX_HOSTS = 10_000  # above this, hosts without a wait are forgotten


@record
class HostTimes:
    """The times of a host, in seconds of a monotonic clock.

    Attributes:
        turns: Interval -> last turn of a client with that interval; the longest interval first. A turn that
            a later one with a longer interval covers is omitted. There are few: each interval is longer than
            all intervals after it together.
        blocked_until: End of the host's own ``Retry-After``.
    """

    turns: tuple[tuple[float, float], ...] = ()
    blocked_until: float = 0.0

    def due_at(self, interval_s: float) -> float:
        """Return when a client with that interval may send its next request."""
        due_at = self.blocked_until
        for other_s, taken_at in self.turns:
            due_at = max(due_at, taken_at + min(other_s, interval_s))
        return due_at


def after_request(times: HostTimes, now: float, interval_s: float) -> HostTimes:
    """Return the times after a request at ``now`` of a client with that interval."""
    kept = [(other_s, at) for other_s, at in times.turns if other_s > interval_s and at + other_s > now]
    return HostTimes(turns=(*kept, (interval_s, now)), blocked_until=times.blocked_until)


def after_refusal(times: HostTimes, now: float, retry_after_s: float) -> HostTimes:
    """Return the times after the host asked for ``retry_after_s``; a longer block stays."""
    return replace(times, blocked_until=max(times.blocked_until, now + retry_after_s))


def still_waiting(times: Mapping[str, HostTimes], now: float) -> dict[str, HostTimes]:
    """Return the hosts that may still have to wait; the others can be forgotten."""
    return {host: kept for host, kept in times.items() if kept.due_at(inf) > now}


@record
class Turn:
    """The answer to a client that wants a turn.

    Attributes:
        wait_s: 0: the turn is taken, send now. Otherwise the seconds to wait before asking for a turn again.
        blocked_s: For how many more seconds the host is blocked; at most ``wait_s``.
    """

    wait_s: float = 0.0
    blocked_s: float = 0.0


TAKEN = Turn()


class BudgetUnavailableError(HttpError, ConnectionError):
    """The server of the budget is unavailable.

    Attributes:
        server: Its URL, without a password.
        down_s: For how many seconds it has not answered.
    """

    def __init__(self, server: str, down_s: float, reason: str) -> None:
        super().__init__(
            f"the host budget in {server} has not answered for {down_s:.0f} s ({reason}); "
            f"start that server, or correct its URL"
        )
        self.server = server
        self.down_s = down_s


class HostBudget(Protocol):
    """Keeps when each host may be requested again, for all its clients.

    Between two turns of a host is the shorter interval of the two clients: a slow client delays another by at
    most the other's own interval. A block allows no turn, and of two blocks the one that ends later
    counts.
    """

    async def take(self, host: str, interval_s: float) -> Turn:
        """Take a turn if one is due, otherwise return how long to wait.

        Args:
            host: ``host:port``.
            interval_s: The client's seconds between two turns; 0 for none.

        Raises:
            BudgetUnavailableError: The times are unknown; do not send to the host.
        """
        ...

    async def block(self, host: str, seconds: float) -> None:
        """Block all turns at ``host`` for that time.

        Raises:
            BudgetUnavailableError: The other clients do not know it.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections of this event loop; the next turn opens new ones."""
        ...


@runtime_checkable
class InstantBudget(HostBudget, Protocol):
    """A budget that answers without waiting."""

    def take_now(self, host: str, interval_s: float) -> Turn:
        """Like :meth:`HostBudget.take`, at once."""
        ...


class ProcessBudget:
    """Implements :class:`InstantBudget` for all fetchers of this process; thread-safe.

    Args:
        clock: Monotonic seconds.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: dict[str, HostTimes] = {}
        self._room = MAX_HOSTS
        self._lock = Lock()

    async def take(self, host: str, interval_s: float) -> Turn:
        """See :meth:`HostBudget.take`."""
        return self.take_now(host, interval_s)

    def take_now(self, host: str, interval_s: float) -> Turn:
        """See :meth:`InstantBudget.take_now`."""
        with self._lock:
            times = self._times.get(host)
            if times is None and interval_s <= 0:
                return TAKEN
            now = self._clock()
            times = times or HostTimes()
            if (wait_s := times.due_at(interval_s) - now) > 0:
                return Turn(wait_s, max(times.blocked_until - now, 0.0))
            if interval_s > 0:
                self._put(host, after_request(times, now, interval_s), now)
            return TAKEN

    async def block(self, host: str, seconds: float) -> None:
        """See :meth:`HostBudget.block`."""
        with self._lock:
            now = self._clock()
            self._put(host, after_refusal(self._times.get(host, HostTimes()), now, seconds), now)

    async def aclose(self) -> None:
        """Do nothing: nothing is open."""

    def _put(self, host: str, times: HostTimes, now: float) -> None:
        if len(self._times) >= self._room:
            self._times = still_waiting(self._times, now)
            # If all of them still wait, checking them with each request would take longer and longer.
            self._room = max(MAX_HOSTS, 2 * len(self._times))
        self._times[host] = times


class AccountBudget:
    """Implements :class:`HostBudget` for one account of services with limits per account, out of ``budget``.

    Different accounts do not wait for each other's limits.

    Args:
        budget: Keeps the times.
        account: A name of the account that is not secret.
    """

    def __init__(self, budget: HostBudget, account: str) -> None:
        self._budget = budget
        self._account = account

    async def take(self, host: str, interval_s: float) -> Turn:
        """See :meth:`HostBudget.take`."""
        return await self._budget.take(self._named(host), interval_s)

    async def block(self, host: str, seconds: float) -> None:
        """See :meth:`HostBudget.block`."""
        await self._budget.block(self._named(host), seconds)

    async def aclose(self) -> None:
        """See :meth:`HostBudget.aclose`."""
        await self._budget.aclose()

    def _named(self, host: str) -> str:
        return f"{host} {self._account}"


PROCESS_BUDGET = ProcessBudget()


def is_shareable(url: str) -> bool:
    """Whether a URL names a server that can keep a budget for several processes."""
    return url.startswith(("redis://", "rediss://", "unix://"))
