"""The actors that ask Firecrawl keep what every actor promises."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from agentic.core.actors import ActorContext
from agentic.core.types import JSONValue
from agentic.executors.testing import ActorContract, Failing
from agentic.fakes.firecrawl.account import AccountOrder
from agentic.fakes.server import FakeServer
from agentic.plugins.firecrawl.actors.crawl import FirecrawlCrawlActor
from agentic.plugins.firecrawl.actors.map import FirecrawlMapActor
from agentic.plugins.firecrawl.actors.scrape import FirecrawlScrapeActor
from agentic.plugins.firecrawl.actors.search import FirecrawlSearchActor

if TYPE_CHECKING:
    from tests.integration.plugins.firecrawl.conftest import ScriptedService

pytestmark = pytest.mark.integration

Config = dict[str, JSONValue]
Failures = Mapping[str, Failing]

PAGE: Config = {"url": "http://shop.example/", "statusCode": 200, "contentType": "text/html"}


def asked(actor: str) -> Config:
    """Return an input for the scripted service."""
    return {"keywords": "lamps"} if actor == "firecrawl_search" else {"url": "http://shop.example/"}


class ServiceContract(ActorContract):
    """Of all four: what the service refuses, each of them tells."""

    @pytest.fixture
    def ctx(self, ctx: ActorContext) -> ActorContext:
        return ctx

    def failing(
        self, service: ScriptedService, content: Any, status: int = 200, **more: JSONValue
    ) -> Failing:
        """Return how the actor fails by one answer: a text, or what is sent as JSON."""

        def answer(_: object) -> web.Response:
            if isinstance(content, str):
                return web.Response(text=content)
            return web.json_response(content, status=status)

        def before() -> None:
            service.answer = answer

        return Failing(given={**asked(self.actor.name), "api_url": service.url, **more}, before=before)

    @pytest.fixture
    def refused(self, service: ScriptedService) -> Failures:
        no = {"success": False, "error": "No."}
        return {
            "auth_required": self.failing(service, no, 401),
            "decode": self.failing(service, "<h1>It works!</h1>"),
            "error": self.failing(service, no),
            "quota_exhausted": self.failing(service, no, 402),
        }

    @pytest.fixture
    def failures(self, refused: Failures) -> Failures:
        return refused


class TestMap(ServiceContract):
    actor = FirecrawlMapActor

    @pytest.fixture
    def given(self, fakes: FakeServer) -> Config:
        return {"api_url": fakes.firecrawl_url, "url": fakes.shop_url}


class TestScrape(ServiceContract):
    actor = FirecrawlScrapeActor
    volatile = frozenset({"page.fetched_at", "metadata.scrape_id"})

    @pytest.fixture
    def given(self, fakes: FakeServer) -> Config:
        return {"api_url": fakes.firecrawl_url, "url": f"{fakes.shop_url}product/1"}

    @pytest.fixture
    def failures(self, service: ScriptedService, refused: Failures) -> Failures:
        def of(text: str, read: JSONValue = None, **more: JSONValue) -> Failing:
            data = {"rawHtml": text, "metadata": PAGE, "json": read}
            return self.failing(service, {"success": True, "data": data}, 200, **more)

        schema: Config = {"type": "object", "required": ["title"]}
        return {
            **refused,
            "empty": of("\n"),
            "schema_invalid": of("<h1>Lamps</h1>", {"price": 5}, schema=schema),
            "selector_missing": of("<h1>Lamps</h1>", wait_for="table"),
        }


class TestSearch(ServiceContract):
    actor = FirecrawlSearchActor

    @pytest.fixture
    def given(self, fakes: FakeServer) -> Config:
        return {"api_url": fakes.firecrawl_url, "keywords": "a", "limit": 3}

    @pytest.fixture
    def failures(self, service: ScriptedService, refused: Failures) -> Failures:
        found = {"web": [{"json": ["no object"], "metadata": PAGE}]}
        odd = self.failing(service, {"success": True, "data": found}, scrape=True, prompt="All")
        return {**refused, "schema_invalid": odd}


class TestCrawl(ServiceContract):
    actor = FirecrawlCrawlActor
    volatile = frozenset({"crawl_id"})

    @pytest.fixture
    def given(self, fakes: FakeServer) -> Config:
        fakes.control.firecrawl.change(AccountOrder(polls=0))
        return {"api_url": fakes.firecrawl_url, "url": fakes.shop_url, "max_pages": 3}

    @pytest.fixture
    def failures(self, service: ScriptedService, refused: Failures) -> Failures:
        def ended(status: int, content: Config) -> Failing:
            given: Config = {"api_url": service.url, "url": "http://shop.example/"}
            return Failing(given=given, before=self.begun(service, status, content))

        scraping: Config = {"success": True, "status": "scraping", "completed": 0, "total": 1, "data": []}
        late: Config = {"api_url": service.url, "url": "http://shop.example/", "deadline_s": 0.000_001}
        cancelled: Config = {"success": True, "status": "cancelled", "completed": 0, "total": 1, "data": []}
        return {
            **refused,
            "cancelled": ended(200, cancelled),
            "gone": ended(404, {"success": False, "error": "Job not found"}),
            "timeout": Failing(given=late, before=self.begun(service, 200, scraping)),
        }

    def begun(self, service: ScriptedService, status: int, content: Config) -> Callable[[], None]:
        """Return what lets a service begin a crawl, and say this of it later."""

        def answer(asked: Any) -> web.Response:
            if asked.method == "POST":
                return web.json_response({"success": True, "id": "0b0e0c5e", "url": service.url})
            if asked.method == "DELETE":
                return web.json_response({"status": "cancelled"})
            return web.json_response(content, status=status)

        return lambda: setattr(service, "answer", answer)
