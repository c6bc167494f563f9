"""The transport over curl, with a browser's TLS. Loaded when a policy asks for it; its types stay in here."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from types import TracebackType
from typing import Self

from curl_cffi import AsyncCurl, Curl, CurlECode, CurlError, CurlOpt
from yarl import URL

from agentic.core.http.errors import PROXY, FailureClass, FetchError, PrivateAddressError
from agentic.core.http.guard.addresses import AddressGuard
from agentic.core.http.messages import BodySink, Headers, HttpRequest, HttpResponse
from agentic.core.http.policy import HttpPolicy
from agentic.core.http.transports.bodies import BodyReader
from agentic.core.http.transports.mending import lack_of
from agentic.core.http.transports.port import NO_LOGIN, NO_PROXY, NO_PROXY_NAME, PROXY_LOGIN
from agentic.core.http.transports.wire import Resolver, checked_url, field_text, wire_headers
from agentic.core.http.urls import without_credentials

BROWSER = "chrome"  # its TLS and HTTP/2 settings are used; the user agent stays the policy's
STOP = 0xFFFFFFFF  # CURL_WRITEFUNC_ERROR
MAX_HEADER_BYTES = 256 * 1024
STATUS_LINE = re.compile(rb"HTTP/[0-9.]+ ([0-9]{3})")
TLS = "no secure connection: {}"
CUT_OFF = "the connection ended before the end of the answer"
NO_HTTP = "the answer is not valid HTTP (curl: {})"
TUNNEL = "CONNECT tunnel failed, response "
# Of SOCKS proxies.
REFUSED_LOGINS = ("rejected by the SOCKS5 server", "No authentication method")
NO_CHUNKS = re.compile(r"chunk|transfer-encoding", re.IGNORECASE)
# All others broke the connection. {} is curl's message.
FAULTS: dict[int, tuple[FailureClass, str]] = {
    CurlECode.UNSUPPORTED_PROTOCOL: (FailureClass.DECODE, NO_HTTP),
    CurlECode.URL_MALFORMAT: (FailureClass.INVALID_URL, "it is malformed"),
    CurlECode.WEIRD_SERVER_REPLY: (FailureClass.DECODE, NO_HTTP),
    CurlECode.HTTP2: (FailureClass.DECODE, NO_HTTP),
    CurlECode.PARTIAL_FILE: (FailureClass.CONNECT, CUT_OFF),
    CurlECode.OPERATION_TIMEDOUT: (FailureClass.TIMEOUT, ""),
    CurlECode.SSL_CONNECT_ERROR: (FailureClass.TLS, TLS),
    CurlECode.GOT_NOTHING: (FailureClass.CONNECT, CUT_OFF),
    CurlECode.SSL_CERTPROBLEM: (FailureClass.TLS, TLS),
    CurlECode.SSL_CIPHER: (FailureClass.TLS, TLS),
    CurlECode.PEER_FAILED_VERIFICATION: (FailureClass.TLS, TLS),
    CurlECode.SSL_ISSUER_ERROR: (FailureClass.TLS, TLS),
    CurlECode.PROXY: (FailureClass.CONNECT, "the proxy refused: {}"),
    CurlECode.TOO_LARGE: (FailureClass.DECODE, NO_HTTP),
}


class CurlTransport:
    """Implements :class:`~agentic.core.http.Transport`; use it with ``async with``.

    Names are resolved and checked here, and curl connects to the checked addresses.
    """

    def __init__(self, policy: HttpPolicy) -> None:
        self._user_agent = policy.user_agent
        self._guard = AddressGuard(policy.allow_private_hosts)
        self._resolver = Resolver(self._guard)
        self._proxy = policy.proxy.get_secret_value() if policy.proxy else ""
        # With `socks5` curl resolves names itself, and gives the proxy an address.
        self._is_led_by_name = bool(self._proxy) and not self._proxy.startswith("socks5:")
        self._multi = AsyncCurl()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._multi.close()  # type: ignore[no-untyped-call] # the library leaves it untyped

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
        """See :meth:`Transport.send`."""
        started = time.monotonic()
        answer = _Answer(request.url, max_bytes, request.sink)
        try:
            async with asyncio.timeout(timeout_s):
                url = checked_url(request.url, self._guard, is_proxied=self._is_led_by_name)
                pins = [] if self._is_led_by_name else await self._pins(url)
                await self._perform(request, url, pins, answer)
        except (CurlError, TimeoutError, OSError, PrivateAddressError) as exc:
            if answer.fault is None and _is_cut_off(exc) and answer.is_page():
                return answer.response(time.monotonic() - started)
            is_proxied = bool(self._proxy)
            raise answer.fault or _translated(exc, request.url, timeout_s, is_proxied=is_proxied) from exc
        return answer.response(time.monotonic() - started)

    async def _pins(self, url: URL) -> list[str]:
        host, port = (url.raw_host or "").removesuffix("."), url.port or 0
        addresses = await self._resolver.addresses(host, port)
        listed = ",".join(f"[{address}]" if ":" in address else address for address in addresses)
        return [] if ":" in host else [f"{host}:{port}:{listed}"]

    async def _perform(self, request: HttpRequest, url: URL, pins: list[str], answer: _Answer) -> None:
        curl = Curl()
        try:
            curl.impersonate(BROWSER, default_headers=False)
            for option, value in self._options(request, url):
                curl.setopt(option, value)
            curl.setopt(CurlOpt.RESOLVE, pins)
            curl.setopt(CurlOpt.HEADERFUNCTION, answer.take_header)
            curl.setopt(CurlOpt.WRITEFUNCTION, answer.take_body)
            await self._transferred(curl)
        finally:
            curl.close()

    async def _transferred(self, curl: Curl) -> None:
        done = self._multi.add_handle(curl)
        try:
            await done
        except asyncio.CancelledError:
            self._multi.remove_handle(curl)
            raise

    def _options(self, request: HttpRequest, url: URL) -> list[tuple[CurlOpt, object]]:
        headers = wire_headers(request, url, self._user_agent)
        host = (url.raw_host or "").removesuffix(".")
        found: list[tuple[CurlOpt, object]] = [
            (CurlOpt.URL, str(url.with_user(None).with_fragment(None).with_host(host))),
            (CurlOpt.PROTOCOLS_STR, "http,https"),
            (CurlOpt.REQUEST_TARGET, self._target(url)),  # curl would change the case of escapes
            (CurlOpt.FOLLOWLOCATION, 0),
            (CurlOpt.NOSIGNAL, 1),
            (CurlOpt.HTTP_CONTENT_DECODING, 0),  # done here, in steps
            (CurlOpt.PROXY, self._proxy),  # empty: ignore the environment's, too
            (CurlOpt.SUPPRESS_CONNECT_HEADERS, 1),
            (CurlOpt.CUSTOMREQUEST, request.method),
            (CurlOpt.NOBODY, int(request.method == "HEAD")),
        ]
        if request.body is not None:
            found += [(CurlOpt.POSTFIELDSIZE, len(request.body)), (CurlOpt.POSTFIELDS, request.body)]
            headers = {"Content-Type": "", "Expect": ""} | headers
        found.append((CurlOpt.HTTPHEADER, [_line(name, value) for name, value in headers.items()]))
        return found

    def _target(self, url: URL) -> str:
        """Return the target in the request line; a proxy for plain HTTP needs all of the URL."""
        if url.scheme == "http" and self._proxy.startswith("http"):
            return str(url.with_user(None))
        return url.raw_path_qs


class _Answer:
    """Gathers one answer in curl's callbacks, which must not raise."""

    def __init__(self, url: str, max_bytes: int, sink: BodySink | None) -> None:
        self.fault: Exception | None = None
        self._sink = sink
        self._url = url
        self._max_bytes = max_bytes
        self._status = 0
        self._fields: list[tuple[str, str]] = []
        self._header_bytes = 0
        self._has_head = False
        self._body: BodyReader | None = None
        self._cut: bytes | None = None

    def take_header(self, line: bytes) -> int:
        self._header_bytes += len(line)
        if self._header_bytes > MAX_HEADER_BYTES:
            self.fault = FetchError(self._url, FailureClass.DECODE, NO_HTTP.format("its header is too large"))
            return STOP
        if found := STATUS_LINE.match(line):  # a 1xx may come before the answer itself
            self._status, self._fields, self._has_head = int(found[1]), [], False
        elif b":" in line:
            name, _, value = field_text(line).partition(":")
            self._fields.append((name.strip(), value.strip()))
        elif not line.strip():
            self._has_head = True
        return len(line)

    def take_body(self, data: bytes) -> int:
        try:
            self._reader().feed(data)
        except Exception as exc:  # a sink has faults of its own, such as a full disk
            self.fault = exc
            return STOP
        return len(data)

    def is_page(self) -> bool:
        """Whether an answer that ended early is a web page with its end; that end is enough."""
        self._cut = self._reader().cut_off(lack_of(Headers(self._fields)))
        return self._cut is not None

    def response(self, elapsed_s: float) -> HttpResponse:
        if not self._status:
            raise FetchError(self._url, FailureClass.DECODE, NO_HTTP.format("no status line"))
        if not self._has_head:
            raise FetchError(self._url, FailureClass.CONNECT, CUT_OFF)
        return HttpResponse(
            url=without_credentials(self._url),
            status=self._status,
            headers=Headers(self._fields),
            body=self._reader().whole() if self._cut is None else self._cut,
            elapsed_s=elapsed_s,
            set_cookies=tuple(value for name, value in self._fields if name.lower() == "set-cookie"),
        )

    def _reader(self) -> BodyReader:
        if self._body is None:
            headers = Headers(self._fields)
            encoding, content_type = headers.get("content-encoding", ""), headers.get("content-type", "")
            self._body = BodyReader(
                self._url, self._status, encoding, self._max_bytes, content_type, self._sink
            )
        return self._body


