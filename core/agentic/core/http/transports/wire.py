"""Shared parts of all transports: valid URLs, added headers, and addresses of names."""

from __future__ import annotations

import asyncio
import socket
import time
from base64 import b64encode
from collections import OrderedDict

from yarl import URL

from agentic.core.http.errors import InvalidUrlError
from agentic.core.http.guard.addresses import AddressGuard
from agentic.core.http.messages import HttpRequest
from agentic.core.http.resolving import request_url
from agentic.core.http.transports.bodies import ACCEPT_ENCODING

DNS_KEPT_S = 60.0
MAX_NAMES = 10_000
MAX_LABEL = 63
"""Characters between two dots of a name (RFC 1035); resolvers fail in odd ways on more, and on none."""


def checked_url(text: str, guard: AddressGuard, *, is_proxied: bool = False) -> URL:
    """Return the URL as it will be used; its host is checked in exactly that spelling.

    Raises:
        InvalidUrlError: It is not an absolute http or https URL.
        PrivateAddressError: Its host is a private address.
    """
    written = request_url(text)
    try:
        url = URL(written, encoded=True)
        host, port = url.raw_host, url.port
    except ValueError as exc:
        raise InvalidUrlError(text, "it is malformed") from exc
    if not host or port is None:
        raise InvalidUrlError(text, "it is not absolute")
    if not all(0 < len(label) <= MAX_LABEL for label in host.removesuffix(".").split(".")):
        raise InvalidUrlError(text, f"{host[:80]!r} is not a valid host name")
    guard.check_host(host, port, is_proxied=is_proxied)
    return url if not written.endswith("?") else _with_mark(url)


def _with_mark(url: URL) -> URL:
    """Return a URL with its question mark, which the library takes for none before an empty query."""
    return URL.build(scheme=url.scheme, authority=url.raw_authority, path=f"{url.raw_path}?", encoded=True)


def usual_headers(user_agent: str) -> dict[str, str]:
    """Return the fields of a request without its own fields."""
    return {"Accept": "*/*", "Accept-Encoding": ACCEPT_ENCODING, "User-Agent": user_agent}


def wire_headers(request: HttpRequest, url: URL, user_agent: str) -> dict[str, str]:
    """Return the fields to send: the request's own, and defaults for the rest."""
    found = usual_headers(user_agent)
    if url.user or url.password:
        pair = f"{url.user or ''}:{url.password or ''}".encode()
        found["Authorization"] = f"Basic {b64encode(pair).decode()}"
    if not request.headers:
        return found
    own = {name.lower() for name in request.headers}
    return {name: value for name, value in found.items() if name.lower() not in own} | dict(request.headers)


def field_text(field: bytes) -> str:
    """Return a field of an answer as text: UTF-8, with a surrogate for each other byte."""
    return field.decode("utf-8", "surrogateescape")


class Resolver:
    """Resolves names, keeps the results for a minute, and returns only allowed addresses."""

    def __init__(self, guard: AddressGuard) -> None:
        self._guard = guard
        self._kept: OrderedDict[tuple[str, int], tuple[float, list[str]]] = OrderedDict()

    async def addresses(self, host: str, port: int) -> list[str]:
        """Return the addresses of ``host``, the first one to try first.

        Raises:
            socket.gaierror: It has none.
            PrivateAddressError: None of them is allowed.
        """
        kept = self._kept.get((host, port))
        if kept is None or kept[0] < time.monotonic():
            kept = (time.monotonic() + DNS_KEPT_S, await _look_up(host, port))
            self._kept[host, port] = kept
            if len(self._kept) > MAX_NAMES:
                self._kept.popitem(last=False)
        return self._guard.admit(host, port, kept[1])


async def _look_up(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG
    )
    return list(dict.fromkeys(str(address[0]) for _, _, _, _, address in found))
