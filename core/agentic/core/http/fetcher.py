"""Fetches pages: politely to every host, within limits, never from private networks."""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from agentic.core.http.caching.cache import PROCESS_CACHE, HttpCache
from agentic.core.http.caching.revalidation import Revalidation
from agentic.core.http.errors import FailureClass, FetchError
from agentic.core.http.exits.pool import FAULTS, REFUSALS, Exit, Exits
from agentic.core.http.failures import Verdict, failure_of
from agentic.core.http.guard.addresses import AddressGuard
from agentic.core.http.messages import HttpRequest, HttpResponse
from agentic.core.http.policy import HttpPolicy
from agentic.core.http.politeness.budget import PROCESS_BUDGET, HostBudget
from agentic.core.http.politeness.robots import MAX_BYTES as ROBOTS_BYTES
from agentic.core.http.politeness.robots import RobotsGate
from agentic.core.http.politeness.slots import note_begun
from agentic.core.http.politeness.turns import GaveWayError, GiveWay, HostTurns, ResourceOf
from agentic.core.http.redirects import PERMANENT, next_request
from agentic.core.http.resolving import request_url
from agentic.core.http.sessions.credentials import learn_credentials, learn_session
from agentic.core.http.sessions.site_cookies import SiteCookies
from agentic.core.http.transports.choice import open_transport
from agentic.core.http.transports.port import Transport
from agentic.core.http.urls import host_of, without_credentials
from agentic.core.records import record

NO_ROBOTS = frozenset({404, 410})
"""A site without rules: usual, and no failure of an exit."""

ROBOTS_TRIES = 3
"""With several proxies, how many of them may ask for a robots.txt, if the first ones are refused."""


@asynccontextmanager
async def open_fetcher(
    policy: HttpPolicy | None = None,
    *,
    budget: HostBudget = PROCESS_BUDGET,
    cache: HttpCache = PROCESS_CACHE,
) -> AsyncIterator[Fetcher]:
    """Open a fetcher with its own connections; they are closed at the end of the ``async with``.

    Args:
        policy: Limits and politeness; the defaults when omitted.
        budget: When each host may be requested again; by default, shared by this process.
        cache: Keeps answers, if the policy allows it; by default, in this process.

    Raises:
        MissingTransportError: The policy's transport is not installed. With several proxies, the first fetch
            raises it.
    """
    chosen = policy or HttpPolicy()
    if chosen.proxies:
        exits = Exits(chosen)
        try:
            yield Fetcher(chosen, exits, budget=budget, cache=cache)
        finally:
            await exits.aclose()
        return
    async with open_transport(chosen) as transport:
        yield Fetcher(chosen, transport, budget=budget, cache=cache)


@dataclass(frozen=True, slots=True)
class Way:
    """The way of a fetch to the network; with several proxies, each is a way of its own.

    Attributes:
        transport: Sends single requests.
        turns: The turns of hosts on this way.
        kept: The cache of answers that came this way; None without a cache.
        exit: The proxy, if it is one of several.
    """

    transport: Transport
    turns: HostTurns
    kept: Revalidation | None = None
    exit: Exit | None = None


@record
class _Hop:
    """How one request of a fetch is sent."""

    robots: RobotsGate | None
    way: Way
    give_way: GiveWay | None
    timeout_s: float
    max_bytes: int
    is_secure: bool
    cookies: SiteCookies | None


