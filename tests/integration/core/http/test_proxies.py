"""Every transport through a proxy of a hundred lines."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator

import pytest
from tests.forwarding import closed_in_the_end

from agentic.core.http import (
    Fetcher,
    FetchError,
    HttpPolicy,
    HttpRequest,
    HttpResponse,
    HttpSession,
    ProcessBudget,
    open_budget,
    open_fetcher,
    open_transport,
)
from agentic.core.testing.http_peer import Peer, listening, page

pytestmark = pytest.mark.integration

TRANSPORTS = ("aiohttp", "httpx2", "curl_cffi")


class Proxy:
    """Answers plain requests by itself, and tunnels the others to ``target``; speaks HTTP and SOCKS 5."""

    def __init__(self, *, status: bytes = b"") -> None:
        self.status = status
        self.heads: list[str] = []
        self.names: list[str] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with closed_in_the_end(writer):
            first = await reader.readexactly(1)
            if first == b"\x05":
                await self._socks(reader, writer)
            else:
                await self._http(first, reader, writer)

    async def _http(self, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (first + await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        if self.status:
            writer.write(b"HTTP/1.1 " + self.status + b"\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
        elif head.startswith("CONNECT "):
            writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
            host, _, port = head.split()[1].rpartition(":")
            await self._tunnel(host, int(port), reader, writer)
        else:
            writer.write(page(b"by the proxy"))
            await writer.drain()

    async def _socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly((await reader.readexactly(1))[0])
        writer.write(b"\x05\x02")  # user name and password, please
        _, length = await reader.readexactly(2)
        user = await reader.readexactly(length)
        password = await reader.readexactly((await reader.readexactly(1))[0])
        self.heads.append(f"{user.decode()}:{password.decode()}")
        writer.write(b"\x01\x00")
        _, _, _, kind = await reader.readexactly(4)
        host = await reader.readexactly((await reader.readexactly(1))[0] if kind == 3 else 4)
        port = int.from_bytes(await reader.readexactly(2))
        writer.write(b"\x05\x00\x00\x01" + bytes(6))
        await self._tunnel(host.decode() if kind == 3 else ".".join(map(str, host)), port, reader, writer)

    async def _tunnel(
        self, host: str, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.names.append(host)
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        async with closed_in_the_end(far_writer):
            both = [
                asyncio.create_task(pump(reader, far_writer)),
                asyncio.create_task(pump(far_reader, writer)),
            ]
            try:
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in both:
                    task.cancel()


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()


@contextlib.asynccontextmanager
async def proxying(*, status: bytes = b"") -> AsyncIterator[Proxy]:
    proxy = Proxy(status=status)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    async with server:
        yield proxy


async def get(url: str, transport: str, proxy: str) -> HttpResponse:
    policy = HttpPolicy.model_validate({"transport": transport, "proxy": proxy})
    async with open_transport(policy) as opened:
        return await opened.send(HttpRequest(url=url), timeout_s=5, max_bytes=10_000)


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_plain_request_goes_through_the_proxy_with_its_password(transport: str) -> None:
    async with proxying() as proxy:
        response = await get(
            "http://site.example/a?b=c", transport, f"http://me:secret@127.0.0.1:{proxy.port}"
        )
    assert (response.body, response.url) == (b"by the proxy", "http://site.example/a?b=c")
    [head] = proxy.heads
    assert re.match(r"GET http://site\.example(:80)?/a\?b=c HTTP/1\.1\r\n", head)
    assert "proxy-authorization: basic bwu6c2vjcmv0\r\n" in head.lower()


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_secure_request_goes_through_a_tunnel_that_the_proxy_cannot_read(transport: str) -> None:
    seen = []

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.read(1_000))
        writer.close()

    site = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    async with proxying() as proxy, site:
        port = site.sockets[0].getsockname()[1]
        with pytest.raises(FetchError):
            await get(f"https://site.example:{port}/path", transport, f"http://127.0.0.1:{proxy.port}")
    assert proxy.names[0] == "site.example"
    assert "/path" not in "".join(proxy.heads)
    assert b"site.example" in seen[0]  # the name that TLS is to be for


@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
async def test_curl_goes_through_a_socks_proxy(scheme: str) -> None:
    async with proxying() as proxy, listening(page(b"hello")) as site:
        url = f"http://localhost.example:{site.port}/" if scheme == "socks5h" else site.url
        if scheme == "socks5":
            with pytest.raises(FetchError, match="private_address"):
                await get(url, "curl_cffi", f"{scheme}://me:secret@127.0.0.1:{proxy.port}")
            return
        response = await get(url, "curl_cffi", f"{scheme}://me:secret@127.0.0.1:{proxy.port}")
    assert response.body == b"hello"
    assert (proxy.heads, proxy.names) == (["me:secret"], ["localhost.example"])


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(
    "url",
    [
        "http://10.0.0.1/",
        "http://localhost/",
        "http://localhost./",
        "http://loc%61lhost/",
        "http://%31%32%37.0.0.1/",
        "http://0x7f000001./",
        "http://[::1]/",
        "http://2130706433/",
        "http://metadata.google.internal/",
    ],
)
async def test_the_proxys_own_network_is_not_asked_for_by_name(url: str, transport: str) -> None:
    async with proxying() as proxy:
        with pytest.raises(FetchError) as caught:
            await get(url, transport, f"http://127.0.0.1:{proxy.port}")
    assert caught.value.failure_class == "private_address"
    assert proxy.heads == []


@pytest.mark.requirement("PL41")
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_proxy_that_refuses_is_told_without_its_password(transport: str) -> None:
    async with proxying(status=b"407 Who Are You") as proxy:
        with pytest.raises(FetchError) as caught:
            await get("https://site.example/", transport, f"http://me:hunter2@127.0.0.1:{proxy.port}")
    assert (caught.value.failure_class, caught.value.detail) == ("connect", "proxy")
    assert "407" in str(caught.value)
    assert "hunter2" not in f"{caught.value} {caught.value.__dict__}"


@pytest.mark.requirement("PL41")
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_proxy_that_is_away_is_told_without_its_password(transport: str) -> None:
    async with proxying() as proxy:
        port = proxy.port
    with pytest.raises(FetchError) as caught:
        await get("http://site.example/", transport, f"http://me:hunter2@127.0.0.1:{port}")
    assert (caught.value.failure_class, caught.value.detail) == ("connect", "proxy")
    assert not {"hunter2", "127.0.0.1", str(port)} & {*re.split(r"[:@/ \])]", str(caught.value))}


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("url", ["http://site.example/", "https://site.example/"])
async def test_a_proxy_whose_name_does_not_exist_is_told_as_such(url: str, transport: str) -> None:
    with pytest.raises(FetchError, match="the proxy's name cannot be resolved") as caught:
        await get(url, transport, "http://me:hunter2@no-such-proxy.invalid:3128")
    assert (caught.value.failure_class, caught.value.detail) == ("connect", "proxy")


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_site_that_a_proxy_cannot_reach_is_not_the_proxys_fault(transport: str) -> None:
    async with proxying(status=b"502 Bad Gateway") as proxy:
        with pytest.raises(FetchError, match="502") as caught:
            await get("https://site.example/", transport, f"http://127.0.0.1:{proxy.port}")
    assert (caught.value.failure_class, caught.value.detail) == ("connect", "")


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_faults_of_the_sites_tls_are_not_the_proxys(transport: str) -> None:
    async with proxying() as proxy, listening(b"HTTP/1.1 400 Bad Request\r\n\r\n") as site:
        with pytest.raises(FetchError) as caught:
            await get(f"https://site.example:{site.port}/", transport, f"http://127.0.0.1:{proxy.port}")
    assert caught.value.detail == ""


@contextlib.asynccontextmanager
async def fetching(transport: str, *proxies: str, **policy: object) -> AsyncIterator[Fetcher]:
    given = {"transport": transport, "proxies": proxies, "obey_robots": False, **policy}
    async with open_fetcher(HttpPolicy.model_validate(given), budget=ProcessBudget()) as fetcher:
        yield fetcher


async def outcome(fetcher: Fetcher, request: HttpRequest | str) -> str:
    try:
        return (await fetcher.fetch(request)).body.decode()
    except FetchError as exc:
        return exc.failure_class


def exit_at(peer: Proxy | Peer) -> str:
    return f"http://me:hunter2@127.0.0.1:{peer.port}"


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_requests_take_several_proxies_in_turn(transport: str) -> None:
    async with (
        listening(page(b"one")) as one,
        listening(page(b"two")) as two,
        fetching(transport, exit_at(one), exit_at(two)) as fetcher,
    ):
        found = [await outcome(fetcher, f"http://site.example/{number}") for number in range(6)]
    assert found == ["one", "two"] * 3
    assert len(one.requests) == len(two.requests) == 3


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_proxy_that_dies_in_the_middle_of_a_crawl_costs_a_retry(transport: str) -> None:
    async with contextlib.AsyncExitStack() as both:
        two = await both.enter_async_context(listening(page(b"two")))
        async with contextlib.AsyncExitStack() as first:
            one = await first.enter_async_context(proxying())
            fetcher = await both.enter_async_context(fetching(transport, exit_at(one), exit_at(two)))
            assert fetcher.exits is not None
            before = [await outcome(fetcher, f"http://site.example/{number}") for number in range(4)]
        after = [await outcome(fetcher, f"http://site.example/{number}") for number in range(20)]
        dead, living = fetcher.exits.statistics()
    assert before == ["by the proxy", "two"] * 2
    # A kept connection may end first, which could be the host's own fault; then connecting fails.
    assert {*after} == {"connect", "two"}
    assert after.count("connect") <= 3
    assert after[-10:] == ["two"] * 10
    assert dead["last_failure"] == "connect"
    assert living["failures"] == {}


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_proxy_that_refuses_the_login_rests_for_all_hosts(transport: str) -> None:
    async with (
        proxying(status=b"407 Who Are You") as one,
        listening(page(b"two")) as two,
        fetching(transport, exit_at(one), exit_at(two)) as fetcher,
    ):
        assert await outcome(fetcher, "https://site.example/") == "connect"
        found = [await outcome(fetcher, f"http://site{number}.example/") for number in range(3)]
    assert found == ["two"] * 3
    assert len(one.heads) == 1


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_proxy_that_gets_429_for_a_host_rests_for_that_host(transport: str) -> None:
    too_many = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n"
    async with (
        listening(too_many) as one,
        listening(page(b"two")) as two,
        fetching(transport, exit_at(one), exit_at(two)) as fetcher,
    ):
        found = [await outcome(fetcher, "http://site.example/") for _ in range(5)]
        other = await outcome(fetcher, "http://other.example/")
    assert (found, other) == (["rate_limited"] + ["two"] * 4, "rate_limited")


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_login_stays_with_one_proxy(transport: str) -> None:
    async with (
        listening(page(b"one")) as one,
        listening(page(b"two")) as two,
        fetching(transport, exit_at(one), exit_at(two)) as fetcher,
    ):
        asked = HttpRequest(url="http://site.example/", session=HttpSession(name="shop"))
        found = {await outcome(fetcher, asked) for _ in range(6)}
    assert len(found) == 1


async def test_nothing_is_sent_past_the_proxies_when_all_are_away() -> None:
    async with listening(page(b"")) as one, listening(page(b"")) as two:
        urls = exit_at(one), exit_at(two)
    async with listening(page(b"direct")) as site:
        private = {"allow_private_hosts": ("127.0.0.1",), "max_wait_s": 1}
        async with fetching("aiohttp", *urls, **private) as fetcher:
            for _ in range(2):
                assert await outcome(fetcher, site.url) == "connect"
            with pytest.raises(FetchError, match=r"all proxies rest.*proxy 1 .*proxy 2") as caught:
                await fetcher.fetch(site.url)
    assert (caught.value.failure_class, caught.value.detail) == ("connect", "proxy")
    assert 0 < (caught.value.retry_after_s or 0) <= 5
    assert site.requests == []
    assert "hunter2" not in str(caught.value)


async def test_a_proxy_that_answers_for_a_host_blocks_it_for_nobody_else(redis_url: str) -> None:
    too_many = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 31536000\r\nContent-Length: 0\r\n\r\n"
    budget = open_budget(redis_url)
    async with listening(too_many) as proxy, listening(page(b"hello")) as site:
        site_url = f"http://127.0.0.1:{site.port}/"
        open_host = HttpPolicy(obey_robots=False, allow_private_hosts=("127.0.0.1",), max_wait_s=1)
        led = HttpPolicy.model_validate({**dict(open_host), "proxy": f"http://127.0.0.1:{proxy.port}"})
        async with open_fetcher(led, budget=budget) as one, open_fetcher(open_host, budget=budget) as other:
            for _ in range(2):
                with pytest.raises(FetchError) as caught:
                    await one.fetch(site_url)
                assert caught.value.failure_class == "rate_limited"
            assert (await other.fetch(site_url)).body == b"hello"
    await budget.aclose()
    assert len(proxy.requests) == 1
