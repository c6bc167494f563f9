"""The transport over aiohttp. Loaded when a fetcher is opened; its types stay in here."""

from __future__ import annotations

import socket
import time
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.http_exceptions import ContentEncodingError
from yarl import URL

from agentic.core.http.addresses import AddressGuard
from agentic.core.http.errors import FailureClass, FetchError, InvalidUrlError, PrivateAddressError
from agentic.core.http.messages import Headers, HttpRequest, HttpResponse
from agentic.core.http.policy import HttpPolicy

DNS_KEPT_S = 60
# The first that fits counts; the rest broke the connection. {0} is the exception, {1} the time limit.
FAULTS: tuple[tuple[type[Exception], FailureClass, str], ...] = (
    (PrivateAddressError, FailureClass.PRIVATE_ADDRESS, "{0}"),
    (TimeoutError, FailureClass.TIMEOUT, "no complete answer within {1:.3g} s"),
    (aiohttp.InvalidURL, FailureClass.INVALID_URL, "it is malformed"),
    (
        aiohttp.ClientConnectorDNSError,
        FailureClass.DNS,
        "its name cannot be resolved ({0.strerror}); check its spelling",
    ),
    (aiohttp.ClientSSLError, FailureClass.TLS, "no secure connection: {0}"),
    (ContentEncodingError, FailureClass.DECODE, "its body cannot be decompressed"),
    (aiohttp.ClientPayloadError, FailureClass.CONNECT, "the connection ended before the whole body had come"),
    (aiohttp.ClientResponseError, FailureClass.DECODE, "the answer is no valid HTTP"),
)


class AiohttpTransport:
    """Implements :class:`~agentic.core.http.Transport`; use it with ``async with``.

    How many connections a host gets is the fetcher's business, so that waiting for one is not counted as
    time the server took.
    """

    def __init__(self, policy: HttpPolicy) -> None:
        self._guard = AddressGuard(policy.allow_private_hosts)
        connector = aiohttp.TCPConnector(
            resolver=_GuardedResolver(self._guard), limit=0, ttl_dns_cache=DNS_KEPT_S
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": policy.user_agent},
            trust_env=False,
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
            url = self._checked(request.url)
            async with self._session.request(
                request.method,
                url,
                headers=request.headers,
                data=request.body,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=timeout_s),
            ) as answer:
                body = await _read(answer, request.url, max_bytes)
                return HttpResponse(
                    url=str(url.with_user(None).with_fragment(None)),
                    status=answer.status,
                    headers=Headers(answer.headers.items()),
                    body=body,
                    elapsed_s=time.monotonic() - started,
                )
        except (aiohttp.ClientError, TimeoutError, OSError, PrivateAddressError) as exc:
            raise _translated(exc, request.url, timeout_s) from exc

    def _checked(self, text: str) -> URL:
        """Return the URL as aiohttp will use it, its host checked in exactly that spelling."""
        try:
            url = URL(text)
        except ValueError as exc:
            raise InvalidUrlError(text, "it is malformed") from exc
        if url.scheme not in ("http", "https") or not url.raw_host or url.port is None:
            raise InvalidUrlError(text, "it is not absolute")
        self._guard.check_host(url.raw_host, url.port)
        return url


class _GuardedResolver(AbstractResolver):
    """Hands on only addresses that may be connected to, and aiohttp connects to no others."""

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


async def _read(answer: aiohttp.ClientResponse, url: str, max_bytes: int) -> bytes:
    """Read the body in pieces, and stop at the limit: the length a server declares proves nothing."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in answer.content.iter_any():
        chunks.append(chunk)
        size += len(chunk)
        if size > max_bytes:
            reason = f"its body is larger than {max_bytes} bytes; raise max_bytes if that is meant"
            raise FetchError(url, FailureClass.TOO_LARGE, reason, status=answer.status)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _translated(exc: Exception, url: str, timeout_s: float) -> FetchError:
    told = exc.__cause__ if isinstance(exc.__cause__, ContentEncodingError) else exc
    for kind, failure_class, sentence in FAULTS:
        if isinstance(told, kind):
            return FetchError(url, failure_class, sentence.format(told, timeout_s))
    return FetchError(url, FailureClass.CONNECT, f"no connection: {str(exc) or type(exc).__name__}")
