"""Reads and rewrites the heads of requests to the proxy; pure functions except for the reading."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from urllib.parse import urlsplit

HOP_FIELDS = frozenset({"connection", "keep-alive"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHead:
    """The head of a browser's request to its proxy.

    Attributes:
        method: In upper case; ``CONNECT`` requests a tunnel.
        host: The target host; an IPv6 address without brackets.
        port: The target port.
        target: Path and query.
        fields: Header fields in order.
    """

    method: str
    host: str
    port: int
    target: str
    fields: tuple[tuple[str, str], ...]

    @property
    def is_tunnel(self) -> bool:
        """Whether bytes must be passed on unchanged."""
        return self.method == "CONNECT"

    @property
    def body_bytes(self) -> int:
        """Length of the request's body.

        Raises:
            ValueError: It is missing; browsers send it.
        """
        if self.field("transfer-encoding"):
            raise ValueError("a body without a length")
        return int(self.field("content-length") or 0)

    def field(self, wanted: str) -> str:
        """Return the header field with that name (lower case); empty if missing."""
        return next((value for name, value in self.fields if name.lower() == wanted), "")


async def read_head(reader: asyncio.StreamReader) -> RequestHead:
    """Read a request up to its body.

    Raises:
        ValueError: It is not a request to a proxy.
        EOFError: It ended too soon.
        LimitOverrunError: It is too long.
    """
    return parsed(await reader.readuntil(b"\r\n\r\n"))


def parsed(head: bytes) -> RequestHead:
    """Return the parsed head of a request.

    Raises:
        ValueError: It is not a request to a proxy.
    """
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
    port = parts.port or (80 if parts.scheme == "http" else None)
    if not parts.hostname or port is None:
        raise ValueError(f"no place to connect to in {method} request")
    fields = tuple((name, value.strip()) for name, _, value in (line.partition(":") for line in lines))
    path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    return RequestHead(method=method, host=parts.hostname, port=port, target=path, fields=fields)


def rewritten(head: RequestHead) -> bytes:
    """Return the head to send to the host: without proxy fields, and for one request per connection."""
    kept = [
        f"{name}: {value}\r\n"
        for name, value in head.fields
        if name.lower() not in HOP_FIELDS and not name.lower().startswith("proxy-")
    ]
    lines = (f"{head.method} {head.target} HTTP/1.1\r\n", *kept, "Connection: close\r\n\r\n")
    return "".join(lines).encode("latin-1")
