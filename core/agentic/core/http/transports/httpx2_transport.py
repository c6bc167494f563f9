"""The transport over httpx2's core. Loaded when a policy asks for it; its types stay in here."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Self, cast

import httpcore2
from yarl import URL

from agentic.core.http.errors import FailureClass, FetchError, PrivateAddressError
from agentic.core.http.guard.addresses import AddressGuard
from agentic.core.http.messages import Headers, HttpRequest, HttpResponse
from agentic.core.http.policy import HttpPolicy
from agentic.core.http.transports.bodies import BodyReader
from agentic.core.http.transports.wire import Resolver, checked_url, field_text, wire_headers
from agentic.core.http.urls import without_credentials

KEPT_IDLE_S = 30.0
# The first match counts. {0} is the exception, {1} the time limit.
FAULTS: tuple[tuple[type[BaseException], FailureClass, str], ...] = (
    (PrivateAddressError, FailureClass.PRIVATE_ADDRESS, "{0}"),
    (TimeoutError, FailureClass.TIMEOUT, "no complete answer within {1:.3g} s"),
    (socket.gaierror, FailureClass.DNS, "its name cannot be resolved ({0.strerror}); check its spelling"),
    (ssl.SSLError, FailureClass.TLS, "no secure connection: {0}"),
    (httpcore2.ProxyError, FailureClass.CONNECT, "the proxy refused: {0}"),
    (httpcore2.NetworkError, FailureClass.CONNECT, "no connection: {0}"),
)
CUT_OFF = ("disconnected without sending", "closed connection without sending complete")


class Httpx2Transport:
    """Implements :class:`~agentic.core.http.Transport`; use it with ``async with``.

    It uses the connection pool below httpx2's client, where addresses can be checked. The client would add
    redirects, cookies and the environment's proxies, which are unwanted here.
    """

    def __init__(self, policy: HttpPolicy) -> None:
        self._user_agent = policy.user_agent
        self._guard = AddressGuard(policy.allow_private_hosts)
        self._is_proxied = policy.proxy is not None
        self._pool = _pool(policy, self._guard)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._pool.aclose()

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
        """See :meth:`Transport.send`."""
        started = time.monotonic()
        try:
            url = checked_url(request.url, self._guard, is_proxied=self._is_proxied)
            async with (
                asyncio.timeout(timeout_s),
                self._pool.stream(
                    request.method,
                    _target(url),
                    headers=_fields(wire_headers(request, url, self._user_agent), url, request.body),
                    content=request.body,
                ) as answer,
            ):
                fields = [(field_text(name), field_text(value)) for name, value in answer.headers]
                headers = Headers(fields)
                return HttpResponse(
                    url=without_credentials(request.url),
                    status=answer.status,
                    headers=headers,
                    body=await _read(answer, request.url, headers.get("content-encoding", ""), max_bytes),
                    elapsed_s=time.monotonic() - started,
                    set_cookies=tuple(value for name, value in fields if name.lower() == "set-cookie"),
                )
        except (*_HTTPCORE_ERRORS, TimeoutError, OSError, PrivateAddressError) as exc:
            raise _translated(exc, request.url, timeout_s) from exc


_HTTPCORE_ERRORS = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpcore2.TimeoutException,
    httpcore2.UnsupportedProtocol,
)


class _GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to the checked addresses; TLS still uses the host's name."""

    def __init__(self, guard: AddressGuard) -> None:
        self._resolver = Resolver(guard)
        # The library has two classes of that name; one is an empty stub for when anyio is missing.
        self._backend = cast(httpcore2.AsyncNetworkBackend, httpcore2.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the port's
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        *first, last = await self._resolver.addresses(host, port)
        for address in first:
            try:
                return await self._backend.connect_tcp(address, port, timeout, local_address, socket_options)
            except httpcore2.ConnectError:
                continue
        return await self._backend.connect_tcp(last, port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        await self._backend.sleep(seconds)


def _pool(policy: HttpPolicy, guard: AddressGuard) -> httpcore2.AsyncConnectionPool:
    if policy.proxy is None:
        return httpcore2.AsyncConnectionPool(
            max_connections=None,
            keepalive_expiry=KEPT_IDLE_S,
            network_backend=_GuardedBackend(guard),
        )
    proxy = URL(policy.proxy.get_secret_value())
    auth = (proxy.user or "", proxy.password or "") if proxy.user else None
    target = str(proxy.with_user(None).origin())
    return httpcore2.AsyncHTTPProxy(target, auth, max_connections=None, keepalive_expiry=KEPT_IDLE_S)


def _target(url: URL) -> httpcore2.URL:
    return httpcore2.URL(
        scheme=url.scheme,
        host=url.raw_host or "",
        port=url.port,
        target=url.raw_path_qs or "/",
    )


def _fields(headers: dict[str, str], url: URL, body: bytes | None) -> list[tuple[bytes, bytes]]:
    own = {name.lower() for name in headers}
    found = list(headers.items())
    if "host" not in own:
        found.insert(0, ("Host", url.host_port_subcomponent or ""))
    if body is not None and "content-length" not in own:
        found.append(("Content-Length", str(len(body))))
    return [(name.encode("ascii"), value.encode("utf-8")) for name, value in found]


async def _read(answer: httpcore2.Response, url: str, encoding: str, max_bytes: int) -> bytes:
    reader = BodyReader(url, answer.status, encoding, max_bytes)
    async for chunk in answer.aiter_stream():
        reader.feed(chunk)
    return reader.whole()


def _translated(exc: Exception, url: str, timeout_s: float) -> FetchError:
    # Faults in TLS or the socket are in the causes of the library's own exception.
    causes = [exc, *_causes(exc)]
    for kind, failure_class, sentence in FAULTS:
        if told := next((cause for cause in causes if isinstance(cause, kind)), None):
            return FetchError(url, failure_class, sentence.format(told, timeout_s))
    if any(sign in str(exc) for sign in CUT_OFF):
        reason = "the connection ended before the end of the answer"
        return FetchError(url, FailureClass.CONNECT, reason)
    return FetchError(url, FailureClass.DECODE, "the answer is not valid HTTP")


def _causes(exc: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    while (cause := exc.__cause__ or exc.__context__) is not None and len(found) < 10:
        found.append(cause)
        exc = cause
    return found
