"""Waits until a host may be requested: for a connection, for its turn, and for the end of a block.

``max_wait_s`` limits the wait of the first request in line. The requests behind it wait for their own
fetcher, and each of these waits is limited, too: a slow crawl fails none of its pages by its own rate.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Protocol, TypeVar
from weakref import WeakValueDictionary

from agentic.core.http.errors import FailureClass, FetchError
from agentic.core.http.policy import HttpPolicy
from agentic.core.http.politeness.budget import BudgetUnavailableError, HostBudget, InstantBudget, Turn
from agentic.core.http.politeness.slots import idle
from agentic.core.http.urls import host_of
from agentic.core.logging import get_logger

log = get_logger(__name__)

T = TypeVar("T")


class ResourceOf(Protocol):
    """Returns the part of a host that a URL belongs to, if the host has a limit for each part."""

    def __call__(self, url: str, /) -> str:
        """Return its name; "" if the limit is for the whole host."""
        ...


RESOURCE = "resource"
"""``detail`` of a failure by the limit of one part of a host."""

RATE = "rate"
"""``detail`` of a failure by the rate of the policy."""

GiveWay = Callable[[str, float], bool]
"""Takes a blocked host and the seconds of its block; returns whether not to wait for it."""


class GaveWayError(Exception):
    """The host is blocked, and another proxy is free. Never leaves the fetcher."""


FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0


class HostTurns:
    """The turns of one fetcher, under a budget that it may share with others.

    Args:
        policy: Limits for connections, rate and waits.
        budget: When each host may be requested again.
        sleep: Waits a number of seconds.
        resource_of: The part of a host that a URL belongs to, if the host has a limit for each.
        proxy_id: The proxy, if it is one of several; by default, the one in the policy.
    """

    def __init__(
        self,
        policy: HttpPolicy,
        budget: HostBudget,
        sleep: Callable[[float], Awaitable[None]],
        resource_of: ResourceOf | None = None,
        *,
        proxy_id: str = "",
    ) -> None:
        self._resource_of = resource_of
        self._policy = policy
        self._budget = budget
        self._take_now = budget.take_now if isinstance(budget, InstantBudget) else None
        self._sleep = sleep
        self._interval_s = 1 / policy.requests_per_second if policy.requests_per_second else 0.0
        # A proxy's answer is not the host's: it counts only for clients of that proxy.
        proxy_id = proxy_id or policy.proxy_id
        self._through = f" through {proxy_id}" if proxy_id else ""
        # A lane is forgotten with its last request: a crawl of 100,000 hosts keeps none of them.
        self._lanes: WeakValueDictionary[str, _Lane] = WeakValueDictionary()

    async def begin(self, url: str, delay_s: float, give_way: GiveWay | None = None) -> Callable[[], None]:
        """Wait for one of the host's connections and for its turn.

        Args:
            url: The URL to request.
            delay_s: The site's seconds between two requests; the policy may require more.
            give_way: Asked before a wait for the end of a block.

        Returns:
            A function that returns the connection; call it when the answer is there.

        Raises:
            FetchError: The wait would be too long (``rate_limited``).
            GaveWayError: ``give_way`` said so.
        """
        host = host_of(url)
        if (lane := self._lanes.get(host)) is None:
            lane = self._lanes[host] = _Lane(self._policy.max_connections_per_host)
        if resource := self._resource(url):
            await self._rest(resource, url)
        interval_s = max(self._interval_s, delay_s)
        if lane.slots.locked() or lane.gate.locked():  # others are before this one
            async with idle():
                await self._enter(host, lane, url, interval_s, give_way)
        elif self._take_now is not None and not self._take_now(host + self._through, interval_s).wait_s:
            await lane.slots.acquire()  # which is at once
        else:
            await self._enter(host, lane, url, interval_s, give_way)
        return lane.leave

    async def note(self, failure: FetchError, url: str) -> None:
        """Block the host of ``url`` for the time in ``failure``.

        If its ``detail`` is ``resource``, other parts of the host may still be requested.
        """
        if failure.failure_class != FailureClass.RATE_LIMITED or not failure.retry_after_s:
            return
        resource = self._resource(url) if failure.detail == RESOURCE else ""
        name = resource or host_of(url)
        log.info("host.blocked", host=name, status=failure.status, wait_s=failure.retry_after_s)
        await self.block(name, failure.retry_after_s)

    async def block(self, host: str, seconds: float) -> None:
        """Block ``host`` for that time; with a proxy, only for clients of that proxy."""
        # A late block ends late, which is safe.
        with suppress(BudgetUnavailableError):  # logged; and without the budget no request is sent
            await self._insist(partial(self._budget.block, host + self._through, seconds))

    async def _enter(
        self, host: str, lane: _Lane, url: str, interval_s: float, give_way: GiveWay | None
    ) -> None:
        """Wait in line; a ``Retry-After`` that arrives meanwhile also applies to waiting requests."""
        await lane.slots.acquire()
        try:
            async with lane.gate:
                await self._rest(host, url, interval_s, give_way)
        except BaseException:
            lane.slots.release()
            raise

    def _resource(self, url: str) -> str:
        resource = self._resource_of(url) if self._resource_of else ""
        return f"{host_of(url)} ({resource})" if resource else ""

    async def _rest(
        self, name: str, url: str, interval_s: float = 0.0, give_way: GiveWay | None = None
    ) -> None:
        """Wait until the turn of a host or of a part of it is taken, at most ``max_wait_s`` in total."""
        left_s = self._policy.max_wait_s
        while (turn := await self._take(name, url, interval_s)).wait_s > 0:
            if give_way is not None and turn.blocked_s > 0 and give_way(name, turn.blocked_s):
                raise GaveWayError
            if turn.wait_s > left_s:
                raise self._too_long(name, url, turn)
            left_s -= turn.wait_s
            async with idle(turn.wait_s):
                await self._sleep(turn.wait_s)

    async def _take(self, host: str, url: str, interval_s: float) -> Turn:
        try:
            return await self._insist(partial(self._budget.take, host + self._through, interval_s))
        except BudgetUnavailableError as exc:
            reason = f"{exc}; requests wait until it answers"
            raise FetchError(url, FailureClass.RATE_LIMITED, reason, detail="budget") from exc

    async def _insist(self, call: Callable[[], Awaitable[T]]) -> T:
        """Call until the budget is available, at most for the maximum wait for a host."""
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                return await call()
            except BudgetUnavailableError as exc:
                if exc.down_s + pause_s > self._policy.max_wait_s:
                    raise
            await self._sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _too_long(self, name: str, url: str, turn: Turn) -> FetchError:
        limit = f"max_wait_s ({self._policy.max_wait_s:g} s)"
        detail = "host" if name == host_of(url) else RESOURCE
        reason = f"{name} asked for a pause of {turn.blocked_s:.0f} s, more than {limit}; try again then"
        if turn.blocked_s < turn.wait_s:
            detail = RATE
            reason = (
                f"its turn comes in {turn.wait_s:.3g} s, so the total wait is longer than {limit}; raise "
                "max_wait_s, or requests_per_second (robots.txt may have a Crawl-delay, too)"
            )
        return FetchError(url, FailureClass.RATE_LIMITED, reason, retry_after_s=turn.wait_s, detail=detail)


class _Lane:
    """The requests to one host: a limited number at once, sent one after the other."""

    def __init__(self, width: int) -> None:
        self.slots = asyncio.Semaphore(width)
        self.gate = asyncio.Lock()

    def leave(self) -> None:
        """Return a slot."""
        self.slots.release()
