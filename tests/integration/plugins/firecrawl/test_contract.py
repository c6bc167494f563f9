"""Firecrawl keeps what every platform promises, in each of its modes."""

from __future__ import annotations

import pytest

from agentic.core.types import JSONValue
from agentic.executors.testing import PlatformContract
from agentic.fakes.firecrawl.account import AccountOrder
from agentic.fakes.server import FakeServer
from agentic.plugins.firecrawl.models import FirecrawlLinkModel, FirecrawlPageModel

pytestmark = pytest.mark.integration

Config = dict[str, JSONValue]


class TestScrape(PlatformContract):
    platform = "firecrawl"
    model = FirecrawlPageModel
    row_count = 2

    @pytest.fixture
    def config(self, fakes: FakeServer) -> Config:
        urls: list[JSONValue] = [f"{fakes.shop_url}product/{number}" for number in (1, 2)]
        return {"urls": urls, "api_url": fakes.firecrawl_url}


@pytest.mark.slow
class TestCrawl(PlatformContract):
    platform = "firecrawl"
    model = FirecrawlPageModel
    row_count = 5

    @pytest.fixture
    def config(self, fakes: FakeServer) -> Config:
        fakes.control.firecrawl.change(AccountOrder(polls=0))
        return {"mode": "crawl", "url": fakes.shop_url, "limit": 5, "api_url": fakes.firecrawl_url}


@pytest.mark.slow
class TestMap(PlatformContract):
    platform = "firecrawl"
    model = FirecrawlLinkModel
    row_count = 9

    @pytest.fixture
    def config(self, fakes: FakeServer) -> Config:
        return {"mode": "map", "url": fakes.shop_url, "limit": 9, "api_url": fakes.firecrawl_url}


@pytest.mark.slow
class TestSearch(PlatformContract):
    platform = "firecrawl"
    model = FirecrawlLinkModel
    row_count = 3

    @pytest.fixture
    def config(self, fakes: FakeServer) -> Config:
        return {"mode": "search", "query": "a", "limit": 3, "api_url": fakes.firecrawl_url}
