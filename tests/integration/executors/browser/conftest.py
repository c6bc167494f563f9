"""A browser that the tests of a module share, and a site for it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.integration.executors.browser.finding import require_browser
from tests.integration.executors.browser.site import Site, serving

from agentic.core.browser import BrowserFetcher
from agentic.core.http import Fetcher, HttpPolicy, open_fetcher
from agentic.core.settings import load_settings
from agentic.executors.browser import PlaywrightBrowser


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[PlaywrightBrowser]:
    require_browser()
    async with PlaywrightBrowser(load_settings()) as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def serve() -> AsyncIterator[Site]:
    async with serving() as made:
        yield made


@pytest.fixture
def site(serve: Site) -> Site:
    serve.asked.clear()
    return serve


@pytest_asyncio.fixture(loop_scope="module")
async def http() -> AsyncIterator[Fetcher]:
    policy = HttpPolicy(
        allow_private_hosts=("127.0.0.1", "localhost"), timeout_s=10, user_agent="testbot/1.0"
    )
    async with open_fetcher(policy) as made:
        yield made


@pytest.fixture
def fetcher(http: Fetcher, browser: PlaywrightBrowser) -> BrowserFetcher:
    return BrowserFetcher(http, browser)
