"""The checks of every request, before any application sees it.

Host, size, origin, token: in this order, for each path. Only exact paths are open, because servers that
opened all paths with a certain ending were entered that way (CVE-2026-3514).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agentic.core.errors import line_of
from agentic.core.ids import new_id
from agentic.core.logging import get_logger
from agentic.core.masking import mask_known
from agentic.executors.serving.problems import problem
from agentic.executors.serving.tokens import is_same

log = get_logger(__name__)

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
MAX_BODY_BYTES = 1024 * 1024
MAX_HEADERS = 100
MAX_HEADER_BYTES = 32 * 1024
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
OPEN_PATHS = frozenset({"/health/live"})
"""Answered without a token: they show nothing of the project."""

_ALLOWED_HEADERS = "authorization, content-type, idempotency-key, last-event-id, prefer"
_ALLOWED_METHODS = "GET, POST, DELETE"
_EXPOSED = (b"access-control-expose-headers", b"location, retry-after")
_VARY = (b"vary", b"origin")
_SECURITY = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"content-security-policy": b"default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
    b"cache-control": b"no-store",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardRules:
    """The rules of a server.

    Attributes:
        token: Every request must have it: ``Authorization: Bearer TOKEN``.
        hosts: Names that a ``Host`` header may have, beside the names of loopback; ports are ignored.
        origins: Origins whose pages may call: ``https://chat.example.com``. Pages of others are refused.
        max_body_bytes: Of a request.
    """

    token: str = field(repr=False)
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    max_body_bytes: int = MAX_BODY_BYTES


class Guarded:
    """An application behind the rules.

    Args:
        app: The application.
        rules: The rules.
    """

    def __init__(self, app: ASGIApp, rules: GuardRules) -> None:
        self._app = app
        self._rules = rules
        self._hosts = frozenset(name.lower() for name in (*LOOPBACK, *rules.hosts))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        else:  # no application here speaks WebSocket, and one that did would need these checks
            await send({"type": "websocket.close", "code": 1008})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _Sent(scope["headers"])
        out = _Answer(send, self._allowed_origin(headers))
        limited = _Limited(receive, self._rules.max_body_bytes)
        try:
            refusal = self._refusal(scope, headers)
            await (self._app if refusal is None else refusal)(scope, limited.receive, out.send)
        except _TooLargeError:
            await self._fail(out, scope, problem(413, self._size_advice()))
        except Exception as exc:  # whatever an application forgot
            number = new_id()
            trace = mask_known(line_of(exc))
            log.exception("request.failed", incident=number, path=scope["path"], error=trace)
            words = f"the server failed; its log has the reason under incident {number}"
            await self._fail(out, scope, problem(500, words, incident=number))

    @staticmethod
    async def _fail(out: _Answer, scope: Scope, refusal: ASGIApp) -> None:
        if not out.has_begun:
            await refusal(scope, _nothing, out.send)

    def _refusal(self, scope: Scope, headers: _Sent) -> ASGIApp | None:
        """Return the answer to a request that breaks a rule, or only asks for the rules."""
        refusal = self._misfit(headers)
        if refusal is not None:
            return refusal
        if self._allowed_origin(headers) is not None and _is_preflight(scope, headers):
            return _preflight()
        return self._stranger(scope, headers)

    def _misfit(self, headers: _Sent) -> ASGIApp | None:
        """Return the answer to a request for another host, or one that is too large."""
        if headers.count > MAX_HEADERS or headers.size > MAX_HEADER_BYTES:
            return problem(431, f"at most {MAX_HEADERS} headers of {MAX_HEADER_BYTES} bytes together")
        if _host_of(headers.only("host") or "") not in self._hosts:
            return problem(421, "this server does not answer for that host; see --host-name")
        if _is_long(headers.only("content-length"), self._rules.max_body_bytes):
            return problem(413, self._size_advice())
        return None

    def _stranger(self, scope: Scope, headers: _Sent) -> ASGIApp | None:
        """Return the answer to a caller without the token, or a page that may not call."""
        is_read = scope["method"] in SAFE_METHODS
        if not is_read and not self._is_own_page(headers):
            return problem(403, "a page of another origin sent this; see --allow-origin")
        if (is_read and scope["path"] in OPEN_PATHS) or self._has_token(headers):
            return None
        advice = "send the server's token: 'Authorization: Bearer TOKEN'"
        return problem(401, advice, headers={"www-authenticate": "Bearer"})

    def _has_token(self, headers: _Sent) -> bool:
        scheme, _, given = (headers.only("authorization") or "").partition(" ")
        # Compared in any case, so that the time says nothing about the scheme either.
        return is_same(given.strip(), self._rules.token) and scheme.lower() == "bearer"

    def _is_own_page(self, headers: _Sent) -> bool:
        """Whether no page of a foreign origin sent a request, as Go's ``CrossOriginProtection`` decides."""
        if self._allowed_origin(headers) is not None:
            return True
        if (site := headers.only("sec-fetch-site")) is not None:
            return site in ("same-origin", "none")
        origin = headers.only("origin")
        if origin is None:
            return not headers.has("origin")
        return origin.partition("://")[2] == headers.only("host")

    def _allowed_origin(self, headers: _Sent) -> str | None:
        origin = headers.only("origin")
        return origin if origin in self._rules.origins else None

    def _size_advice(self) -> str:
        return f"a request has at most {self._rules.max_body_bytes:,} bytes"


