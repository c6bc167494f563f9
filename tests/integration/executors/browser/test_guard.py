"""Nothing that a page does leads to an address the guard refuses, nor past the proxy."""

from __future__ import annotations

import asyncio
import socket
from base64 import b64encode
from collections.abc import AsyncIterator

import aiohttp
import pytest
import pytest_asyncio
from pydantic import SecretStr
from tests.integration.executors.browser.site import Site

from agentic.core.browser import BrowserFetcher, BrowserRequest, Politeness
from agentic.core.http import AddressGuard, FetchError, HttpPolicy, open_fetcher
from agentic.executors.browser import PlaywrightBrowser
from agentic.executors.browser.proxy import USER, GuardedProxy

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(loop_scope="module")
async def local(browser: PlaywrightBrowser) -> AsyncIterator[BrowserFetcher]:
    """Return a fetcher that may go to ``localhost`` by that name alone."""
    policy = HttpPolicy(allow_private_hosts=("localhost",), obey_robots=False, timeout_s=10)
    async with open_fetcher(policy) as http:
        yield BrowserFetcher(http, browser)


@pytest.mark.parametrize("way", ["/to", "/script-to"])
async def test_no_redirect_leads_into_the_own_network(local: BrowserFetcher, site: Site, way: str) -> None:
    with pytest.raises(FetchError) as caught:
        await local.fetch(f"{site.other_url}{way}?url={site.url}/list")
    assert caught.value.failure_class == "private_address"
    assert f"add '127.0.0.1:{site.port}' to allow_private_hosts" in str(caught.value)
    assert "127.0.0.1/list" not in site.asked


@pytest.mark.parametrize("host", ["127.0.0.1", "[::ffff:127.0.0.1]", "2130706433"])
async def test_nothing_a_page_loads_comes_from_the_own_network(
    local: BrowserFetcher, site: Site, host: str
) -> None:
    url = f"{site.other_url}/loads?url=http://{host}:{site.port}"
    page = await local.fetch(BrowserRequest(url=url, wait_for="#done"))
    assert page.status == 200
    assert [path for path in site.asked if "/asked/" in path] == []


async def test_what_may_be_loaded_is_loaded(local: BrowserFetcher, site: Site) -> None:
    """Shows that the tests above would see it."""
    url = f"{site.other_url}/loads?url={site.other_url}"
    await local.fetch(BrowserRequest(url=url, wait_for="#done"))
    assert {path for path in site.asked if "/asked/" in path} == {
        "localhost/asked/frame",
        "localhost/asked/data",
        "localhost/asked/socket",
    }


async def test_pages_of_different_policies_are_guarded_each_by_its_own(
    local: BrowserFetcher, fetcher: BrowserFetcher, site: Site
) -> None:
    url = f"{site.other_url}/to?url={site.url}/list"
    one, other = await asyncio.gather(local.fetch(url), fetcher.fetch(url), return_exceptions=True)
    assert isinstance(one, FetchError)
    assert not isinstance(other, BaseException)


async def test_no_datagram_goes_past_the_proxy(local: BrowserFetcher, site: Site) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.setblocking(False)
        url = f"{site.other_url}/datagrams?port={listener.getsockname()[1]}"
        await local.fetch(BrowserRequest(url=url, wait_for="#done"))
        with pytest.raises(BlockingIOError):
            listener.recv(1)


@pytest_asyncio.fixture(loop_scope="module")
async def proxy() -> AsyncIterator[GuardedProxy]:
    made = GuardedProxy()
    await made.start()
    yield made
    await made.aclose()


def basic(password: str) -> str:
    return f"Basic {b64encode(f'{USER}:{password}'.encode()).decode()}"


async def entered(_url: str) -> None:
    """Wait for nothing."""


def politeness(*allowed: str) -> Politeness:
    return Politeness(
        guard=AddressGuard(allowed), user_agent="testbot", timeout_s=10, max_bytes=100_000, enter=entered
    )


