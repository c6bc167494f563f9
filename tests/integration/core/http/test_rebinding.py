"""Names whose addresses change between the check and the connection.

127.0.0.2 plays the internet, 127.0.0.1 the own network. Both listen on one port, so only the address decides
where a request goes.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial

import pytest
from tests.forwarding import closed_in_the_end
from tests.integration.core.http.names import NameServer, serving_names

from agentic.core.http import AddressGuard, FetchError, HttpPolicy, HttpRequest, open_transport
from agentic.core.http.guard import addresses
from agentic.core.http.transports import wire
from agentic.core.testing.http_peer import page
from agentic.executors.browser.dialing import Dialer, Refused

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere 127.0.0.2 is no address of loopback"),
]

NAME = "rebound.example"
PUBLIC, INNER = "127.0.0.2", "127.0.0.1"
TRANSPORTS = ("aiohttp", "httpx2", "curl_cffi")

Ask = Callable[[int], Awaitable[list[str]]]


@dataclass(slots=True)
class Site:
    """One port at both addresses.

    Attributes:
        port: Of both.
        reached: Which addresses were connected to.
    """

    port: int = 0
    reached: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = writer.get_extra_info("sockname")[0]
        self.reached.append(address)
        async with closed_in_the_end(writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(page(address.encode(), "Connection: close"))
            await writer.drain()


@asynccontextmanager
async def listening_at(*hosts: str) -> AsyncIterator[Site]:
    site = Site()
    async with AsyncExitStack() as opened:
        for listener in sockets_at(hosts):
            await opened.enter_async_context(await asyncio.start_server(site.serve, sock=listener))
            site.port = listener.getsockname()[1]
        yield site


def sockets_at(hosts: Sequence[str]) -> list[socket.socket]:
    """Return sockets with one port that is free at all addresses."""
    while True:
        found: list[socket.socket] = []
        try:
            for host in hosts:
                found.append(socket.socket())
                found[-1].bind((host, found[0].getsockname()[1]))
        except OSError as exc:
            for one in found:
                one.close()
            if exc.errno != errno.EADDRINUSE:
                raise
        else:
            return found


@pytest.fixture(autouse=True)
def _one_public_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "is_public", lambda address: address == PUBLIC)


@contextmanager
def asking(server: NameServer) -> Iterator[None]:
    """Have this process ask ``server`` for what is no address; what asks another way finds no such name."""
    original = socket.getaddrinfo

    def getaddrinfo(host: str, port: int, *_: object, **__: object) -> list[object]:
        try:
            return list(original(host, port, flags=socket.AI_NUMERICHOST, type=socket.SOCK_STREAM))
        except socket.gaierror:
            found = server.look_up(host)
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", getaddrinfo)
        yield


async def fetched(transport: str, port: int, times: int = 1) -> list[str]:
    """Return which address answered each request, or why none did."""
    policy = HttpPolicy.model_validate({"transport": transport})
    found = []
    async with open_transport(policy) as opened:
        for _ in range(times):
            request = HttpRequest(url=f"http://{NAME}:{port}/")
            try:
                response = await opened.send(request, timeout_s=5, max_bytes=100)
                found.append(response.text)
            except FetchError as exc:
                found.append(exc.failure_class)
    return found


async def dialed(port: int) -> list[str]:
    """Do so with what connects for the browser."""
    try:
        _, writer = await Dialer(AddressGuard()).connect(NAME, port)
    except Refused as exc:
        return [exc.failure_class]
    peer: str = writer.get_extra_info("peername")[0]
    writer.close()
    await writer.wait_closed()
    return [peer]


WAYS = [
    *(pytest.param(partial(fetched, name), id=name) for name in TRANSPORTS),
    pytest.param(dialed, id="browser"),
]


@pytest.mark.parametrize("way", WAYS)
async def test_a_name_that_turns_inward_after_the_check_leads_to_the_checked_address(way: Ask) -> None:
    async with serving_names([PUBLIC], [INNER]) as names, listening_at(PUBLIC, INNER) as site:
        with asking(names):
            assert await way(site.port) == [PUBLIC]
    assert INNER not in site.reached
    assert names.asked == [NAME]


@pytest.mark.parametrize("way", WAYS)
async def test_a_name_that_leads_inward_is_refused_though_it_turns_outward_later(way: Ask) -> None:
    async with serving_names([INNER], [PUBLIC]) as names, listening_at(PUBLIC, INNER) as site:
        with asking(names):
            assert await way(site.port) == ["private_address"]
    assert site.reached == []


@pytest.mark.parametrize("way", WAYS)
async def test_of_a_mixed_answer_only_the_public_address_is_tried_even_if_nobody_is_there(way: Ask) -> None:
    async with serving_names([INNER, PUBLIC, INNER]) as names, listening_at(INNER) as site:
        with asking(names):
            assert await way(site.port) == ["connect"]
    assert site.reached == []


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_kept_answer_that_has_run_out_is_looked_up_and_checked_again(
    transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "DNS_KEPT_S", 0.0)
    monkeypatch.setattr("agentic.core.http.transports.aiohttp_transport.DNS_KEPT_S", 0.0)
    async with serving_names([PUBLIC], [INNER]) as names, listening_at(PUBLIC, INNER) as site:
        with asking(names):
            assert await fetched(transport, site.port, times=2) == [PUBLIC, "private_address"]
    assert site.reached == [PUBLIC]


async def test_with_a_socks5_proxy_that_is_given_addresses_these_are_checked() -> None:
    async with serving_names([INNER]) as names, listening_at(INNER) as site:
        policy = HttpPolicy.model_validate(
            {"transport": "curl_cffi", "proxy": f"socks5://127.0.0.1:{site.port}"}
        )
        with asking(names):
            async with open_transport(policy) as opened:
                with pytest.raises(FetchError) as caught:
                    await opened.send(HttpRequest(url=f"http://{NAME}/"), timeout_s=5, max_bytes=100)
    assert caught.value.failure_class == "private_address"
    assert site.reached == []
