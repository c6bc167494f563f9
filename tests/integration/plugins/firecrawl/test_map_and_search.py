"""firecrawl_map and firecrawl_search with the real client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from agentic.core.actors import ActorError
from agentic.fakes.server import FakeServer

pytestmark = pytest.mark.integration

Act = Callable[..., Awaitable[Any]]


class TestAMap:
    async def test_names_the_pages_of_a_site_each_once(self, act: Act, fakes: FakeServer) -> None:
        urls = (await act("firecrawl_map", url=fakes.shop_url)).list_item_urls
        assert f"{fakes.shop_url}product/60" in urls
        assert len(urls) == len(set(urls))
        assert fakes.control.stats()["credits"] == 1

    async def test_has_only_what_was_asked_for(self, act: Act, fakes: FakeServer) -> None:
        found = await act("firecrawl_map", url=fakes.shop_url, search="lamps", limit=1)
        assert found.list_item_urls == (f"{fakes.shop_url}category/lamps",)
        everything = await act("firecrawl_map", url=fakes.shop_url)
        linked = await act("firecrawl_map", url=fakes.shop_url, sitemap="skip")
        assert 0 < len(linked.list_item_urls) < len(everything.list_item_urls)

    async def test_has_one_spelling_for_each_page_and_nothing_else(self, act: Act, service: Any) -> None:
        links = ["HTTP://shop.example:80/a?utm_source=x", "http://shop.example/a#b", "mailto:ann", ""]
        service.answer = lambda _: web.json_response({"success": True, "links": links})
        found = await act("firecrawl_map", api_url=service.url, url="http://shop.example/", timeout_s=3)
        assert found.list_item_urls == ("http://shop.example/a?utm_source=x",)
        assert service.asked[0].body["timeout"] == 3_000


class TestASearch:
    async def test_gives_results_and_where_they_are(self, act: Act, fakes: FakeServer) -> None:
        found = await act("firecrawl_search", keywords=["a"], limit=4)
        assert len(found.items) == 4
        assert [item["url"] for item in found.items] == list(found.list_item_urls)
        assert all(item["source"] == "web" and item["title"] for item in found.items)
        assert fakes.control.stats()["credits"] == 2

    async def test_fetches_what_it_finds_if_told_so(self, act: Act, fakes: FakeServer) -> None:
        schema = {"type": "object", "properties": {"price": {"type": "number"}}}
        found = await act("firecrawl_search", keywords="a", limit=2, scrape=True, schema=schema)
        assert len(found.items) == 2
        assert all(item["status"] == 200 and item["price"] > 0 and item["markdown"] for item in found.items)
        assert [item["url"] for item in found.items] == list(found.list_item_urls)

    async def test_takes_from_several_sources(self, act: Act, service: Any) -> None:
        data = {
            "web": [{"url": "http://a.example/", "title": "A"}],
            "news": [{"url": "http://b.example/", "title": "B", "snippet": "said"}],
        }
        service.answer = lambda _: web.json_response({"success": True, "data": data})
        found = await act(
            "firecrawl_search",
            api_url=service.url,
            keywords=("small", "lamps"),
            sources=["news", "web"],
            since="qdr:d",
            location="Berlin",
        )
        assert [item["source"] for item in found.items] == ["news", "web"]
        assert found.list_item_urls == ("http://b.example/", "http://a.example/")
        body = service.asked[0].body
        assert (body["query"], body["tbs"], body["location"], body["limit"]) == (
            "small lamps",
            "qdr:d",
            "Berlin",
            10,
        )
        assert "scrapeOptions" not in body

    async def test_refuses_what_does_not_fit_the_schema(self, act: Act, service: Any) -> None:
        page = {"json": ["no object"], "metadata": {"url": "http://a.example/", "statusCode": 200}}
        service.answer = lambda _: web.json_response({"success": True, "data": {"web": [page]}})
        with pytest.raises(ActorError, match=r"http://a\.example/") as caught:
            await act("firecrawl_search", api_url=service.url, keywords="lamps", scrape=True, prompt="All")
        assert caught.value.failure_class == "schema_invalid"

    async def test_is_what_the_actor_search_gives_for_the_platform(
        self, act: Act, fakes: FakeServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AGENTIC_FIRECRAWL_URL", fakes.firecrawl_url)
        found = await act("search", keywords="a", platform="firecrawl")
        assert found.list_item_urls
        assert len(found.items) == len(found.list_item_urls)