@pytest.mark.parametrize("password", [None, "guessed", "withdrawn"])
async def test_the_proxy_lets_nobody_through_without_a_pass(
    proxy: GuardedProxy, site: Site, password: str | None
) -> None:
    given = proxy.admit(politeness("127.0.0.1"))
    await proxy.withdraw(given)
    tried = given.password if password == "withdrawn" else password
    headers = {"Proxy-Authorization": basic(tried)} if tried else {}
    async with (
        aiohttp.ClientSession() as client,
        client.get(f"{site.url}/json", proxy=proxy.url, headers=headers) as answer,
    ):
        assert answer.status == 407
    assert not site.asked


async def test_the_proxy_serves_one_request_a_connection(proxy: GuardedProxy, site: Site) -> None:
    """A second request on the connection would reach a host that was never checked for it."""
    given = proxy.admit(politeness("127.0.0.1"))
    port = int(proxy.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    credential = f"Proxy-Authorization: {basic(given.password)}\r\n"
    head = f"GET {site.url}/json HTTP/1.1\r\nHost: a\r\n{credential}\r\n"
    writer.write(head.encode() * 2)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    assert answer.count(b"HTTP/1.1") <= 1
    assert site.asked["a/json"] <= 1


async def test_a_body_goes_through_the_proxy_whole(proxy: GuardedProxy, site: Site) -> None:
    given = proxy.admit(politeness("127.0.0.1"))
    headers = {"Proxy-Authorization": basic(given.password)}
    form = {"user": "ada", "password": "open sesame", "more": "x" * 200_000}
    async with (
        aiohttp.ClientSession() as client,
        client.post(f"{site.url}/login", data=form, proxy=proxy.url, headers=headers) as answer,
    ):
        assert str(answer.url) == f"{site.url}/home"
    assert given.received_bytes > 0


async def test_pages_come_through_the_proxy_of_the_policy(
    browser: PlaywrightBrowser, proxy: GuardedProxy, site: Site
) -> None:
    given = proxy.admit(politeness("127.0.0.1"))
    users = proxy.url.replace("//", f"//{USER}:{given.password}@")
    policy = HttpPolicy(allow_private_hosts=("127.0.0.1",), proxy=SecretStr(users))
    async with open_fetcher(policy) as http:
        page = await BrowserFetcher(http, browser).fetch(f"{site.url}/whoami")
        assert page.status == 200
        received = given.received_bytes
        assert received > len(page.body)
        with pytest.raises(FetchError) as caught:
            await BrowserFetcher(http, browser).fetch(f"{site.other_url}/whoami")
    assert caught.value.failure_class == "private_address"
    assert given.received_bytes == received


async def test_a_page_takes_another_proxy_when_one_is_away_or_refuses(
    browser: PlaywrightBrowser, proxy: GuardedProxy, site: Site
) -> None:
    given = proxy.admit(politeness("127.0.0.1"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        away = f"http://127.0.0.1:{taken.getsockname()[1]}"
    stranger = proxy.url.replace("//", f"//{USER}:guessed@")
    living = proxy.url.replace("//", f"//{USER}:{given.password}@")
    policy = HttpPolicy.model_validate(
        {"allow_private_hosts": ["127.0.0.1"], "obey_robots": False, "proxies": [away, stranger, living]}
    )
    async with open_fetcher(policy) as http:
        shows = BrowserFetcher(http, browser)
        for reason in ("no connection to the proxy", "the proxy refused with status 407"):
            with pytest.raises(FetchError, match=reason) as caught:
                await shows.fetch(f"{site.url}/whoami")
            assert (caught.value.failure_class, caught.value.detail) == ("connect", "proxy")
        for _ in range(2):
            assert (await shows.fetch(f"{site.url}/whoami")).status == 200
        assert http.exits is not None
        assert [one["requests"] for one in http.exits.statistics()] == [1, 1, 2]
    assert given.received_bytes > 0
