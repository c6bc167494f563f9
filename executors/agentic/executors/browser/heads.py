"""The heads of the requests that reach the proxy: read and written again; pure but for the reading."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from urllib.parse import urlsplit

HOP_FIELDS = frozenset({"connection", "keep-alive"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What a browser asks its proxy for.

    Attributes:
        method: In upper case; ``CONNECT`` wants a tunnel.
        host: Where to; an IPv6 address without brackets.
        port: Where to.
        target: What is asked of the host: path and query.
        fields: Header fields in order.
    """

    method: str
    host: str
    port: int
    target: str
    fields: tuple[tuple[str, str], ...]

    @property
    def is_tunnel(self) -> bool:
        """Whether bytes are to be handed on as they are."""
        return self.method == "CONNECT"

    @property
    def body_bytes(self) -> int:
        """Length of the request's body.

        Raises:
            ValueError: It is not said; browsers say it.
        """
        if self.field("transfer-encoding"):
            raise ValueError("a body without a length")
        return int(self.field("content-length") or 0)

    def field(self, wanted: str) -> str:
        """Return the header field of that name (lower case); empty if there is none."""
        return next((value for name, value in self.fields if name.lower() == wanted), "")


async def read_head(reader: asyncio.StreamReader) -> Head:
    """Read a request up to its body.

    Raises:
        ValueError: It is no request to a proxy.
        EOFError: It ended too soon.
        LimitOverrunError: It is too long.
    """
    return parsed(await reader.readuntil(b"\r\n\r\n"))


def parsed(head: bytes) -> Head:
    """Return what a request's head says.

    Raises:
        ValueError: It is no request to a proxy.
    """
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
    port = parts.port or (80 if parts.scheme == "http" else None)
    if not parts.hostname or port is None:
        raise ValueError(f"no place to connect to in {method} request")
    fields = tuple((name, value.strip()) for name, _, value in (line.partition(":") for line in lines))
    path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    return Head(method=method, host=parts.hostname, port=port, target=path, fields=fields)


def rewritten(head: Head) -> bytes:
    """Return the head as it goes to the host: nothing of the proxy in it, and one request a connection."""
    kept = [
        f"{name}: {value}\r\n"
        for name, value in head.fields
        if name.lower() not in HOP_FIELDS and not name.lower().startswith("proxy-")
    ]
    lines = (f"{head.method} {head.target} HTTP/1.1\r\n", *kept, "Connection: close\r\n\r\n")
    return "".join(lines).encode("latin-1")
