"""The exits of a fetcher: chooses one for each request, and remembers how it went."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import SecretStr

from agentic.core.errors import AgenticError
from agentic.core.http.errors import PROXY, PROXY_SUBJECT, FailureClass, FetchError, reason_in
from agentic.core.http.exits.health import DOUBTFUL_AFTER, Health, Order, Rest, choose, next_rest
from agentic.core.http.exits.listing import ExitSpec, list_exits
from agentic.core.http.exits.uses import ProxyUse, note_use
from agentic.core.http.messages import HttpRequest, HttpResponse
from agentic.core.http.policy import HttpPolicy
from agentic.core.http.politeness.slots import idle
from agentic.core.http.sessions.cookies import registered_domain
from agentic.core.http.transports.port import NO_LOGIN, PROXY_LOGIN, Transport
from agentic.core.http.transports.shared import ReadSecret, SharedTransport
from agentic.core.http.urls import host_of
from agentic.core.logging import get_logger
from agentic.core.types import JSONValue

log = get_logger(__name__)

READ_AGAIN_S = 60.0
"""A list in a secret is read again after this time: it may have changed."""

MAX_SESSIONS = 10_000
MAX_NEWS = 100
MAX_RETIRED = 1_000
MAX_SHOWN = 5
HOST = "host"
# These may be faults of the exit, or of the host.
FAULTS = frozenset({FailureClass.CONNECT, FailureClass.TIMEOUT, FailureClass.TLS, FailureClass.DECODE})
REFUSALS = frozenset({FailureClass.RATE_LIMITED, FailureClass.BLOCKED})


class ClosableTransport(Transport, Protocol):
    """A transport that opens its connections when they are needed."""

    async def aclose(self) -> None:
        """Close the connections."""
        ...


@dataclass(eq=False, slots=True, kw_only=True)
class Exit:
    """One exit, in use.

    Attributes:
        number: Its place in the list, from 1.
        id: Reveals nothing about the proxy.
        url: The proxy.
        policy: The policy with this proxy alone.
        transport: Sends requests through it, and notes how they went.
        opened: Its connections.
        health: Its rests.
        requests: Requests sent through it.
        failures: Failure class -> number.
        received_bytes: Size of all bodies, unpacked.
        last_failure: The last failure class; empty without one.
    """

    number: int
    id: str
    url: SecretStr = field(repr=False)
    policy: HttpPolicy = field(repr=False)
    transport: Transport = field(repr=False)
    opened: ClosableTransport = field(repr=False)
    health: Health = field(default_factory=Health, repr=False)
    requests: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    received_bytes: int = 0
    last_failure: str = ""

    @property
    def name(self) -> str:
        """Its name in messages."""
        return f"{PROXY_SUBJECT}{self.number} ({self.id})"


class Exits:
    """The exits of a policy; belongs to one event loop.

    Args:
        policy: Has ``proxies``.
        secret: Reads a secret by name.
        open_transport: Returns the transport for a policy with one proxy.
        clock: Monotonic seconds.
        sleep: Waits a number of seconds.
        draw: Returns a random number below its argument.
    """

    def __init__(
        self,
        policy: HttpPolicy,
        *,
        secret: ReadSecret | None = None,
        open_transport: Callable[[HttpPolicy], ClosableTransport] = SharedTransport,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        draw: Callable[[int], int] = random.randrange,
    ) -> None:
        self._policy = policy
        self._secret = secret
        self._open_transport = open_transport
        self._clock = clock
        self._sleep = sleep
        self._draw = draw
        self._exits: tuple[Exit, ...] = ()
        self._health: tuple[Health, ...] = ()
        self._order = Order((), policy.rotation, draw)
        self._read_at = 0.0
        self._reading = asyncio.Lock()
        self._sessions: OrderedDict[str, str] = OrderedDict()
        self._retired: list[Exit] = []
        self._news: list[tuple[str, str]] = []

    async def choose(self, url: str, session: str | None = None) -> Exit:
        """Return the exit for a request to ``url``; wait if all of them rest, at most ``max_wait_s``.

        Args:
            url: The URL to request.
            session: The name of a login: it keeps its exit until that is broken.

        Raises:
            FetchError: All exits rest for longer, with the failure class of the one that is free first.
            MissingProxyError: Secrets cannot be read.
            InvalidProxyError: A secret has no proxies, or a line that is not one.
        """
        left_s = self._policy.max_wait_s
        while True:
            await self._refresh()
            now = self._clock()
            host = host_of(url) if session is None else None
            order = (
                self._order.for_site(lambda: registered_domain(url))
                if session is None
                else (self._kept_first(session))
            )
            chosen = choose(self._health, order, host, now)
            found = self._exits[chosen.index]
            if not chosen.wait_s:
                self._order.used(chosen.index)
                if session is not None:
                    self._keep(session, found)
                return found
            if chosen.wait_s > left_s:
                raise self._all_rest(url, host, found, now)
            left_s -= chosen.wait_s
            async with idle(chosen.wait_s):
                await self._sleep(chosen.wait_s)

    def wait_s(self, url: str) -> float:
        """Return after how many seconds an exit is free for a request to ``url``."""
        return choose(self._health, range(len(self._exits)), host_of(url), self._clock()).wait_s

    @property
    def all(self) -> tuple[Exit, ...]:
        """The exits; none before the first choice."""
        return self._exits

    def begin(self, used: Exit) -> float:
        """Note a request; return its time, for :meth:`note_answer` and :meth:`note_failure`."""
        used.requests += 1
        note_use(ProxyUse(id=used.id, number=used.number, requests=1))
        return self._clock()

    def note_answer(self, used: Exit, sent_at: float, received_bytes: int) -> None:
        """Note that an answer came through an exit."""
        used.received_bytes += received_bytes
        note_use(ProxyUse(id=used.id, number=used.number, received_bytes=received_bytes))
        used.health.answered(sent_at)

    def note_success(self, used: Exit, response: HttpResponse) -> None:
        """Note that a host accepted a request."""
        if used.health.hosts:
            used.health.welcomed(host_of(response.url), self._clock() - response.elapsed_s)

    def note_refusal(self, used: Exit, failure: FetchError, response: HttpResponse) -> None:
        """Note that a host refused a request; if another exit is free, a retry need not wait."""
        self.note_failure(used, failure, response.url, self._clock() - response.elapsed_s)
        if failure.detail == HOST and not self.wait_s(response.url):
            failure.retry_after_s = None

    def note_failure(self, used: Exit, failure: FetchError, url: str, sent_at: float) -> None:
        """Note a failure, and rest the exit if it may be the cause."""
        word = failure.failure_class
        used.failures[word] += 1
        used.last_failure = word
        note_use(ProxyUse(id=used.id, number=used.number, failures=((str(word), 1),)))
        host = host_of(url)
        if failure.detail == PROXY:
            if failure.status is None:
                self._rest(used, None, failure, sent_at)
                return
            # Over http, a host could answer 407 itself: it must not switch off an exit for other hosts.
            self._rest(used, host, failure, sent_at)
            self._doubt(used, failure, sent_at)
        elif word in REFUSALS and (word == FailureClass.BLOCKED or failure.detail == HOST):
            self._rest(used, host, failure, sent_at, asked_s=failure.retry_after_s)
        elif word in FAULTS:
            self._rest(used, host, failure, sent_at, is_firm=False)
            self._doubt(used, failure, sent_at)

    def give_way(self, used: Exit, host: str, seconds: float) -> bool:
        """Note that other workers know of a block of ``host``; return whether another exit is free."""
        now = self._clock()
        earlier = used.health.earlier(host)
        until = max(now + seconds, earlier.until if earlier else 0.0)
        strikes = earlier.strikes if earlier else 0
        used.health.rest(host, Rest(now, until, strikes, FailureClass.RATE_LIMITED, True))
        return not choose(self._health, range(len(self._exits)), host, now).wait_s

    def take_news(self) -> Sequence[tuple[str, str]]:
        """Return the warnings since the last call: a subject, and a sentence."""
        if not self._news:
            return ()
        news, self._news = self._news, []
        return news

    def statistics(self) -> list[dict[str, JSONValue]]:
        """Return what went through each exit since this pool was made."""
        return [
            {
                "proxy": one.number,
                "id": one.id,
                "requests": one.requests,
                "failures": dict(one.failures),
                "received_bytes": one.received_bytes,
                "last_failure": one.last_failure,
            }
            for one in self._exits
        ]

    async def aclose(self) -> None:
        """Close all connections."""
        for one in self._exits:
            if one.requests:
                log.info(
                    "proxy.used",
                    proxy=one.number,
                    proxy_id=one.id,
                    request_count=one.requests,
                    failures=dict(one.failures),
                    received_bytes=one.received_bytes,
                )
        await asyncio.gather(*(one.opened.aclose() for one in (*self._exits, *self._retired)))
        self._retired.clear()

    async def _refresh(self) -> None:
        if self._exits and self._clock() < self._read_at + READ_AGAIN_S:
            return
        async with self._reading:
            if self._exits and self._clock() < self._read_at + READ_AGAIN_S:
                return
            try:
                specs = await list_exits(self._policy, self._secret)
            except AgenticError as exc:
                # A list that is gone was revoked; other faults must not stop what works.
                if not self._exits or isinstance(exc, LookupError):
                    raise
                log.warning("proxies.unreadable", reason=str(exc))
                self._read_at = self._clock()
                return
            self._read_at = self._clock()
            if [(one.id, one.url) for one in self._exits] != [(spec.id, spec.url) for spec in specs]:
                self._replace(specs)

    def _replace(self, specs: Sequence[ExitSpec]) -> None:
        known = {(one.id, one.url): one for one in self._exits}
        found = []
        for number, spec in enumerate(specs, 1):
            one = known.pop((spec.id, spec.url), None) or self._opened(spec)
            one.number = number
            found.append(one)
        # Requests may still be under way; idle connections close by themselves.
        self._retired = [*known.values(), *self._retired][:MAX_RETIRED]
        self._exits = tuple(found)
        self._health = tuple(one.health for one in found)
        self._order = Order([one.id for one in found], self._policy.rotation, self._draw)

    def _opened(self, spec: ExitSpec) -> Exit:
        opened = self._open_transport(spec.policy)
        noting = _NotingTransport(self, opened)
        noting.exit = Exit(
            number=0, id=spec.id, url=spec.url, policy=spec.policy, transport=noting, opened=opened
        )
        return noting.exit

    def _kept_first(self, session: str) -> Sequence[int]:
        ranked = self._order.for_name(session)
        kept = self._sessions.get(session)
        place = next((index for index, one in enumerate(self._exits) if one.id == kept), None)
        return ranked if place is None or place == ranked[0] else (place, *ranked)

    def _keep(self, session: str, found: Exit) -> None:
        earlier = self._sessions.pop(session, None)
        self._sessions[session] = found.id
        if len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        if earlier is not None and earlier != found.id:
            log.warning("session.moved", session=session, proxy=found.number, proxy_id=found.id)
            sentence = f"the proxy of session {session!r} does not work; the session moved to {found.name}"
            self._note(f"{PROXY_SUBJECT}of session {session!r}", sentence)

    def _doubt(self, used: Exit, failure: FetchError, sent_at: float) -> None:
        used.health.failures += 1
        if used.health.failures >= DOUBTFUL_AFTER:
            self._rest(used, None, failure, sent_at, is_firm=False)

    def _rest(
        self,
        used: Exit,
        host: str | None,
        failure: FetchError,
        sent_at: float,
        *,
        is_firm: bool = True,
        asked_s: float | None = None,
    ) -> None:
        earlier, now = used.health.earlier(host), self._clock()
        rest = next_rest(
            earlier,
            sent_at=sent_at,
            now=now,
            failure_class=failure.failure_class,
            is_firm=is_firm,
            asked_s=asked_s,
        )
        used.health.rest(host, rest)
        if earlier is not None and rest.strikes == earlier.strikes:
            return
        if not rest.is_firm and host is not None:  # it may well be the host's own fault
            return
        log.warning(
            "proxy.rested",
            proxy=used.number,
            proxy_id=used.id,
            failure_class=failure.failure_class,
            wait_s=round(rest.until - now, 3),
            **({"host": host} if host else {}),
        )
        place = f"for {host} " if host else ""
        state = "rests" if rest.is_firm else "is avoided"
        sentence = f"{used.name} {state} {place}for {rest.until - now:.0f} s: {_reason(failure)}"
        self._note(used.name, sentence)

    def _note(self, subject: str, sentence: str) -> None:
        if len(self._news) < MAX_NEWS:
            self._news.append((subject, sentence))

    def _all_rest(self, url: str, host: str | None, soonest: Exit, now: float) -> FetchError:
        resting = [(one.health.rest_at(host, now), one) for one in self._exits]
        listed = [
            f"{one.name} {rest.until - now:.0f} s ({rest.failure_class})" for rest, one in resting if rest
        ]
        more = f" and {len(listed) - MAX_SHOWN} more" if len(listed) > MAX_SHOWN else ""
        rest = next(rest for rest, one in resting if rest and one is soonest)
        return FetchError(
            url,
            rest.failure_class,
            f"all proxies rest, longer than max_wait_s ({self._policy.max_wait_s:g} s): "
            f"{', '.join(listed[:MAX_SHOWN])}{more}; try again then, or add proxies",
            retry_after_s=rest.until - now,
            detail=PROXY,
        )


class _NotingTransport:
    """Sends requests through one exit, and notes how they went."""

    exit: Exit

    def __init__(self, exits: Exits, opened: Transport) -> None:
        self._exits = exits
        self._opened = opened

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
        """See :meth:`Transport.send`."""
        sent_at = self._exits.begin(self.exit)
        try:
            response = await self._opened.send(request, timeout_s=timeout_s, max_bytes=max_bytes)
            if response.status == PROXY_LOGIN and request.url.lower().startswith("http:"):
                raise FetchError(
                    request.url, FailureClass.CONNECT, NO_LOGIN, status=response.status, detail=PROXY
                )
        except FetchError as exc:
            self._exits.note_failure(self.exit, exc, request.url, sent_at)
            raise
        self._exits.note_answer(self.exit, sent_at, len(response.body))
        return response


def _reason(failure: FetchError) -> str:
    if failure.detail == PROXY:
        return reason_in(str(failure), failure.url)
    return f"{failure.failure_class}, status {failure.status}" if failure.status else failure.failure_class
