"""firecrawl_scrape with the real client: the page, what is made of it, and what goes out for it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from pydantic import ValidationError

from agentic.core.actors import ActorError, Page
from agentic.core.hooks import get_registry
from agentic.core.http import FetchError
from agentic.fakes.server import FakeServer

pytestmark = pytest.mark.integration

Act = Callable[..., Awaitable[Any]]

PICTURE = b"\x89PNG\r\n\x1a\n and so on"
SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "price": {"type": "number"}},
    "required": ["title"],
}


def document(**more: object) -> dict[str, object]:
    """Return an answer about a page, names as the API has them."""
    metadata = {"statusCode": 200, "sourceURL": "http://shop.example/", "contentType": "text/html"}
    return {"rawHtml": "<h1>Lamps</h1>", "metadata": metadata, **more}


class TestThePage:
    @pytest.mark.requirement("SP21")
    async def test_is_what_fetch_would_have_given(self, act: Act, fakes: FakeServer) -> None:
        url = f"{fakes.shop_url}product/1"
        page: Page = (await act("firecrawl_scrape", url=url)).page
        fetched: Page = (await act("fetch", url=url)).page
        assert (page.url, page.final_url, page.status) == (url, url, 200)
        assert (page.text, page.content_type, page.content_hash) == (
            fetched.text,
            fetched.content_type,
            fetched.content_hash,
        )
        assert page.fetched_by == "firecrawl"

    async def test_is_the_one_that_redirects_lead_to(self, act: Act, fakes: FakeServer) -> None:
        page = (await act("firecrawl_scrape", url=f"{fakes.hostile_url}redirects/2")).page
        assert page.final_url == f"{fakes.hostile_url}redirects/0"
        assert "The end of the way" in page.text

    async def test_is_asked_for_with_params(self, act: Act, fakes: FakeServer) -> None:
        page = (await act("firecrawl_scrape", url=f"{fakes.shop_url}search", params={"q": "lamp"})).page
        assert page.final_url == f"{fakes.shop_url}search?q=lamp"

    async def test_has_no_text_where_it_is_a_file(self, act: Act, service: Any) -> None:
        metadata = {"statusCode": 200, "contentType": "application/pdf", "url": "http://h.example/a.pdf"}
        service.gives({"markdown": "# Told", "rawHtml": "", "metadata": metadata})
        found = await act("firecrawl_scrape", api_url=service.url, url="http://h.example/a.pdf")
        assert (found.page.text, found.page.content_type, found.markdown) == ("", "application/pdf", "# Told")


class TestWhatIsMadeOfAPage:
    async def test_is_markdown_unless_something_else_is_asked_for(self, act: Act, fakes: FakeServer) -> None:
        found = await act("firecrawl_scrape", url=f"{fakes.shop_url}product/1")
        assert "# " in found.markdown
        assert set(found.model_dump()) == {"page", "metadata", "markdown"}
        assert found.metadata["title"] in found.markdown

    async def test_is_html_and_links_of_what_matters(self, act: Act, fakes: FakeServer) -> None:
        found = await act("firecrawl_scrape", url=f"{fakes.shop_url}product/1", formats=["html", "links"])
        assert "<footer>" in found.page.text
        assert "<footer>" not in found.html
        assert f"{fakes.shop_url}private/orders" in found.links

    async def test_is_an_item_that_fits_a_schema(self, act: Act, fakes: FakeServer) -> None:
        url = f"{fakes.shop_url}product/1"
        found = await act("firecrawl_scrape", url=url, schema=SCHEMA)
        assert found.item["price"] > 0
        assert (set(found.item), found.item["url"]) == ({"url", "title", "price"}, url)

    async def test_is_an_item_of_a_prompt_alone(self, act: Act, fakes: FakeServer) -> None:
        found = await act("firecrawl_scrape", url=f"{fakes.shop_url}product/1", prompt="The title")
        assert found.item["title"]

    async def test_is_a_picture_that_the_service_sends_along(
        self, act: Act, service: Any, tmp_path: Path
    ) -> None:
        service.gives(document(screenshot=f"data:image/png;base64,{base64.b64encode(PICTURE).decode()}"))
        found = await act(
            "firecrawl_scrape", api_url=service.url, url="http://shop.example/", screenshot="full_page"
        )
        assert service.asked[0].body["formats"][-1] == {"type": "screenshot", "fullPage": True}
        assert (tmp_path / found.file.path).read_bytes() == PICTURE
        assert found.file.sha256 == hashlib.sha256(PICTURE).hexdigest()
        assert found.file.path.startswith("run/firecrawl/shop.example-")

    async def test_is_a_picture_that_is_fetched_from_where_the_service_put_it(
        self, act: Act, service: Any, tmp_path: Path
    ) -> None:
        def answer(asked: Any) -> web.Response:
            if asked.path == "/media/1.png":
                return web.Response(body=PICTURE, content_type="image/png")
            if asked.method == "GET":
                return web.Response(status=404)
            whole = document(screenshot=f"{service.url}/media/1.png")
            return web.json_response({"success": True, "data": whole})

        service.answer = answer
        found = await act(
            "firecrawl_scrape", api_url=service.url, url="http://shop.example/", screenshot="viewport"
        )
        assert (tmp_path / found.file.path).read_bytes() == PICTURE
        assert found.file.media_type == "image/png"


class TestWhatGoesOut:
    async def test_is_careful_where_the_client_is_not(self, act: Act, service: Any) -> None:
        service.gives(document())
        await act("firecrawl_scrape", api_url=service.url, url="http://shop.example/", timeout_s=2.5)
        (asked,) = service.asked
        assert asked.path == "/v2/scrape"
        assert asked.body["skipTlsVerification"] is False
        assert (asked.body["maxAge"], asked.body["storeInCache"]) == (0, False)
        assert (asked.body["timeout"], asked.body["formats"]) == (2500, ["rawHtml", "markdown"])

    async def test_names_no_package_of_ours_and_holds_no_key(
        self, act: Act, service: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FIRECRAWL_API_KEY", "fc-of-the-environment")
        service.gives(document())
        await act("firecrawl_scrape", api_url=f"{service.url}/prefix", url="http://shop.example/")
        (asked,) = service.asked
        assert asked.body["origin"].partition("@")[0] == "python-sdk"
        assert "authorization" not in asked.headers
        assert asked.path == "/prefix/v2/scrape"

    async def test_holds_the_key_that_is_given(self, act: Act, service: Any) -> None:
        service.gives(document())
        await act("firecrawl_scrape", api_url=service.url, url="http://shop.example/", api_key="fc-test\n")
        assert service.asked[0].headers["authorization"] == "Bearer fc-test"

    async def test_asks_for_a_copy_that_others_left_only_if_told_so(self, act: Act, service: Any) -> None:
        service.gives(document())
        url = "http://shop.example/"
        await act("firecrawl_scrape", api_url=service.url, url=url, max_age_s=60)
        await act(
            "firecrawl_scrape", api_url=service.url, url=url, max_age_s=60, headers={"cookie": "mine=1"}
        )
        shared, own = (asked.body for asked in service.asked)
        assert (shared["maxAge"], shared["storeInCache"]) == (60_000, True)
        assert (own["headers"], own["storeInCache"]) == ({"cookie": "mine=1"}, False)


class TestWhatTheSiteRefuses:
    @pytest.mark.parametrize(
        ("path", "failure_class", "status"),
        [
            ("status/403", "http_403", 403),
            ("status/410", "gone", 410),
            ("status/429", "rate_limited", 429),
            ("status/500", "http_500", 500),
            ("status/401", "auth_required", 401),
            ("challenge/captcha", "blocked", 200),
        ],
    )
    async def test_is_the_failure_it_would_have_been_for_fetch(
        self, act: Act, fakes: FakeServer, path: str, failure_class: str, status: int
    ) -> None:
        with pytest.raises(FetchError) as caught:
            await act("firecrawl_scrape", url=fakes.hostile_url + path)
        assert (caught.value.failure_class, caught.value.status) == (failure_class, status)

    async def test_is_an_error_where_there_is_not_even_a_status(self, act: Act, service: Any) -> None:
        service.gives({"metadata": {"error": "all engines failed"}})
        with pytest.raises(
            ActorError, match=r"no page of http://shop\.example/: all engines failed"
        ) as caught:
            await act("firecrawl_scrape", api_url=service.url, url="http://shop.example/")
        assert caught.value.failure_class == "error"


class TestAPageThatLacksSomething:
    async def test_is_refused_as_empty_if_that_is_everything(self, act: Act, service: Any) -> None:
        service.gives(document(rawHtml="\n"))
        with pytest.raises(ActorError, match="wait_s") as caught:
            await act("firecrawl_scrape", api_url=service.url, url="http://shop.example/")
        assert caught.value.failure_class == "empty"

    async def test_is_refused_without_what_is_waited_for(self, act: Act, fakes: FakeServer) -> None:
        found = await act("firecrawl_scrape", url=f"{fakes.shop_url}product/1", wait_for="h1.title")
        assert found.page.status == 200
        with pytest.raises(ActorError) as caught:
            await act("firecrawl_scrape", url=f"{fakes.shop_url}product/1", wait_for="h1.other")
        assert caught.value.failure_class == "selector_missing"

    @pytest.mark.parametrize("read", [{"price": 5}, ["a"], {"title": "Lamp", "price": "much"}])
    async def test_is_refused_if_what_was_read_does_not_fit(
        self, act: Act, service: Any, read: object
    ) -> None:
        service.gives(document(json=read))
        with pytest.raises(ActorError) as caught:
            await act("firecrawl_scrape", api_url=service.url, url="http://shop.example/", schema=SCHEMA)
        assert caught.value.failure_class == "schema_invalid"

    async def test_is_refused_without_the_picture_of_it(self, act: Act, service: Any) -> None:
        service.gives(document())
        with pytest.raises(ActorError) as caught:
            await act(
                "firecrawl_scrape", api_url=service.url, url="http://shop.example/", screenshot="viewport"
            )
        assert caught.value.failure_class == "empty"

    async def test_is_refused_if_its_picture_cannot_be_read(self, act: Act, service: Any) -> None:
        service.gives(document(screenshot="data:image/png;base64,%%%"))
        with pytest.raises(ActorError) as caught:
            await act(
                "firecrawl_scrape", api_url=service.url, url="http://shop.example/", screenshot="viewport"
            )
        assert caught.value.failure_class == "decode"


def test_what_the_service_cannot_do_is_refused_before_it_is_asked() -> None:
    model = get_registry().actors["firecrawl_scrape"].Input
    with pytest.raises(ValidationError, match="method"):
        model.model_validate({"url": "http://shop.example/", "method": "POST"})


def test_it_is_known_by_the_name_of_the_first_sketch() -> None:
    assert get_registry().actors["firecrawl_api"].name == "firecrawl_scrape"
