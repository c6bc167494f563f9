"""Crawls that are cut off and go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from sqlalchemy.orm import Session

from agentic.core.actors import ActorContext
from agentic.core.graph import Workflow
from agentic.core.hooks import get_registry
from agentic.core.http import HttpPolicy, open_fetcher
from agentic.core.pipeline import CrawledPage, PipelineResult, PipelineServices, compile_pipeline, parse_spec
from agentic.core.types import SaveCounts
from agentic.fakes.server import FakeServer
from agentic.mappers import AgentModel, Database
from agentic.mappers.crawl.frontier import SqlCrawlStore
from agentic.plugins.web.mapper import WebResultMapper

if TYPE_CHECKING:
    from tests.integration.plugins.web.conftest import MakeAgent

pytestmark = pytest.mark.integration


class Crawler:
    """Runs one crawl of the shop, again and again under one name, as processes that come and go."""

    def __init__(self, database: Database, agent: AgentModel, shop_url: str) -> None:
        self.database = database
        self.agent = agent
        self.shop_url = shop_url
        self.stored: list[str] = []
        self.has_begun = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def save(self, session: Session, pages: Sequence[CrawledPage]) -> SaveCounts:
        self.stored += [page.url for page in pages]
        if len(self.stored) >= 20:
            self._loop.call_soon_threadsafe(self.has_begun.set)
        return WebResultMapper(session, "e1", self.agent).save_pages("site", pages)

    @asynccontextmanager
    async def workflow(self) -> AsyncIterator[Workflow]:
        spec = parse_spec(
            f"steps: [{{type: crawl, start: {self.shop_url}, commit_pages: 5, max_parallel: 4}}]"
        )
        store = SqlCrawlStore(self.database, project_id=self.agent.project_id, run="e1", save=self.save)
        async with open_fetcher(HttpPolicy(allow_private_hosts=("127.0.0.1",))) as fetcher:
            services = PipelineServices(
                frontier=lambda _: store, context=lambda _: ActorContext(http=fetcher)
            )
            yield compile_pipeline(spec, get_registry().actors, services)


@pytest.fixture
async def crawler(database: Database, make_agent: MakeAgent, fakes: FakeServer) -> Crawler:
    return Crawler(database, make_agent(), fakes.shop_url)


async def test_a_crawl_that_was_cut_off_goes_on_and_loses_and_doubles_no_page(
    crawler: Crawler, stored_urls: Callable[[], list[str]], shop_urls: set[str]
) -> None:
    async with crawler.workflow() as workflow:
        run = asyncio.create_task(workflow.run({}))
        await crawler.has_begun.wait()
        run.cancel()
        await asyncio.wait([run])
    before = list(crawler.stored)
    assert 20 <= len(before) < 60

    async with crawler.workflow() as workflow:
        result = PipelineResult.model_validate((await workflow.run({})).output(dict))

    assert set(stored_urls()) == shop_urls
    assert sorted(crawler.stored) == sorted(set(crawler.stored))
    assert crawler.stored[: len(before)] == before
    assert result.pages is not None
    assert (result.pages.done, result.pages.left) == (len(shop_urls), 0)
