"""When a host may be asked again.

Each client asks with an interval of its own. Between two turns lies the shorter interval of the two clients,
so nobody waits for longer than its own interval because another client is slower. On top comes what the host
itself asked for with ``Retry-After``. Decisions are plain functions of a clock;
:class:`~agentic.core.http.Fetcher` does the waiting.
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

MAX_HOSTS = 10_000  # beyond it, hosts with nothing to wait for are forgotten


@record
class HostTimes:
    """What is known of a host, in seconds of a monotonic clock.

    Attributes:
        turns: Interval -> last turn of a client with that interval; the longest interval first. A turn that
            a later one with a longer interval covers is left out. There are few: each interval is longer than
            all behind it together.
        blocked_until: End of the host's own wish.
    """

    turns: tuple[tuple[float, float], ...] = ()
    blocked_until: float = 0.0

    def due_at(self, interval_s: float) -> float:
        """Return when the next request of a client with that interval may leave."""
        due_at = self.blocked_until
        for other_s, taken_at in self.turns:
            due_at = max(due_at, taken_at + min(other_s, interval_s))
        return due_at


def after_request(times: HostTimes, now: float, interval_s: float) -> HostTimes:
    """Return the times once a request of a client with that interval has left at ``now``."""
    kept = [(other_s, at) for other_s, at in times.turns if other_s > interval_s and at + other_s > now]
    return HostTimes(turns=(*kept, (interval_s, now)), blocked_until=times.blocked_until)


def after_refusal(times: HostTimes, now: float, retry_after_s: float) -> HostTimes:
    """Return the times once the host asked for ``retry_after_s`` of peace; a longer wish stands."""
    return replace(times, blocked_until=max(times.blocked_until, now + retry_after_s))


def still_waiting(times: Mapping[str, HostTimes], now: float) -> dict[str, HostTimes]:
    """Return the hosts that may have to wait still; the others need not be remembered."""
    return {host: kept for host, kept in times.items() if kept.due_at(inf) > now}


@record
class Turn:
    """The answer to whoever wants to ask a host.

    Attributes:
        wait_s: 0: the turn is taken, ask now. Else the seconds to wait before wanting a turn again.
        blocked_s: For how many more seconds the host wants peace; at most ``wait_s``.
    """

    wait_s: float = 0.0
    blocked_s: float = 0.0


TAKEN = Turn()


class BudgetUnavailableError(HttpError, ConnectionError):
    """Whoever keeps the budget cannot be asked.

    Attributes:
        server: Where it is, without a password.
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
    """Keeps when each host may be asked again, for all who share it.

    Between two turns of a host lies the shorter interval of the two that took them: a slow client delays no
    other by more than the other's own interval. Within a block there is no turn, and of two blocks the one
    that ends later stands.
    """

    async def take(self, host: str, interval_s: float) -> Turn:
        """Take a turn if one is due, else tell how long to wait.

        Args:
            host: ``host:port``.
            interval_s: Seconds that the one who asks wants between two turns; 0 for none.

        Raises:
            BudgetUnavailableError: Nobody knows; do not ask the host.
        """
        ...

    async def block(self, host: str, seconds: float) -> None:
        """Give nobody a turn at ``host`` for so long.

        Raises:
            BudgetUnavailableError: The others were not told.
        """
        ...

    async def aclose(self) -> None:
        """Close what this event loop has opened, if anything; the next turn opens it again."""
        ...


@runtime_checkable
class InstantBudget(HostBudget, Protocol):
    """A budget that need not ask anybody."""

    def take_now(self, host: str, interval_s: float) -> Turn:
        """Do as :meth:`HostBudget.take`, at once."""
        ...


class ProcessBudget:
    """Implements :class:`InstantBudget` for all fetchers of this process; safe to use from several threads.

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
        """Do nothing, as nothing is open."""

    def _put(self, host: str, times: HostTimes, now: float) -> None:
        if len(self._times) >= self._room:
            self._times = still_waiting(self._times, now)
            # Where they all wait still, to look through them with each request would take longer and longer.
            self._room = max(MAX_HOSTS, 2 * len(self._times))
        self._times[host] = times


class AccountBudget:
    """Implements :class:`HostBudget` for one account of services that count by account, out of ``budget``.

    Who asks as somebody else neither waits for its limits nor makes it wait.

    Args:
        budget: Keeps the times.
        account: A name of the account that is no secret.
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
