"""A site whose answers are written byte by byte, and what it was asked for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from agentic.core.testing.http_peer import listening

HTML = "Content-Type: text/html; charset=utf-8"
Answer = bytes | Callable[[str], bytes]
"""A complete answer, or a function of the request's head."""


@dataclass(slots=True)
class ScriptedSite:
    """A site on loopback.

    Attributes:
        url: Without a slash at its end.
        routes: Request target -> answer; ``*`` for all others, which are missing without it.
        heads: Every request, without those for robots.txt.
    """

    routes: dict[str, Answer]
    url: str = ""
    heads: list[str] = field(default_factory=list)

    @property
    def asked(self) -> list[str]:
        """The targets of its requests, exactly as they came."""
        return [head.split(" ")[1] for head in self.heads]

    def cookies(self, target: str) -> list[str]:
        """The ``Cookie`` field of each request for a target; "" without one."""
        return [field_of(head, "cookie") for head in self.heads if head.split(" ")[1] == target]


@asynccontextmanager
async def serving(routes: Mapping[str, Answer]) -> AsyncIterator[ScriptedSite]:
    """Serve ``routes``; they may change meanwhile."""
    site = ScriptedSite(dict(routes))

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = peer.requests[-1].decode("latin-1")
        target = head.split(" ")[1]
        if target == "/robots.txt":
            writer.write(answer("", status="404 Not Found"))
        else:
            site.heads.append(head)
            found = site.routes.get(target) or site.routes.get("*", answer("missing", status="404 Not Found"))
            writer.write(found(head) if callable(found) else found)
        await writer.drain()

    async with listening(respond) as peer:
        site.url = peer.url.removesuffix("/")
        yield site


def answer(body: str | bytes, *fields: str | bytes, status: str = "200 OK") -> bytes:
    """Return a complete answer; HTML in UTF-8 unless the fields have a type."""
    content = body.encode() if isinstance(body, str) else body
    given = [one.encode() if isinstance(one, str) else one for one in fields]
    if not any(one.lower().startswith(b"content-type") for one in given):
        given.append(HTML.encode())
    lines = [
        f"HTTP/1.1 {status}".encode(),
        *given,
        b"Content-Length: %d" % len(content),
        b"Connection: close",
    ]
    return b"\r\n".join([*lines, b"", b""]) + content


def redirect(location: str | bytes, *fields: str, status: str = "302 Found") -> bytes:
    """Return a redirect; a location in text is sent in UTF-8."""
    place = location.encode() if isinstance(location, str) else location
    return answer("", b"Location: " + place, *fields, status=status)


def links(*addresses: str) -> str:
    """Return a page with links."""
    items = "".join(f'<li><a href="{address}">x</a></li>' for address in addresses)
    return f"<!doctype html><title>t</title><h1>h</h1><ul>{items}</ul>"


def field_of(head: str, name: str) -> str:
    """Return a field of a request."""
    for line in head.split("\r\n")[1:]:
        key, _, value = line.partition(":")
        if key.lower() == name:
            return value.strip()
    return ""
