"""The transport over aiohttp. Loaded when a fetcher is opened; its types stay in here."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from contextvars import ContextVar
from functools import partial
from types import TracebackType
from typing import Any, Self

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from yarl import URL

from agentic.core.http.errors import PROXY, FailureClass, FetchError, PrivateAddressError
from agentic.core.http.guard.addresses import AddressGuard
from agentic.core.http.messages import Headers, HttpRequest, HttpResponse
from agentic.core.http.policy import HttpPolicy
from agentic.core.http.transports.bodies import BodyReader
from agentic.core.http.transports.mending import MAX_HEAD_BYTES, AnswerMender, lack_of, one_line
from agentic.core.http.transports.port import NO_LOGIN, NO_PROXY, NO_PROXY_NAME, PROXY_LOGIN
from agentic.core.http.transports.wire import DNS_KEPT_S, checked_url, usual_headers, wire_headers
from agentic.core.http.urls import host_of, without_credentials

MAX_HEADERS = 500
CUT_OFF = "the connection ended before the end of the body"
# The first match counts; all others broke the connection. {0} is the exception, {1} the time limit, {2} its
# message, {3} the reason that the system gives.
FAULTS: tuple[tuple[type[Exception], FailureClass, str], ...] = (
    (PrivateAddressError, FailureClass.PRIVATE_ADDRESS, "{0}"),
    (TimeoutError, FailureClass.TIMEOUT, "no complete answer within {1:.3g} s"),
    (aiohttp.InvalidURL, FailureClass.INVALID_URL, "it is malformed"),
    (
        aiohttp.ClientConnectorDNSError,
        FailureClass.DNS,
        "its name cannot be resolved ({0.strerror}); check its spelling",
    ),
    (
        aiohttp.ClientHttpProxyError,
        FailureClass.CONNECT,
        "the proxy refused with status {0.status}",
    ),
    (aiohttp.ClientSSLError, FailureClass.TLS, "no secure connection: {0}"),
    (
        aiohttp.ClientConnectorError,
        FailureClass.CONNECT,
        "no connection ({3}); check the address, and that the site is up",
    ),
    (aiohttp.ClientPayloadError, FailureClass.CONNECT, CUT_OFF),
    # Its text is the part of the answer that came.
    (
        aiohttp.ServerDisconnectedError,
        FailureClass.CONNECT,
        "the connection ended before the end of the answer",
    ),
    (aiohttp.ClientResponseError, FailureClass.DECODE, "the answer is not valid HTTP (aiohttp: {2})"),
)


class AiohttpTransport:
    """Implements :class:`~agentic.core.http.Transport`; use it with ``async with``.

    The fetcher limits the connections per host, so that waiting for one does not count as time of the
    server.
    """

    def __init__(self, policy: HttpPolicy) -> None:
        self._user_agent = policy.user_agent
        self._guard = AddressGuard(policy.allow_private_hosts)
        self._proxy = policy.proxy.get_secret_value() if policy.proxy else None
        # With a proxy, only the proxy's name is resolved, and the user chose it.
        resolving = AddressGuard([host_of(self._proxy)]) if self._proxy else self._guard
        connector = aiohttp.TCPConnector(
            resolver=_GuardedResolver(resolving), limit=0, ttl_dns_cache=int(DNS_KEPT_S)
        )
        # The library has no public way to replace what reads an answer; the transport contract tests this.
        reader: type[ResponseHandler] = _LenientHandler
        vars(connector)["_factory"] = partial(reader, loop=asyncio.get_running_loop())
        self._session = aiohttp.ClientSession(
            max_line_size=MAX_HEAD_BYTES,
            max_field_size=MAX_HEAD_BYTES,
            max_headers=MAX_HEADERS,
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            headers=usual_headers(policy.user_agent),
            trust_env=False,
            timeout=aiohttp.ClientTimeout(total=None),  # `send` keeps the time, with a single timer
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
        """See :meth:`Transport.send`."""
        started = time.monotonic()
        try:
            url = checked_url(request.url, self._guard, is_proxied=self._proxy is not None)
            names_somebody = bool(url.user or url.password)
            _SOURCE.set(request.url)
            is_usual = not (request.headers or names_somebody)
            async with asyncio.timeout(timeout_s):
                answer = await self._session.request(
                    request.method,
                    url.with_user(None) if names_somebody else url,
                    headers=None if is_usual else wire_headers(request, url, self._user_agent),
                    data=request.body,
                    allow_redirects=False,
                    proxy=URL(self._proxy) if self._proxy else None,
                )
                try:
                    body = await _read(answer, request, max_bytes)
                finally:
                    # A complete answer has already returned its connection.
                    if not answer.closed or request.body is not None:
                        answer.release()
                        await answer.wait_for_close()
                return HttpResponse(
                    url=without_credentials(request.url),
                    status=answer.status,
                    headers=Headers(answer.headers.items()),
                    body=body,
                    elapsed_s=time.monotonic() - started,
                    set_cookies=tuple(answer.headers.getall("Set-Cookie", ())),
                )
        except (aiohttp.ClientError, TimeoutError, OSError, PrivateAddressError) as exc:
            raise _translated(exc, request.url, timeout_s, is_proxied=self._proxy is not None) from exc


_SOURCE: ContextVar[str] = ContextVar("source", default="")
"""URL of the request that is sent in this context."""


class _LenientHandler(ResponseHandler):
    """Reads answers that browsers accept, too."""

    _mender: AnswerMender | None = None

    def set_response_params(self, **params: Any) -> None:  # noqa: ANN401 - as of aiohttp
        self._mender = AnswerMender(_SOURCE.get(), has_body=not params.get("skip_payload"))
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        mender = self._mender
        # Without data, the library asks to continue with a part that it has.
        if mender is not None and data:
            data = mender.feed(data)
            if mender.has_excess:
                self.force_close()
            if not data:
                return
        super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._mender is not None and (rest := self._mender.flush()):
            super().data_received(rest)
        super().connection_lost(exc)


class _GuardedResolver(AbstractResolver):
    """Returns only allowed addresses, and aiohttp connects to no others."""

    def __init__(self, guard: AddressGuard) -> None:
        self._guard = guard
        self._resolver = aiohttp.DefaultResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._resolver.resolve(host, port, family)
        admitted = frozenset(self._guard.admit(host, port, [result["host"] for result in found]))
        return [result for result in found if result["host"] in admitted]

    async def close(self) -> None:
        await self._resolver.close()


async def _read(answer: aiohttp.ClientResponse, request: HttpRequest, max_bytes: int) -> bytes:
    """Read the body in pieces, and stop at the limit."""
    headers, url = answer.headers, request.url
    encoding = ", ".join(headers.getall("Content-Encoding", ()))
    content_type = headers.get("Content-Type", "")
    reader = BodyReader(url, answer.status, encoding, max_bytes, content_type, request.sink)
    content = answer.content
    try:
        while not content.at_eof():  # iteration would ask once more at its end
            reader.feed(await content.readany())
    except aiohttp.ClientPayloadError as exc:
        if (body := reader.cut_off(lack := lack_of(headers))) is None:
            raise FetchError(
                url, FailureClass.CONNECT, f"{CUT_OFF}: {lack} did not come", status=answer.status
            ) from exc
        return body
    return reader.whole()


def _translated(exc: Exception, url: str, timeout_s: float, *, is_proxied: bool) -> FetchError:
    if is_proxied and (fault := _proxy_fault(exc, url)):
        return FetchError(url, FailureClass.CONNECT, fault, detail=PROXY)
    for kind, failure_class, sentence in FAULTS:
        if isinstance(exc, kind):
            message = one_line(getattr(exc, "message", ""))
            return FetchError(url, failure_class, sentence.format(exc, timeout_s, message, _cause(exc)))
    return FetchError(url, FailureClass.CONNECT, f"no connection: {str(exc) or type(exc).__name__}")


def _cause(exc: Exception) -> str:
    """Return the reason of a fault of the system in its words: ``Connection refused``."""
    number = exc.errno if isinstance(exc, OSError) else None
    return os.strerror(number) if number else str(exc)


def _proxy_fault(exc: Exception, url: str) -> str:
    """Return the fault of the proxy, without its address; empty if it is another one."""
    match exc:
        case aiohttp.ClientConnectorDNSError():  # only the proxy is resolved here
            return NO_PROXY_NAME
        case aiohttp.ClientConnectorError() if exc.host != URL(url).host:
            reason = os.strerror(exc.errno) if exc.errno else type(exc.os_error).__name__
            return f"{NO_PROXY}: {reason}"
        case aiohttp.ClientProxyConnectionError():
            return NO_PROXY
        case aiohttp.ClientHttpProxyError() if exc.status == PROXY_LOGIN:
            return NO_LOGIN
        case _:
            return ""
