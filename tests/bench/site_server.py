"""Serves pages on loopback and counts who asks: ``python -m tests.bench.site_server --pages 2000``.

It prints its address once it listens. ``/__stats`` tells what was asked for; ``--folder`` serves files
instead of the catalogue. Nothing but the standard library, so that every contender meets the same server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import mimetypes
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Protocol

from tests.bench.catalogue import Catalogue

ROBOTS = b"User-agent: *\nAllow: /\n"
MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


class Pages(Protocol):
    """What is served."""

    def page(self, path: str) -> tuple[str, bytes] | None:
        """Return the type and the bytes of a page, None if there is none of that path."""
        ...


class Folder:
    """The files of a folder."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def page(self, path: str) -> tuple[str, bytes] | None:
        """Return a file."""
        file = (self._root / path.lstrip("/")).resolve()
        if not file.is_relative_to(self._root) or not file.is_file():
            return None
        return mimetypes.guess_type(file.name)[0] or "application/octet-stream", file.read_bytes()


class Served:
    """Answers by path, and what was asked for."""

    def __init__(self, pages: Pages, latency_s: float) -> None:
        self._pages = pages
        self._ready: dict[str, bytes] = {}
        self.latency_s = latency_s
        self._asked: Counter[str] = Counter()
        self._first_at = self._last_at = 0.0

    def make(self, paths: list[str]) -> None:
        """Make pages now, and keep them: what is measured is not to wait for them."""
        self._ready = {path: self._made(path) for path in paths}

    def answer(self, path: str) -> bytes:
        """Return the whole answer for a path, and count it."""
        if path == "/__stats":
            return _answer("application/json", json.dumps(self._stats()).encode())
        self._last_at = time.monotonic()
        self._first_at = self._first_at or self._last_at
        if path == "/robots.txt":
            return _answer("text/plain", ROBOTS)
        self._asked[path] += 1
        return self._ready.get(path) or self._made(path)

    def _made(self, path: str) -> bytes:
        found = self._pages.page(path)
        return _answer(*found) if found else MISSING

    def _stats(self) -> dict[str, float]:
        return {
            "pages": len(self._asked),
            "repeated": self._asked.total() - len(self._asked),
            "first_to_last_s": self._last_at - self._first_at,
        }


class Connection(asyncio.Protocol):
    """A client that asks for one page after the other."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember whom to answer."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer every request that is whole; none has a body."""
        *heads, self._buffer = (self._buffer + data).split(b"\r\n\r\n")
        for head in heads:
            answer = self._served.answer(head.split(b" ", 2)[1].decode("latin-1"))
            if self._served.latency_s:
                asyncio.get_running_loop().call_later(self._served.latency_s, self._send, answer)
            else:
                self._send(answer)

    def _send(self, answer: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(answer)


def _answer(media_type: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def _serve(served: Served) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(served), "127.0.0.1", 0, backlog=1024)
    sys.stdout.write(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


def main() -> None:
    """Serve until somebody ends the process."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.site_server", description=__doc__)
    parser.add_argument("--pages", type=int, default=2_000, help="of the catalogue, lists and details")
    parser.add_argument("--folder", type=Path, help="files to serve instead")
    parser.add_argument("--latency-ms", type=float, default=0.0, help="before each answer")
    parser.add_argument("--is-made-late", action="store_true", help="make each page when it is asked for")
    given = parser.parse_args()
    catalogue = Catalogue(given.pages)
    served = Served(Folder(given.folder) if given.folder else catalogue, given.latency_ms / 1_000)
    if not given.folder and not given.is_made_late:
        served.make(catalogue.paths())
    asyncio.run(_serve(served))


if __name__ == "__main__":
    main()