def _line(name: str, value: str) -> bytes:
    """Write a field in curl's form: with a semicolon to send it empty, bare to omit curl's own."""
    if value:
        return f"{name}: {value}".encode()
    return f"{name}:".encode() if name in ("Content-Type", "Expect") else f"{name};".encode()


def _translated(exc: Exception, url: str, timeout_s: float, *, is_proxied: bool) -> FetchError:
    match exc:
        case PrivateAddressError():
            return FetchError(url, FailureClass.PRIVATE_ADDRESS, str(exc))
        case TimeoutError():
            return _too_late(url, timeout_s)
        case socket.gaierror():
            reason = f"its name cannot be resolved ({exc.strerror}); check its spelling"
            return FetchError(url, FailureClass.DNS, reason)
        case CurlError():
            return _translated_error(exc, url, timeout_s, is_proxied=is_proxied)
        case _:
            return FetchError(url, FailureClass.CONNECT, f"no connection: {exc}")


def _translated_error(exc: CurlError, url: str, timeout_s: float, *, is_proxied: bool) -> FetchError:
    if exc.code == CurlECode.OPERATION_TIMEDOUT:
        return _too_late(url, timeout_s)
    found = re.search(r"curl: \(\d+\) (.*?)\. See https", str(exc))
    told = found[1] if found else f"curl error {int(exc.code)}"
    if is_proxied and (fault := _proxy_fault(exc.code, told)):
        reason, detail = fault
        return FetchError(url, FailureClass.CONNECT, reason, detail=detail)
    if exc.code == CurlECode.RECV_ERROR and NO_CHUNKS.search(told):
        return FetchError(url, FailureClass.DECODE, NO_HTTP.format(told))
    failure_class, sentence = FAULTS.get(int(exc.code), (FailureClass.CONNECT, "no connection: {}"))
    return FetchError(url, failure_class, sentence.format(told))


def _proxy_fault(code: int, told: str) -> tuple[str, str] | None:
    """Return reason and detail of a failure at the proxy; None for others. Only the proxy is connected to."""
    if code == CurlECode.COULDNT_RESOLVE_PROXY:
        return NO_PROXY_NAME, PROXY
    status = told.partition(TUNNEL)[2][:3]
    if status == str(PROXY_LOGIN) or any(sign in told for sign in REFUSED_LOGINS):
        return NO_LOGIN, PROXY
    if status:  # the proxy works, and did not reach the site
        return f"the proxy refused with status {status}", ""
    return (NO_PROXY, PROXY) if code == CurlECode.COULDNT_CONNECT else None


def _is_cut_off(exc: Exception) -> bool:
    return isinstance(exc, CurlError) and exc.code == CurlECode.PARTIAL_FILE


def _too_late(url: str, timeout_s: float) -> FetchError:
    return FetchError(url, FailureClass.TIMEOUT, f"no complete answer within {timeout_s:.3g} s")
