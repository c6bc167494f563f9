"""Fetches pages of the other fakes inside this process: no socket, no fault, no count."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from starlette.types import ASGIApp, Message

from agentic.fakes.firecrawl.errors import RefusalError, unreachable

MAX_BYTES = 2 << 20
MAX_REDIRECTS = 10
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
AGENT = "FirecrawlAgent"


@dataclass(slots=True)
class Fetched:
    """What came back for ``url``; header names are in lower case."""

    url: str
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)

    @property
    def content_type(self) -> str:
        """The declared type, with its parameters."""
        return self.headers.get("content-type", "")


class Fetching:
    """Fetches from ``app``, as far as URLs lead to ``netloc`` or its port on loopback."""

    def __init__(self, app: ASGIApp, netloc: str) -> None:
        self._app = app
        self.netloc = netloc

    async def get(self, url: str, headers: Mapping[str, str], timeout_s: float) -> Fetched:
        """Return the page at ``url``, after redirects.

        Raises:
            RefusalError: The host is none of the fakes, or it took too long, too many redirects or bytes.
        """
        try:
            async with asyncio.timeout(timeout_s):
                for _ in range(MAX_REDIRECTS):
                    fetched = await self._once(url, headers)
                    if not (300 <= fetched.status < 400 and "location" in fetched.headers):
                        return fetched
                    url = urljoin(url, fetched.headers["location"])
        except TimeoutError:
            raise RefusalError(408, f"{url} took too long.", "SCRAPE_TIMEOUT") from None
        raise RefusalError(500, f"{url} redirects too often.", "SCRAPE_ALL_ENGINES_FAILED")

    async def _once(self, url: str, headers: Mapping[str, str]) -> Fetched:
        parts = urlsplit(url)
        if not self._is_here(parts):
            raise unreachable(parts.hostname or parts.netloc)
        asked = {"accept": "*/*", "user-agent": AGENT, **headers, "host": parts.netloc}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": parts.scheme,
            "path": unquote(parts.path) or "/",
            "raw_path": parts.path.encode(),
            "query_string": parts.query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode()) for name, value in asked.items()],
            "client": ("127.0.0.1", 0),
            "server": (parts.hostname, parts.port or 80),
        }
        fetched = Fetched(url)
        await self._app(scope, _receive, _Collector(fetched).send)
        if fetched.headers.get("content-encoding") == "gzip":
            fetched.body = bytearray(
                zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(fetched.body, MAX_BYTES)
            )
        return fetched

    def _is_here(self, parts: SplitResult) -> bool:
        _, _, port = self.netloc.rpartition(":")
        return parts.netloc == self.netloc or parts.netloc in {f"{name}:{port}" for name in LOOPBACK}


@dataclass(slots=True)
class _Collector:
    fetched: Fetched

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.fetched.status = message["status"]
            self.fetched.headers = {n.decode("latin-1"): v.decode("latin-1") for n, v in message["headers"]}
        else:
            self.fetched.body += message.get("body", b"")
        if len(self.fetched.body) > MAX_BYTES:
            raise RefusalError(500, f"{self.fetched.url} is too large.", "SCRAPE_ALL_ENGINES_FAILED")


async def _receive() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}
