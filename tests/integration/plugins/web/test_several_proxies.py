"""Crawls through several proxies, one of which dies, is refused, or does not know the user."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

import pytest
from tests.integration.plugins.web.scripted import Answer, answer, links, serving

from agentic.core.types import JSONValue
from agentic.mappers import ExecutionStatus

if TYPE_CHECKING:
    from tests.integration.plugins.web.conftest import MakeAgent, RunAgent

pytestmark = pytest.mark.integration

PASSWORD = "hunter2-of-the-list"
HOST = "http://shop.example"
SITE: dict[str, Answer] = {
    "/robots.txt": b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "/": answer(links(*(f"/{number}" for number in range(30)))),
    "*": answer("<h1>x</h1>"),
}
TOO_MANY = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 600\r\nContent-Length: 0\r\n\r\n"
STRANGER = b"HTTP/1.1 407 Who Are You\r\nContent-Length: 0\r\n\r\n"


class Forwarding:
    """A proxy that forwards requests for any host to one site, up to a limit; then it answers otherwise."""

    def __init__(self, site_url: str, limit: int | None, then: bytes | None) -> None:
        self.site_port = int(site_url.rpartition(":")[2])
        self.limit = limit
        self.then = then
        self.heads: list[str] = []
        self.server: asyncio.Server | None = None
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.heads.append(head)
            is_over = self.limit is not None and len(self.heads) >= self.limit
            if is_over and self.then is not None:
                writer.write(self.then)
                await writer.drain()
            else:
                if is_over and self.server is not None:
                    self.server.close()  # it is away after this answer
                await self.forward(head, writer)
        writer.close()

    async def forward(self, head: str, writer: asyncio.StreamWriter) -> None:
        line, _, fields = head.partition("\r\n")
        method, url, version = line.split()
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.site_port)
        path = url.removeprefix(HOST).removeprefix(":80") or "/"
        far_writer.write(f"{method} {path} {version}\r\nConnection: close\r\n{fields}".encode())
        while data := await far_reader.read(65_536):
            writer.write(data)
        await writer.drain()
        far_writer.close()


@contextlib.asynccontextmanager
async def forwarding(
    site_url: str, *, limit: int | None = None, then: bytes | None = None
) -> AsyncIterator[Forwarding]:
    proxy = Forwarding(site_url, limit, then)
    proxy.server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = proxy.server.sockets[0].getsockname()[1]
    async with proxy.server:
        yield proxy


@pytest.mark.parametrize(
    ("transport", "limit", "then", "says"),
    [
        ("aiohttp", 8, None, "no connection to the proxy"),
        ("httpx2", 8, None, "no connection to the proxy"),
        ("curl_cffi", 8, None, "no connection to the proxy"),
        ("aiohttp", 8, TOO_MANY, "rate_limited, status 429"),
        ("aiohttp", 0, STRANGER, "status 407"),
        ("aiohttp", None, None, ""),
    ],
)
async def test_a_crawl_reads_all_pages_though_one_proxy_fails(  # noqa: PLR0917 - fixtures and cases
    make_agent: MakeAgent,
    run_agent: RunAgent,
    stored_urls: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    transport: str,
    limit: int | None,
    then: bytes | None,
    says: str,
) -> None:
    async with (
        serving(SITE) as site,
        forwarding(site.url, limit=limit, then=then) as one,
        forwarding(site.url) as two,
    ):
        lines = [f"http://me:{PASSWORD}@127.0.0.1:{proxy.port}" for proxy in (one, two)]
        monkeypatch.setenv("AGENTIC_SECRET_SHOPS__EU", "\n".join(lines))
        http: JSONValue = {"proxies": "${secrets.eu}", "transport": transport, "max_connections_per_host": 1}
        step: JSONValue = {"type": "crawl", "start": f"{HOST}/", "slice_pages": 10}
        outcome = await run_agent(make_agent(pipeline={"steps": [step], "http": http}, inputs={}))
    assert (outcome.error, outcome.status) == (None, ExecutionStatus.SUCCEEDED)
    assert len(stored_urls()) == 31
    assert len(one.heads) + len(two.heads) >= 32
    found = [warning for warning in outcome.warnings if "proxy 1" in warning]
    if says:
        assert len(one.heads) < len(two.heads)
        assert says in found[0]
        assert "rests" in found[0]
    else:
        assert abs(len(one.heads) - len(two.heads)) <= 1
        assert [*outcome.warnings] == []
    assert all("proxy-authorization: basic" in head.lower() for head in (*one.heads, *two.heads))
    shown = f"{outcome} {capsys.readouterr()}"
    assert PASSWORD not in shown
    assert f":{one.port}" not in shown


async def test_a_step_says_that_a_proxy_rests(
    make_agent: MakeAgent, run_agent: RunAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        serving(SITE) as site,
        forwarding(site.url, limit=0, then=STRANGER) as one,
        forwarding(site.url) as two,
    ):
        monkeypatch.setenv(
            "AGENTIC_SECRET_SHOPS__EU", f"127.0.0.1:{one.port}\n127.0.0.1:{two.port}:me:{PASSWORD}"
        )
        steps: JSONValue = [{"actor": "fetch", "id": "page", "config": {"url": f"{HOST}/1"}}]
        http: JSONValue = {"proxies": ["${secrets.eu}"], "obey_robots": False}
        outcome = await run_agent(make_agent(pipeline={"steps": steps, "http": http}, inputs={}))
    [warning] = [warning for warning in outcome.warnings if "proxy 1" in warning]
    assert "the proxy refused with status 407; check its user name and password" in warning
