"""What sites have in common: validators, robots.txt, revisions, the sink."""

from __future__ import annotations

import base64
import gzip
import shutil
import subprocess
from http import HTTPStatus

import aiohttp
import pytest
from protego import Protego
from selectolax.lexbor import LexborHTMLParser

from agentic.fakes.app import SLOW_AGENT
from agentic.fakes.server import FakeServer

pytestmark = pytest.mark.integration

Client = aiohttp.ClientSession
BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")


async def article(client: Client, fakes: FakeServer) -> str:
    async with client.get(fakes.news_url) as response:
        page = LexborHTMLParser(await response.read())
    return page.css("a.article")[0].attributes["href"] or ""


@pytest.mark.parametrize(
    "path", ["shop/product/1", "news/", "feeds/rss.xml", "jobs/", "hostile/site/9/item/9"]
)
@pytest.mark.parametrize(
    ("sent", "back"), [("etag", "if-none-match"), ("last-modified", "if-modified-since")]
)
async def test_a_page_the_client_has_is_not_sent_again(
    client: Client, fakes: FakeServer, path: str, sent: str, back: str
) -> None:
    url = f"{fakes.url}/{path}"
    async with client.get(url) as first:
        headers = {back: first.headers[sent]}
    async with client.get(url, headers=headers) as again:
        assert (again.status, await again.read()) == (304, b"")
        assert again.headers[sent] == headers[back]


async def test_robots_txt_has_a_slow_group_and_names_the_sitemaps(client: Client, fakes: FakeServer) -> None:
    async with client.get(f"{fakes.url}/robots.txt") as response:
        rules = Protego.parse(await response.text())
    assert rules.crawl_delay(SLOW_AGENT) == 2
    assert rules.crawl_delay("anybody") is None
    for path, agent, allowed in (
        ("drafts/next-week", "anybody", False),
        ("section/world", "anybody", True),
        ("section/world", SLOW_AGENT, False),
    ):
        assert rules.can_fetch(f"{fakes.news_url}{path}", agent) == allowed
    assert [*rules.sitemaps] == [f"{fakes.shop_url}sitemap.xml", f"{fakes.news_url}sitemap_index.xml"]


async def test_a_gzipped_sitemap_is_sent_as_a_file(client: Client, fakes: FakeServer) -> None:
    async with client.get(f"{fakes.news_url}sitemap-archive.xml.gz") as response:
        assert "content-encoding" not in response.headers
        assert b"<urlset" in gzip.decompress(await response.read())


async def test_a_revised_article_is_sent_to_who_had_it(client: Client, fakes: FakeServer) -> None:
    url = await article(client, fakes)
    async with client.get(url) as first:
        headers = {"if-none-match": first.headers["etag"]}
        modified = first.headers["last-modified"]
    order = {"path": url.removeprefix(fakes.url), "times": 1}
    async with client.post(f"{fakes.control_url}/revise", json=order) as made:
        assert made.status == HTTPStatus.CREATED
    async with client.get(url, headers=headers) as again:
        assert again.status == 200
        assert again.headers["last-modified"] != modified
        assert "Update 1:" in await again.text()


@pytest.mark.parametrize(
    ("panel", "order", "field"),
    [
        ("revise", {"path": "news"}, "path"),
        ("revise", {"path": "/", "times": 0}, "times"),
        ("sessions", {"requests": 0}, "requests"),
        ("firecrawl", {"polls": -1}, "polls"),
        ("firecrawl", {"pols": 1}, "pols"),
    ],
)
async def test_an_order_that_makes_no_sense_is_refused_naming_the_field(
    client: Client, fakes: FakeServer, panel: str, order: dict[str, object], field: str
) -> None:
    async with client.post(f"{fakes.control_url}/{panel}", json=order) as response:
        assert response.status == HTTPStatus.UNPROCESSABLE_ENTITY
        assert [error["field"] for error in (await response.json())["errors"]] == [field]


async def test_the_sink_keeps_what_a_webhook_sends_to_the_byte(client: Client, fakes: FakeServer) -> None:
    body, headers = b'{"n":1}\xff', {"X-Signature-256": "sha256=00ff"}
    for number in (1, 2):
        async with client.post(f"{fakes.sink_url}orders?try=1", data=body, headers=headers) as response:
            assert (response.status, await response.json()) == (202, {"number": number})
    async with client.get(f"{fakes.sink_url}orders") as response:
        kept = (await response.json())["deliveries"]
    assert len(kept) == 2
    assert kept[0]["headers"]["x-signature-256"] == "sha256=00ff"
    assert (kept[0]["method"], kept[0]["query"]) == ("POST", "try=1")
    assert base64.b64decode(kept[0]["body_base64"]) == body
    assert fakes.control.sink.received("orders")[1].body == body
    async with client.get(f"{fakes.sink_url}other") as response:
        assert await response.json() == {"deliveries": []}


@pytest.mark.skipif(not BROWSER, reason="there is no Chromium here")
@pytest.mark.parametrize("source", ["embedded", "fetch"])
def test_a_browser_shows_the_articles_of_a_scripted_list(fakes: FakeServer, source: str) -> None:
    url = f"{fakes.shop_url}scripted/category/lamps?source={source}"
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000"]
    result = subprocess.run([*command, "--dump-dom", url], capture_output=True, check=True, timeout=60)
    shown = LexborHTMLParser(result.stdout)
    assert len(shown.css("#app ul.products a.product")) == 10
    assert all(node.text() for node in shown.css("#app .price"))
