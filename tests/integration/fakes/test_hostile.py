from __future__ import annotations

import asyncio
from http import HTTPStatus

import aiohttp
import pytest

from agentic.fakes.server import FakeServer

pytestmark = pytest.mark.integration

Client = aiohttp.ClientSession


async def test_huge_and_packed_bodies_have_the_size_they_say(client: Client, fakes: FakeServer) -> None:
    async with client.get(f"{fakes.hostile_url}huge?mib=2") as response:
        assert len(await response.read()) == 2 << 20
    async with client.get(f"{fakes.hostile_url}gzip-bomb?mib=4") as response:
        assert response.headers["content-encoding"] == "gzip"
        assert await response.read() == bytes(4 << 20)


async def test_an_endless_body_goes_on_and_the_server_survives_who_leaves(
    client: Client, fakes: FakeServer
) -> None:
    async with client.get(f"{fakes.hostile_url}endless") as response:
        assert response.headers["transfer-encoding"] == "chunked"
        assert len(await response.content.readexactly(1 << 20)) == 1 << 20
    async with client.get(fakes.hostile_url) as response:
        assert response.status == 200


async def test_a_slow_body_comes_byte_by_byte(client: Client, fakes: FakeServer) -> None:
    async with client.get(f"{fakes.hostile_url}slow?bytes=3&every_ms=10") as response:
        assert [await response.content.read(99) for _ in range(3)] == [b"<", b"p", b">"]
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3), client.get(f"{fakes.hostile_url}slow?every_ms=60000") as response:
            await response.read()


async def test_redirects_end_or_do_not(client: Client, fakes: FakeServer) -> None:
    async with client.get(f"{fakes.hostile_url}redirects/3") as response:
        assert (response.status, len(response.history)) == (200, 3)
    with pytest.raises(aiohttp.TooManyRedirects):
        await client.get(f"{fakes.hostile_url}loop")
    there = "http://169.254.169.254/latest?a=b"
    async with client.get(
        f"{fakes.hostile_url}to", params={"url": there, "status": "307"}, allow_redirects=False
    ) as response:
        assert (response.status, response.headers["location"]) == (307, there)


async def test_a_generated_site_is_reached_from_many(client: Client, fakes: FakeServer) -> None:
    async with client.get(f"{fakes.hostile_url}many?pages=500") as response:
        assert str(response.url) == f"{fakes.hostile_url}site/500/"
        assert (await response.text()).count("<li>") == 10
    async with client.get(f"{fakes.hostile_url}site/500/item/7") as response:
        assert response.headers["etag"]


async def test_a_rate_limit_tells_how_long_to_wait_and_who_did_not(client: Client, fakes: FakeServer) -> None:
    url = f"{fakes.hostile_url}ratelimit?per_s=0.1&key=k"
    statuses, waits = [], []
    for _ in range(3):
        async with client.get(url) as response:
            statuses.append(response.status)
            waits.append(response.headers.get("retry-after"))
    assert (statuses, waits) == ([200, 429, 429], [None, "10", "10"])
    async with client.get(f"{fakes.hostile_url}ratelimit/stats") as response:
        assert await response.json() == {"k": {"allowed": 1, "refused": 2, "early": 1}}


async def test_a_flaky_page_fails_and_then_works(client: Client, fakes: FakeServer) -> None:
    statuses = []
    for _ in range(3):
        async with client.get(f"{fakes.hostile_url}flaky?status=502&times=2") as response:
            statuses.append(response.status)
    assert statuses == [502, 502, 200]


@pytest.mark.parametrize(
    ("path", "status", "content_type"),
    [
        ("status/410", 410, "text/plain"),
        ("status/204", 204, ""),
        ("challenge/cloudflare", 403, "text/html"),
        ("challenge/captcha", 200, "text/html"),
        ("challenge/aws", 202, "text/html"),
        ("charset/bom", 200, "text/html"),
        ("malformed/nested", 200, "text/html"),
        ("malformed/nothing", 404, "text/plain"),
        ("nothing/nested", 404, "text/plain"),
        ("not-html", 200, "application/pdf"),
        ("deep/12", 200, "text/html"),
    ],
)
async def test_a_page_answers_as_it_is_called(
    client: Client, fakes: FakeServer, path: str, status: int, content_type: str
) -> None:
    async with client.get(fakes.hostile_url + path) as response:
        assert response.status == status
        assert response.headers.get("content-type", "").partition(";")[0] == content_type


@pytest.mark.parametrize(
    "path",
    ["huge?mib=0", "huge?mib=99999", "huge?mib=x", "ratelimit?per_s=nan", "status/99", "to?status=200"],
)
async def test_numbers_out_of_range_are_refused(client: Client, fakes: FakeServer, path: str) -> None:
    async with client.get(fakes.hostile_url + path) as response:
        assert response.status == HTTPStatus.UNPROCESSABLE_ENTITY
