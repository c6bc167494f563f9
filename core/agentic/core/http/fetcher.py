"""Fetches pages: politely to every host, within limits, never into the own network."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from weakref import WeakValueDictionary

from agentic.core.http.budget import PROCESS_BUDGET, HostBudget
from agentic.core.http.errors import FailureClass, FetchError
from agentic.core.http.failures import failure_of
from agentic.core.http.messages import HttpRequest, HttpResponse
from agentic.core.http.policy import HttpPolicy
from agentic.core.http.redirects import next_request
from agentic.core.http.robots import RobotsGate
from agentic.core.http.transport import Transport
from agentic.core.http.urls import host_of
from agentic.core.logging import get_logger

log = get_logger(__name__)


@asynccontextmanager
async def open_fetcher(policy: HttpPolicy | None = None) -> AsyncIterator[Fetcher]:
    """Open a fetcher with connections of its own; they are closed at the end of the ``async with``.

    Args:
        policy: Limits and manners; the defaults when omitted.
    """
    from agentic.core.http.aiohttp_transport import AiohttpTransport  # loaded when used

    chosen = policy or HttpPolicy()
    async with AiohttpTransport(chosen) as transport:
        yield Fetcher(chosen, transport)


class Fetcher:
    """Fetches URLs by the rules of one policy.

    A fetch asks robots.txt, waits for the host's turn, sends, and follows redirects; each hop is checked,
    waited for and limited like the first. Turns and ``Retry-After`` of a host are shared by all fetchers that
    share ``budget``; unless told otherwise, those of this process.

    Args:
        policy: Limits and manners.
        transport: Sends single requests.
        budget: When each host may be asked again.
        clock: Monotonic seconds.
        sleep: Waits that many seconds.
    """

    def __init__(
        self,
        policy: HttpPolicy,
        transport: Transport,
        *,
        budget: HostBudget = PROCESS_BUDGET,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.policy = policy
        self._transport = transport
        self._budget = budget
        self._clock = clock
        self._sleep = sleep
        self._robots = RobotsGate(self._load_robots, policy.user_agent, clock) if policy.obey_robots else None
        self._interval_s = 1 / policy.requests_per_second if policy.requests_per_second else 0.0
        # A lane is forgotten with its last request: a crawl of 100,000 hosts keeps none of them.
        self._lanes: WeakValueDictionary[str, _Lane] = WeakValueDictionary()

    async def fetch(self, request: HttpRequest | str) -> HttpResponse:
        """Return the answer at the end of all redirects.

        Args:
            request: A URL is short for a GET of it.

        Returns:
            An answer with a status below 400.

        Raises:
            FetchError: There is none; ``failure_class`` says why. Nothing is retried here: that is for the
                error policy of whoever asks.
        """
        asked = HttpRequest(url=request) if isinstance(request, str) else request
        response = await self._follow(asked, self._robots)
        if failure := failure_of(asked, response, datetime.now(UTC)):
            raise failure
        return response

    async def _follow(self, request: HttpRequest, robots: RobotsGate | None) -> HttpResponse:
        left_s = request.timeout_s or self.policy.timeout_s
        for _ in range(self.policy.max_redirects + 1):
            delay_s = await robots.check(request.url) if robots else 0.0
            response = await self._exchange(request, max(left_s, 0.001), delay_s)
            following = next_request(request, response)
            if following is None:
                return response
            left_s -= response.elapsed_s
            request = following
        reason = (
            f"more than {self.policy.max_redirects} redirects lead to it; the site may go round in circles"
        )
        raise FetchError(request.url, FailureClass.TOO_MANY_REDIRECTS, reason)

    async def _load_robots(self, url: str) -> HttpResponse:
        return await self._follow(HttpRequest(url=url), robots=None)

    async def _exchange(self, request: HttpRequest, timeout_s: float, delay_s: float) -> HttpResponse:
        """Send one request when it is the host's turn, and note what the host says about the next."""
        host = host_of(request.url)
        lane = self._lanes.setdefault(host, _Lane(self.policy.max_connections_per_host))
        async with lane.slots:
            await self._wait_for_turn(host, lane, request.url, max(self._interval_s, delay_s))
            response = await self._transport.send(
                request, timeout_s=timeout_s, max_bytes=self.policy.max_bytes
            )
        self._note_refusal(host, request, response)
        return response

    async def _wait_for_turn(self, host: str, lane: _Lane, url: str, interval_s: float) -> None:
        """Wait in line; a ``Retry-After`` that arrives meanwhile holds for those who wait already."""
        async with lane.gate:
            while (wait_s := self._budget.take(host, self._clock(), interval_s)) > 0:
                self._refuse_long_wait(host, url)
                await self._sleep(wait_s)

    def _refuse_long_wait(self, host: str, url: str) -> None:
        blocked_s = self._budget.blocked_for(host, self._clock())
        if blocked_s > self.policy.max_wait_s:
            reason = (
                f"{host} asked for {blocked_s:.0f} s of peace, more than max_wait_s "
                f"({self.policy.max_wait_s:g} s); try again then"
            )
            raise FetchError(url, FailureClass.RATE_LIMITED, reason, retry_after_s=blocked_s)

    def _note_refusal(self, host: str, request: HttpRequest, response: HttpResponse) -> None:
        failure = failure_of(request, response, datetime.now(UTC))
        if failure and failure.failure_class == FailureClass.RATE_LIMITED and failure.retry_after_s:
            self._budget.block(host, self._clock(), failure.retry_after_s)
            log.info("host.blocked", host=host, status=response.status, wait_s=failure.retry_after_s)


class _Lane:
    """The requests to one host: so many at once, leaving one after the other."""

    def __init__(self, width: int) -> None:
        self.slots = asyncio.Semaphore(width)
        self.gate = asyncio.Lock()