class _Sent:
    """The headers of a request. A name that was sent twice has no value: readers would differ about it.

    Args:
        raw: As ASGI has them, with lower-case names.
    """

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        self._values: dict[str, list[str]] = {}
        self.count = self.size = 0
        for name, value in raw:
            self.count += 1
            self.size += len(name) + len(value)
            self._values.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))

    def has(self, name: str) -> bool:
        """Whether a header was sent."""
        return name in self._values

    def only(self, name: str) -> str | None:
        """Return the value of a header that was sent once."""
        found = self._values.get(name, ())
        return found[0] if len(found) == 1 else None


class _TooLargeError(Exception):
    """A body that did not say its size is too large."""


class _Limited:
    """Counts the body while it is read.

    Args:
        receive: Gives its parts.
        most: Bytes.
    """

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._left = most

    async def receive(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise _TooLargeError
        return message


class _Answer:
    """Adds headers to an answer.

    Args:
        send: Sends it.
        origin: The page's origin, if it may read the answer.
    """

    def __init__(self, send: Send, origin: str | None) -> None:
        self._send = send
        self._origin = origin
        self.has_begun = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            message = {**message, "headers": self._completed(message.get("headers", ()))}
        await self._send(message)

    def _completed(self, given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        headers = list(given)
        known = {name.lower() for name, _ in headers}
        headers += [pair for pair in _SECURITY.items() if pair[0] not in known]
        if self._origin is not None:
            headers += [(b"access-control-allow-origin", self._origin.encode("latin-1")), _EXPOSED, _VARY]
        return headers


def _host_of(value: str) -> str:
    """Return the name in a ``Host`` header, without the port."""
    name, mark, port = value.lower().rpartition(":")
    return name if mark and port.isdecimal() else value.lower()


def _is_long(length: str | None, most: int) -> bool:
    return length is not None and (not length.isdecimal() or len(length) > 18 or int(length) > most)


def _is_preflight(scope: Scope, headers: _Sent) -> bool:
    return scope["method"] == "OPTIONS" and headers.has("access-control-request-method")


def _preflight() -> ASGIApp:
    allowed = {
        "access-control-allow-methods": _ALLOWED_METHODS,
        "access-control-allow-headers": _ALLOWED_HEADERS,
        "access-control-max-age": "600",
    }
    return Response(status_code=204, headers=allowed)


async def _nothing() -> Any:  # noqa: ANN401  # a message of ASGI
    return {"type": "http.disconnect"}
