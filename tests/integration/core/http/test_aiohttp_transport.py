"""The transport against sockets that answer well, badly, slowly or not at all."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from agentic.core.http import FetchError, HttpPolicy, HttpRequest, HttpResponse, Transport
from agentic.core.http.aiohttp_transport import AiohttpTransport

pytestmark = pytest.mark.integration

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Peer:
    """A server that reads one request a connection, then does as told and hangs up."""

    def __init__(self, answer: bytes | Answer) -> None:
        self._answer = answer
        self._connections: set[asyncio.Task[None]] = set()
        self.requests: list[bytes] = []
        self.port = 0

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(asyncio.create_task(self._handle(reader, writer)))

    async def finish(self) -> None:
        await asyncio.gather(*self._connections)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # The client may hang up at any time, as some tests want it to.
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await self._respond(reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not isinstance(self._answer, bytes):
            await self._answer(reader, writer)
            return
        head = await reader.readuntil(b"\r\n\r\n")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        self.requests.append(head + await reader.readexactly(int(length or b"0")))
        writer.write(self._answer)
        await writer.drain()


@asynccontextmanager
async def listening(answer: bytes | Answer) -> AsyncIterator[Peer]:
    peer = Peer(answer)
    server = await asyncio.start_server(peer.accept, "127.0.0.1", 0)
    peer.port = server.sockets[0].getsockname()[1]
    async with server:
        yield peer
    await peer.finish()


@pytest.fixture
async def transport() -> AsyncIterator[Transport]:
    policy = HttpPolicy(allow_private_hosts=("127.0.0.1",), user_agent="testbot/1.0")
    async with AiohttpTransport(policy) as opened:
        yield opened


async def send(
    transport: Transport, url: str, *, timeout_s: float = 10, max_bytes: int = 10_000
) -> HttpResponse:
    return await transport.send(HttpRequest(url=url), timeout_s=timeout_s, max_bytes=max_bytes)


async def failure(transport: Transport, answer: bytes | Answer, *, timeout_s: float = 10) -> FetchError:
    async with listening(answer) as peer:
        with pytest.raises(FetchError) as caught:
            await send(transport, f"http://127.0.0.1:{peer.port}/", timeout_s=timeout_s)
        return caught.value


async def test_an_answer_comes_whole_with_its_headers(transport: Transport) -> None:
    head = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=latin-1\r\nContent-Length: 1\r\n\r\n"
    async with listening(head + b"\xe9") as peer:
        response = await send(transport, f"http://me:secret@127.0.0.1:{peer.port}/a?b=c#d")
    assert (response.status, response.text, response.content_type) == (404, "é", "text/plain")
    assert response.url == f"http://127.0.0.1:{peer.port}/a?b=c"
    assert response.elapsed_s > 0


async def test_method_headers_and_body_are_sent_and_the_user_agent_added(transport: Transport) -> None:
    async with listening(b"HTTP/1.1 204 No Content\r\n\r\n") as peer:
        request = HttpRequest(
            url=f"http://127.0.0.1:{peer.port}/", method="POST", headers={"X-One": "1"}, body=b"{}"
        )
        await transport.send(request, timeout_s=10, max_bytes=10)
    sent = peer.requests[0]
    assert sent.startswith(b"POST / HTTP/1.1\r\n")
    assert b"X-One: 1\r\n" in sent
    assert b"User-Agent: testbot/1.0\r\n" in sent
    assert sent.endswith(b"\r\n\r\n{}")


async def test_a_redirect_is_handed_back_and_not_followed(transport: Transport) -> None:
    async with listening(b"HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n") as peer:
        response = await send(transport, f"http://127.0.0.1:{peer.port}/a")
    assert (response.status, response.headers["Location"]) == (302, "/b")
    assert len(peer.requests) == 1


async def test_cookies_are_not_kept(transport: Transport) -> None:
    async with listening(b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n") as peer:
        for _ in range(2):
            await send(transport, f"http://127.0.0.1:{peer.port}/")
    assert b"cookie" not in peer.requests[1].lower()


async def test_a_silent_server_is_a_timeout(transport: Transport) -> None:
    async def silence(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    assert (await failure(transport, silence, timeout_s=0.2)).failure_class == "timeout"


async def test_a_server_that_dribbles_is_a_timeout(transport: Transport) -> None:
    async def dribble(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.01)

    assert (await failure(transport, dribble, timeout_s=0.3)).failure_class == "timeout"


async def test_a_body_larger_than_allowed_is_not_read_to_its_end(transport: Transport) -> None:
    sent = 0

    async def flood(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"x" * 10_000)
            sent += 10_000
            await writer.drain()

    error = await failure(transport, flood)
    assert (error.failure_class, error.status) == ("too_large", 200)
    assert sent < 100_000_000


async def test_a_small_body_that_unpacks_to_a_large_one_is_too_large(transport: Transport) -> None:
    packed = gzip.compress(bytes(10_000_000))
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n"
    assert (await failure(transport, head.encode() + packed)).failure_class == "too_large"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"", "connect"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", "connect"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", "connect"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello", "decode"),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "decode"),
        (b"HTTP/1.1 200 OK\r\nX-Long: " + b"a" * 20_000 + b"\r\n\r\n", "decode"),
    ],
    ids=["hangs up", "cut", "cut chunk", "no gzip", "no http", "huge header"],
)
async def test_an_answer_that_is_broken_has_its_class(
    transport: Transport, answer: bytes, expected: str
) -> None:
    assert (await failure(transport, answer)).failure_class == expected


async def test_a_server_without_tls_is_a_tls_failure(transport: Transport) -> None:
    async def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()

    async with listening(refuse) as peer:
        with pytest.raises(FetchError) as caught:
            await send(transport, f"https://127.0.0.1:{peer.port}/")
    assert caught.value.failure_class == "tls"


async def test_a_port_nobody_listens_on_is_a_connect_failure(transport: Transport) -> None:
    async with listening(b"") as peer:
        port = peer.port
    with pytest.raises(FetchError) as caught:
        await send(transport, f"http://127.0.0.1:{port}/")
    assert caught.value.failure_class == "connect"


async def test_a_name_that_does_not_exist_is_a_dns_failure(transport: Transport) -> None:
    with pytest.raises(FetchError, match="check its spelling") as caught:
        await send(transport, "http://no-such-host.invalid/")
    assert caught.value.failure_class == "dns"


@pytest.mark.parametrize("url", ["http://exa mple:99999/", "http://", "ftp://127.0.0.1/", "/a"])
async def test_what_is_no_url_is_refused(transport: Transport, url: str) -> None:
    with pytest.raises(FetchError) as caught:
        await send(transport, url)
    assert caught.value.failure_class == "invalid_url"


HOSTS = [
    "127.0.0.1",
    "localhost",
    "127.1",
    "2130706433",
    "0x7f.0.0.1",
    "0",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "①②⑦.0.0.1",
]


@pytest.mark.parametrize("host", HOSTS)
async def test_no_spelling_of_a_private_address_is_connected_to(host: str) -> None:
    async with listening(b"HTTP/1.1 200 OK\r\n\r\n") as peer, AiohttpTransport(HttpPolicy()) as closed:
        with pytest.raises(FetchError) as caught:
            await send(closed, f"http://{host}:{peer.port}/")
    assert caught.value.failure_class == "private_address"
    assert peer.requests == []


async def test_many_requests_at_once_to_a_private_name_are_all_refused() -> None:
    async with AiohttpTransport(HttpPolicy()) as closed:
        requests = [send(closed, f"http://localhost/{number}") for number in range(20)]
        errors = await asyncio.gather(*requests, return_exceptions=True)
    assert {(type(error), getattr(error, "failure_class", "")) for error in errors} == {
        (FetchError, "private_address")
    }


@pytest.mark.parametrize("entry", ["localhost", "localhost:{port}"])
async def test_a_named_host_may_be_private(entry: str) -> None:
    async with listening(b"HTTP/1.1 204 No Content\r\n\r\n") as peer:
        policy = HttpPolicy(allow_private_hosts=(entry.format(port=peer.port),))
        async with AiohttpTransport(policy) as opened:
            assert (await send(opened, f"http://localhost:{peer.port}/")).status == 204


def test_the_client_library_is_not_loaded_before_it_is_used() -> None:
    code = "import sys, agentic.core.http; sys.exit(not {'aiohttp', 'protego'}.isdisjoint(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
