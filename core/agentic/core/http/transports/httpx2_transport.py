"""The transport over httpx2's core. Loaded when a policy asks for it; its types stay in here."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Iterable
from contextvars import ContextVar
from types import TracebackType
from typing import Self, cast

import httpcore2
from yarl import URL

from agentic.core.http.errors import PROXY, FailureClass, FetchError, PrivateAddressError
from agentic.core.http.guard.addresses import AddressGuard
from agentic.core.http.messages import Headers, HttpRequest, HttpResponse
from agentic.core.http.policy import HttpPolicy
from agentic.core.http.transports.bodies import BodyReader
from agentic.core.http.transports.mending import AnswerMender, lack_of, one_line
from agentic.core.http.transports.port import NO_LOGIN, NO_PROXY, NO_PROXY_NAME, PROXY_LOGIN
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
            _SOURCE.set(request.url)
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
                    body=await _read(answer, request, headers, max_bytes),
                    elapsed_s=time.monotonic() - started,
                    set_cookies=tuple(value for name, value in fields if name.lower() == "set-cookie"),
                )
        except (*_HTTPCORE_ERRORS, TimeoutError, OSError, PrivateAddressError) as exc:
            raise _translated(exc, request.url, timeout_s, is_proxied=self._is_proxied) from exc


_HTTPCORE_ERRORS = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpcore2.TimeoutException,
    httpcore2.UnsupportedProtocol,
)


_SOURCE: ContextVar[str] = ContextVar("source", default="")
"""URL of the request that is sent in this context."""


class _MendingStream(httpcore2.AsyncNetworkStream):
    """Reads answers that browsers accept, too."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream
        self._mender: AnswerMender | None = None

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - the port's
        if self._mender is None:
            self._mender = AnswerMender(_SOURCE.get())
        while data := await self._stream.read(max_bytes, timeout):
            if mended := self._mender.feed(data):
                return mended
        return self._mender.flush()

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - the port's
        if self._mender is not None and self._mender.has_excess:
            raise httpcore2.WriteError("the answer before was longer than declared")
        self._mender = None
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the port's
    ) -> httpcore2.AsyncNetworkStream:
        return _MendingStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> object:
        if info == "is_readable" and self._mender is not None and self._mender.has_excess:
            return True  # the pool closes a connection that has more to read
        return self._stream.get_extra_info(info)


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
                return _MendingStream(
                    await self._backend.connect_tcp(address, port, timeout, local_address, socket_options)
                )
            except httpcore2.ConnectError:
                continue
        return _MendingStream(
            await self._backend.connect_tcp(last, port, timeout, local_address, socket_options)
        )

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


async def _read(answer: httpcore2.Response, request: HttpRequest, headers: Headers, max_bytes: int) -> bytes:
    url = request.url
    encoding, content_type = headers.get("content-encoding", ""), headers.get("content-type", "")
    reader = BodyReader(url, answer.status, encoding, max_bytes, content_type, request.sink)
    try:
        async for chunk in answer.aiter_stream():
            reader.feed(chunk)
    except httpcore2.RemoteProtocolError as exc:
        if not _is_cut_off(exc):
            raise
        if (body := reader.cut_off(lack := lack_of(headers))) is None:
            reason = f"the connection ended before the end of the body: {lack} did not come"
            raise FetchError(url, FailureClass.CONNECT, reason, status=answer.status) from exc
        return body
    return reader.whole()


def _is_cut_off(exc: Exception) -> bool:
    return any(sign in str(exc) for sign in CUT_OFF)


def _translated(exc: Exception, url: str, timeout_s: float, *, is_proxied: bool) -> FetchError:
    # Faults in TLS or the socket are in the causes of the library's own exception.
    causes = [exc, *_causes(exc)]
    if is_proxied and (fault := _proxy_fault(causes)):
        return FetchError(url, FailureClass.CONNECT, fault, detail=PROXY)
    for kind, failure_class, sentence in FAULTS:
        if told := next((cause for cause in causes if isinstance(cause, kind)), None):
            return FetchError(url, failure_class, sentence.format(told, timeout_s))
    if _is_cut_off(exc):
        reason = "the connection ended before the end of the answer"
        return FetchError(url, FailureClass.CONNECT, reason)
    return FetchError(url, FailureClass.DECODE, f"the answer is not valid HTTP (httpx2: {one_line(exc)})")


def _proxy_fault(causes: list[BaseException]) -> str:
    """Return the fault of the proxy; empty if it is another one. Only the proxy is connected to here."""
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return NO_PROXY_NAME
    first = causes[0]
    if isinstance(first, httpcore2.ProxyError) and str(first).startswith(str(PROXY_LOGIN)):
        return NO_LOGIN
    is_tls = any(isinstance(cause, ssl.SSLError) for cause in causes)
    if isinstance(first, httpcore2.ConnectError) and not is_tls:
        return NO_PROXY
    return ""


def _causes(exc: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    while (cause := exc.__cause__ or exc.__context__) is not None and len(found) < 10:
        found.append(cause)
        exc = cause
    return found
