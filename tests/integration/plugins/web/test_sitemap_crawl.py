"""A crawl that begins at the pages of many sitemaps."""

from __future__ import annotations

import asyncio
import gzip
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from aiohttp import web

from agentic.core.types import JSONValue
from agentic.mappers import ExecutionStatus

if TYPE_CHECKING:
    from tests.integration.plugins.web.conftest import MakeAgent, RunAgent

pytestmark = pytest.mark.integration

INDEXES = 3
SITEMAPS = 20
PAGES = 10
TOTAL = INDEXES * SITEMAPS * PAGES


@dataclass
class Site:
    """Lists its pages in an index of indexes, every second sitemap gzipped; ``asked`` counts requests."""

    url: str = ""
    asked: Counter[str] = field(default_factory=Counter)
    is_slow: bool = False
    is_broken: bool = False
    refusals: int = 0
    has_asked_for_a_page: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: web.Request) -> web.Response:
        self.asked[request.path] += 1
        if request.path.startswith("/page/") and request.path != "/page/0":
            self.has_asked_for_a_page.set()
        if request.path == "/sitemap/2/0" and self.is_slow:
            await self.has_asked_for_a_page.wait()
        match request.path.strip("/").split("/"):
            case ["robots.txt"]:
                return web.Response(text=f"User-agent: *\nSitemap: {self.url}/index.xml\n")
            case ["index.xml"]:
                return self._index([f"index/{number}" for number in range(INDEXES)])
            case ["index", number]:  # with itself, and one that is not there
                parts = [f"sitemap/{number}/{part}" for part in range(SITEMAPS)]
                return self._index([*parts, f"index/{number}", f"lost/{number}"])
            case ["sitemap", number, part]:
                return self._troubled(request, part) or self._sitemap(int(number) * SITEMAPS + int(part))
            case ["page", number]:
                return web.Response(text=f"<title>{number}</title>", content_type="text/html")
            case _:
                return web.Response(status=404)

    def _troubled(self, request: web.Request, part: str) -> web.Response | None:
        if part == "5" and self.asked[request.path] <= self.refusals:
            return web.Response(status=503)
        if part == "7" and self.is_broken:
            return web.Response(text="<urlset><url><lo", content_type="text/xml")
        return None

    def _index(self, paths: list[str]) -> web.Response:
        listed = "".join(f"<sitemap><loc>{self.url}/{path}</loc></sitemap>" for path in paths)
        return web.Response(text=f"<sitemapindex>{listed}</sitemapindex>", content_type="application/xml")

    def _sitemap(self, number: int) -> web.Response:
        first = number * PAGES
        overlap = first - 1 if first else 0  # neighbours list one page twice
        listed = "".join(
            f"<url><loc>{self.url}/page/{page}</loc></url>" for page in range(overlap, first + PAGES)
        )
        body = f"<urlset>{listed}</urlset>".encode()
        if number % 2:
            return web.Response(body=gzip.compress(body), content_type="application/gzip")
        return web.Response(body=body, content_type="application/xml")


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    made = Site()
    app = web.Application()
    app.router.add_get("/{path:.*}", made.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    listening = web.TCPSite(runner, "127.0.0.1", 0)
    await listening.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield made
    await runner.cleanup()


async def test_a_crawl_of_many_nested_and_gzipped_sitemaps_fetches_every_page_once(
    site: Site, make_agent: MakeAgent, run_agent: RunAgent, stored_urls: Callable[[], list[str]]
) -> None:
    step: JSONValue = {"type": "crawl", "start": f"{site.url}/page/0", "sitemaps": True, "max_depth": 1}
    pipeline: JSONValue = {"http": {"allow_private_hosts": ["127.0.0.1"]}, "steps": [step]}
    outcome = await run_agent(make_agent(pipeline=pipeline, inputs={}))
    assert (outcome.status, outcome.error) == (ExecutionStatus.SUCCEEDED, None)
    pages = {f"/page/{number}" for number in range(TOTAL)}
    assert sorted(stored_urls()) == sorted(f"{site.url}{path}" for path in pages)
    assert {path: site.asked[path] for path in pages} == dict.fromkeys(pages, 1)
    sitemaps = {f"/sitemap/{number}/{part}" for number in range(INDEXES) for part in range(SITEMAPS)}
    assert {path: site.asked[path] for path in sitemaps} == dict.fromkeys(sitemaps, 1)


async def test_pages_of_the_first_sitemaps_are_fetched_while_the_others_are_read(
    site: Site, make_agent: MakeAgent, run_agent: RunAgent, stored_urls: Callable[[], list[str]]
) -> None:
    site.is_slow = True
    step: JSONValue = {"type": "crawl", "start": f"{site.url}/page/0", "sitemaps": True}
    pipeline: JSONValue = {"http": {"allow_private_hosts": ["127.0.0.1"]}, "steps": [step]}
    outcome = await run_agent(make_agent(pipeline=pipeline, inputs={}))
    assert (outcome.status, outcome.error) == (ExecutionStatus.SUCCEEDED, None)
    assert len(stored_urls()) == TOTAL
    assert {site.asked[f"/page/{number}"] for number in range(TOTAL)} == {1}


async def test_no_more_sitemaps_are_read_than_the_crawl_has_pages_to_fetch(
    site: Site, make_agent: MakeAgent, run_agent: RunAgent, stored_urls: Callable[[], list[str]]
) -> None:
    step: JSONValue = {"type": "crawl", "start": f"{site.url}/page/0", "sitemaps": True, "max_pages": 30}
    pipeline: JSONValue = {"http": {"allow_private_hosts": ["127.0.0.1"]}, "steps": [step]}
    outcome = await run_agent(make_agent(pipeline=pipeline, inputs={}))
    assert outcome.status is ExecutionStatus.SUCCEEDED
    assert len(stored_urls()) == 30
    assert sum(path.startswith("/sitemap/") for path in site.asked) == 4


async def test_a_sitemap_that_fails_for_a_while_is_read_later(
    site: Site, make_agent: MakeAgent, run_agent: RunAgent, stored_urls: Callable[[], list[str]]
) -> None:
    site.refusals = 2
    outcome = await run_agent(make_agent(pipeline=_quick(site), inputs={}))
    assert outcome.status is ExecutionStatus.SUCCEEDED
    assert len(stored_urls()) == TOTAL
    assert {site.asked[f"/sitemap/{number}/5"] for number in range(INDEXES)} == {3}


async def test_sitemaps_that_cannot_be_read_are_failures_of_the_crawl_and_cost_no_other(
    site: Site, make_agent: MakeAgent, run_agent: RunAgent, stored_urls: Callable[[], list[str]]
) -> None:
    site.refusals, site.is_broken = 99, True
    pipeline = _quick(site, limits={"max_failed": 8})
    outcome = await run_agent(make_agent(pipeline=pipeline, inputs={}))
    # Of each index, one is lost, one is refused, and one is broken.
    assert outcome.status is ExecutionStatus.FAILED
    assert "9 failed, more than max_failed (8)" in (outcome.error or "")
    assert len(stored_urls()) >= TOTAL - 2 * INDEXES * (PAGES + 1)


def _quick(site: Site, **more: JSONValue) -> JSONValue:
    return {
        "http": {"allow_private_hosts": ["127.0.0.1"]},
        "error_handling": {"http_5xx": {"retry_count": 2, "backoff_s": 0.01}},
        "steps": [{"type": "crawl", "start": f"{site.url}/page/0", "sitemaps": True}],
        **more,
    }