class Fetcher:
    """Fetches URLs by the rules of one policy.

    A fetch checks robots.txt, waits for the host's turn, sends, and follows redirects; each hop is checked,
    delayed and limited like the first. Fetchers with the same ``budget`` share turns and ``Retry-After`` of a
    host; by default, all fetchers of this process.

    Attributes:
        policy: Limits and politeness.
        guard: The allowed addresses; for clients with their own connections, such as a browser.
        robots: The robots.txt rules of sites; available even if the policy ignores them.
        exits: The proxies, if the policy has several.

    Args:
        policy: Limits and politeness.
        transport: Sends single requests; for a policy with several proxies, the exits.
        budget: When each host may be requested again.
        cache: Keeps answers, if the policy allows it.
        verdict: Decides which answers are failures; for an API with its own rules.
        resource_of: The part of a host that a URL belongs to, if the host has a limit for each part.
        clock: Monotonic seconds, for robots.txt; a budget has its own.
        sleep: Waits a number of seconds.
    """

    def __init__(  # noqa: PLR0913 - all but two are for tests and for the rooms above
        self,
        policy: HttpPolicy,
        transport: Transport | Exits,
        *,
        budget: HostBudget = PROCESS_BUDGET,
        cache: HttpCache = PROCESS_CACHE,
        verdict: Verdict = failure_of,
        resource_of: ResourceOf | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.policy = policy
        self.guard = AddressGuard(policy.allow_private_hosts)
        self.exits = transport if isinstance(transport, Exits) else None
        self._budget = budget
        self._cache = cache
        self._sleep = sleep
        self._resource_of = resource_of
        self._verdict = verdict
        self._cookies: SiteCookies | None = None
        self._way = None if isinstance(transport, Exits) else self._new_way(transport)
        self._ways: dict[Exit, Way] = {}
        self.robots = RobotsGate(self._load_robots, policy.user_agent, clock)
        self._obeyed = self.robots if policy.obey_robots else None

    async def fetch(self, request: HttpRequest | str) -> HttpResponse:
        """Return the answer at the end of all redirects.

        Args:
            request: A URL means a GET of it.

        Returns:
            An answer with a status below 400.

        Raises:
            FetchError: It failed; ``failure_class`` says why. Nothing is retried here: the error policy of
                the caller does that.
        """
        asked = HttpRequest(url=request) if isinstance(request, str) else request
        if (written := request_url(asked.url)) != asked.url:
            asked = replace(asked, url=written)
        robots = self._obeyed if asked.obey_robots else None
        if self.exits is not None:
            return await self._fetch_through_exit(self.exits, asked, robots)
        way = self._way or self._way_of(None)
        response = await self._follow(asked, robots, way)
        await self._judge(asked, response, way)
        return response

    def with_cookies(self, cookies: SiteCookies) -> Fetcher:
        """Return a fetcher that keeps the cookies of sites in ``cookies``, if its policy allows it.

        It shares everything else with this one, which keeps them only during the redirects of one fetch.
        """
        found = copy.copy(self)
        found._cookies = cookies
        return found

    @asynccontextmanager
    async def turn(self, url: str, exit: Exit | None = None) -> AsyncIterator[None]:  # noqa: A002 - its name
        """Wait until ``url`` may be loaded without :meth:`fetch`, for example by a browser::

            async with fetcher.turn(url):
                await page.goto(url)

        Checks robots.txt and waits for one of the host's connections and for its turn; the connection is
        kept until the end of the ``async with``. Pass the answer to :meth:`judge`.

        Args:
            url: The URL to load.
            exit: The proxy that loads it, if it is one of several: from ``exits.choose``.

        Raises:
            FetchError: As from :meth:`fetch`, for faults before a page is loaded.
        """
        leave = await self._begin(url, self._obeyed, self._way_of(exit))
        note_begun()
        try:
            yield
        finally:
            leave()

    async def judge(
        self,
        request: HttpRequest,
        response: HttpResponse,
        exit: Exit | None = None,  # noqa: A002 - its name
    ) -> None:
        """Refuse an answer that is a failure, and block its host for as long as it asks.

        Args:
            request: The request.
            response: Its answer.
            exit: The proxy of the answer, if it is one of several. Without one, an answer to a policy with
                several proxies came another way, and blocks none of them.

        Raises:
            FetchError: It is a failure; ``failure_class`` says which.
        """
        if exit is not None or self._way is not None:
            await self._judge(request, response, self._way_of(exit))
        elif failure := self._verdict(request, response, datetime.now(UTC)):
            raise failure

    async def _judge(self, request: HttpRequest, response: HttpResponse, way: Way) -> None:
        if failure := self._verdict(request, response, datetime.now(UTC)):
            await self._note(failure, response, way)
            raise failure
        if way.exit is not None and self.exits is not None:
            self.exits.note_success(way.exit, response)

    async def _note(self, failure: FetchError, response: HttpResponse, way: Way) -> None:
        """Block the host that answered for as long as it asks, on this way."""
        await way.turns.note(failure, response.url)
        if way.exit is not None and self.exits is not None:
            self.exits.note_refusal(way.exit, failure, response)

    async def leave_alone(self, url: str, seconds: float) -> None:
        """Block the host of ``url`` for that time: the limit that its answers reported is used up.

        Requests to it wait, or fail with ``rate_limited`` if the wait is longer than ``max_wait_s``.
        """
        for way in (self._way,) if self._way is not None else tuple(self._ways.values()):
            await way.turns.block(host_of(url), seconds)

    def _new_way(self, transport: Transport, exit: Exit | None = None) -> Way:  # noqa: A002 - its name
        policy, caching = self.policy, self.policy.caching
        proxy_id = exit.id if exit is not None else policy.proxy_id
        kept = None
        if caching:
            kept = Revalidation(self._cache, caching, policy.user_agent, proxy_id=proxy_id)
        turns = HostTurns(policy, self._budget, self._sleep, self._resource_of, proxy_id=proxy_id)
        return Way(transport, turns, kept, exit)

    def _way_of(self, exit: Exit | None) -> Way:  # noqa: A002 - its name
        if exit is None:
            if self._way is None:
                raise ValueError("the policy has several proxies; pass one that exits.choose returned")
            return self._way
        if (way := self._ways.get(exit)) is None:
            if self.exits is not None and len(self._ways) > 2 * len(self.exits.all):  # the list has changed
                self._ways = {one: way for one, way in self._ways.items() if one in self.exits.all}
            way = self._ways[exit] = self._new_way(exit.transport, exit)
        return way

    async def _fetch_through_exit(
        self, exits: Exits, request: HttpRequest, robots: RobotsGate | None
    ) -> HttpResponse:
        """Fetch through the exit whose turn it is; its failures count for it."""
        while True:
            used = await exits.choose(request.url, request.session.name if request.session else None)
            way = self._way_of(used)
            # A login keeps its exit, and waits.
            give_way = partial(exits.give_way, used) if request.session is None else None
            try:
                response = await self._follow(request, robots, way, give_way=give_way)
            except GaveWayError:
                continue
            await self._judge(request, response, way)
            return response

    async def _follow(
        self,
        request: HttpRequest,
        robots: RobotsGate | None,
        way: Way,
        *,
        is_asked_for: bool = True,
        give_way: GiveWay | None = None,
    ) -> HttpResponse:
        is_secure = request.session is not None and request.url.lower().startswith("https:")
        left_s = request.timeout_s or self.policy.timeout_s
        moved_to, is_lasting = None, True
        cookies = (self._cookies or SiteCookies()) if self.policy.cookies else None
        if cookies is not None and way.exit is not None:
            cookies = cookies.through(way.exit.id)
        for _ in range(self.policy.max_redirects + 1):
            max_bytes = request.max_bytes or self.policy.max_bytes
            if not is_asked_for:  # a limit for pages does not make the rules of a site unreadable
                max_bytes = max(max_bytes, ROBOTS_BYTES)
            hop = _Hop(robots, way, give_way, max(left_s, 0.001), max_bytes, is_secure, cookies)
            if way.kept is not None and request.sink is None:
                response = await way.kept.exchange(request, partial(self._send, hop))
            else:
                response = await self._send(hop, request)
            if is_asked_for:
                note_begun()
            following = next_request(request, response)
            if following is None:
                return response if moved_to is None else replace(response, moved_to=moved_to)
            is_lasting = is_lasting and response.status in PERMANENT
            if is_lasting:
                moved_to = without_credentials(following.url)
            left_s -= response.elapsed_s
            request, give_way = following, None
        reason = (
            f"more than {self.policy.max_redirects} redirects lead to it; the site may redirect in a circle"
        )
        raise FetchError(request.url, FailureClass.TOO_MANY_REDIRECTS, reason)

    async def _load_robots(self, url: str) -> HttpResponse:
        asked = HttpRequest(url=url)
        if self.exits is not None:
            return await self._load_through_exits(self.exits, asked)
        way = self._way_of(None)
        response = await self._follow(asked, None, way, is_asked_for=False)
        if failure := failure_of(asked, response, datetime.now(UTC)):
            await self._note(failure, response, way)
        return response

    async def _load_through_exits(self, exits: Exits, request: HttpRequest) -> HttpResponse:
        """Load a robots.txt; an exit that is refused must not make the rules unknown for all others."""
        tries_left = ROBOTS_TRIES
        while True:
            tries_left -= 1
            used = await exits.choose(request.url)
            way = self._way_of(used)
            try:
                response = await self._follow(request, None, way, is_asked_for=False)
            except FetchError as exc:
                if tries_left and exc.failure_class in FAULTS and not exits.wait_s(request.url):
                    continue
                raise
            failure = failure_of(request, response, datetime.now(UTC))
            if failure is None or response.status in NO_ROBOTS:
                return response
            await self._note(failure, response, way)
            if not tries_left or failure.failure_class not in REFUSALS or exits.wait_s(request.url):
                return response

    async def _send(self, hop: _Hop, request: HttpRequest) -> HttpResponse:
        """Send one request with the headers and cookies for that URL, and keep the cookies that come."""
        dressed = _dressed(request, hop.cookies, is_secure=hop.is_secure)
        learn_credentials(dressed.headers)
        leave = await self._begin(request.url, hop.robots, hop.way, hop.give_way)
        try:
            response = await hop.way.transport.send(dressed, timeout_s=hop.timeout_s, max_bytes=hop.max_bytes)
        finally:
            leave()
        if request.session is not None:
            request.session.cookies.store(request.url, response.set_cookies)
        elif hop.cookies is not None and response.set_cookies:
            hop.cookies.store(request.url, response.set_cookies)
        return response

    async def _begin(
        self, url: str, robots: RobotsGate | None, way: Way, give_way: GiveWay | None = None
    ) -> Callable[[], None]:
        """Wait until ``url`` may be requested; return a function that ends the turn."""
        delay_s = await robots.check(url) if robots else 0.0
        return await way.turns.begin(url, delay_s, give_way)


def _dressed(request: HttpRequest, cookies: SiteCookies | None, *, is_secure: bool) -> HttpRequest:
    """Return the request with the fields of its session, or the cookies of its site; its own fields stay."""
    if request.session is None:
        header = None if cookies is None else cookies.header_for(request.url)
        if header is None or any(name.lower() == "cookie" for name in request.headers):
            return request
        return replace(request, headers={**request.headers, "cookie": header})
    learn_session(request.session)
    own = {name.lower(): value for name, value in request.headers.items()}
    found = request.session.headers_for(request.url, is_secure=is_secure)
    return replace(request, headers=found | own)
