"""The fetcher over real sockets, against the project's own fakes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest

from agentic.core.http import FetchError, HttpPolicy, canonical_url, open_fetcher
from agentic.fakes.control import Fault
from agentic.fakes.server import FakeServer

pytestmark = pytest.mark.integration


@pytest.fixture
def fakes() -> Iterator[FakeServer]:
    with FakeServer(stories=30, products=30) as server:
        yield server


def requests_to(fakes: FakeServer) -> dict[str, int]:
    requests = fakes.control.stats()["requests"]
    assert isinstance(requests, dict)
    return {path: count for path, count in requests.items() if isinstance(count, int)}


LOOPBACK = HttpPolicy(allow_private_hosts=("127.0.0.1",))


@pytest.mark.requirement("PL45")
async def test_pages_and_items_are_fetched_from_the_fakes(fakes: FakeServer) -> None:
    async with open_fetcher(LOOPBACK) as fetcher:
        page = await fetcher.fetch(fakes.shop_url)
        top = await fetcher.fetch(f"{fakes.hackernews_url}/topstories.json")
    assert "<title>The Small Shop</title>" in page.text
    ids = top.json()
    assert isinstance(ids, list)
    assert len(ids) == 30


async def test_what_robots_txt_forbids_is_not_asked_for(fakes: FakeServer) -> None:
    async with open_fetcher(LOOPBACK) as fetcher:
        with pytest.raises(FetchError, match="disallows it") as caught:
            await fetcher.fetch(f"{fakes.shop_url}private/orders")
    assert caught.value.failure_class == "robots_denied"
    assert requests_to(fakes) == {"/robots.txt": 1}


async def test_nothing_is_fetched_while_robots_txt_cannot_be_read(fakes: FakeServer) -> None:
    fakes.control.add(Fault(path="/robots.txt", status=503))
    async with open_fetcher(LOOPBACK) as fetcher:
        with pytest.raises(FetchError, match="it answered 503") as caught:
            await fetcher.fetch(fakes.shop_url)
    assert caught.value.failure_class == "robots_denied"
    assert requests_to(fakes) == {"/robots.txt": 1}


async def test_a_site_without_robots_txt_is_open(fakes: FakeServer) -> None:
    fakes.control.add(Fault(path="/robots.txt", status=404))
    async with open_fetcher(LOOPBACK) as fetcher:
        assert (await fetcher.fetch(f"{fakes.shop_url}private/orders")).status == 200


async def test_a_redirect_to_a_private_host_that_is_not_named_is_not_followed(fakes: FakeServer) -> None:
    policy = HttpPolicy(allow_private_hosts=("localhost",))
    url = fakes.shop_url.rstrip("/").replace("127.0.0.1", "localhost")
    async with open_fetcher(policy) as fetcher:
        assert (await fetcher.fetch(url)).url == f"{url}/"
        with pytest.raises(FetchError) as caught:
            await fetcher.fetch(fakes.shop_url)
    assert caught.value.failure_class == "private_address"


async def test_retry_after_holds_back_every_fetcher_of_the_process(fakes: FakeServer) -> None:
    fakes.control.add(Fault(path="/shop/product/1", status=429, retry_after_s=1))
    async with open_fetcher(LOOPBACK) as first, open_fetcher(LOOPBACK) as second:
        with pytest.raises(FetchError) as caught:
            await first.fetch(f"{fakes.shop_url}product/1")
        refused_at = time.monotonic()
        await asyncio.gather(*(second.fetch(f"{fakes.shop_url}product/{number}") for number in (1, 2, 3)))
    assert (caught.value.failure_class, caught.value.retry_after_s) == ("rate_limited", 1)
    assert time.monotonic() - refused_at > 0.95


async def test_connections_to_a_host_stay_within_the_limit(fakes: FakeServer) -> None:
    fakes.control.add(Fault(path="/shop/*", delay_s=0.02, times=None))
    async with open_fetcher(LOOPBACK.model_copy(update={"max_connections_per_host": 4})) as fetcher:
        await asyncio.gather(*(fetcher.fetch(f"{fakes.shop_url}product/{number}") for number in range(1, 31)))
    assert fakes.control.stats()["peak_in_flight"] == 4


async def test_a_page_cut_off_in_the_middle_is_a_failure_and_not_a_short_page(fakes: FakeServer) -> None:
    fakes.control.add(Fault(path="/shop/product/1", truncate=20))
    async with open_fetcher(LOOPBACK) as fetcher:
        with pytest.raises(FetchError) as caught:
            await fetcher.fetch(f"{fakes.shop_url}product/1")
        assert len((await fetcher.fetch(f"{fakes.shop_url}product/1")).body) > 20
    assert caught.value.failure_class == "connect"


async def test_the_tracked_links_of_a_page_are_spellings_of_its_plain_ones(fakes: FakeServer) -> None:
    base = f"{fakes.shop_url}product/1"
    tracked = [f"{base}?utm_source=home&utm_medium=banner", f"{base}#reviews"]
    assert {canonical_url(url) for url in tracked} == {base}
