"""Actors that need a browser, with a real one on pages that scripts write."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio
from tests.integration.executors.browser.finding import require_browser

from agentic.core.actors import ActorContext, ActorError, StoredFile, stored_file
from agentic.core.actors.stores import NoFiles
from agentic.core.browser import BrowserFetcher
from agentic.core.hooks import get_registry
from agentic.core.http import FetchError, HttpPolicy, open_fetcher
from agentic.core.pipeline import CrawlStore, PipelineResult, PipelineServices, compile_pipeline, parse_spec
from agentic.core.settings import load_settings
from agentic.core.types import RunId
from agentic.executors.browser import PlaywrightBrowser
from agentic.fakes.server import FakeServer
from agentic.plugins.web.fetching.scripted import verdict_key

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

Act = Callable[..., Awaitable[Any]]


class KeptFiles(NoFiles):
    """Files in memory."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}

    async def write(self, name: str, content: bytes, media_type: str) -> StoredFile:
        self.content[name] = content
        return stored_file(name, content, media_type)


@pytest.fixture(scope="module")
def site() -> Iterator[FakeServer]:
    with FakeServer(seed=1, stories=1, products=60) as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[PlaywrightBrowser]:
    require_browser()
    async with PlaywrightBrowser(load_settings()) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def ctx(browser: PlaywrightBrowser) -> AsyncIterator[ActorContext]:
    policy = HttpPolicy(allow_private_hosts=("127.0.0.1",), timeout_s=20)
    async with open_fetcher(policy) as fetcher:
        yield ActorContext(http=fetcher, pages=BrowserFetcher(fetcher, browser), files=KeptFiles())


@pytest.fixture
def act(ctx: ActorContext) -> Act:
    async def act(name: str, **given: Any) -> Any:
        actor = get_registry().actors[name]
        return await actor().run(ctx, actor.Input.model_validate(given))

    return act


def asked(site: FakeServer, path: str) -> int:
    requests = site.control.stats()["requests"]
    assert isinstance(requests, dict)
    return sum(int(str(count)) for name, count in requests.items() if name.startswith(path))


@pytest.fixture
def category(site: FakeServer) -> str:
    """A list whose articles only a script puts there."""
    return f"{site.shop_url}scripted/category/lamps"


@pytest.mark.requirement("SP14")
async def test_a_browser_shows_what_scripts_write(act: Act, category: str) -> None:
    page = (await act("fetch", url=category, use_playwright=True, wait_for="a.product")).page
    assert (page.fetched_by, page.status, page.content_type) == ("browser", 200, "text/html")
    assert (await act("extract_list", page=page, item_selector="a.product")).list_item_urls


async def test_the_browser_is_asked_where_it_is_needed_and_that_is_remembered(
    site: FakeServer, ctx: ActorContext, act: Act, category: str
) -> None:
    first = (await act("fetch", url=category, mode="auto", wait_for="a.product")).page
    before = asked(site, "/shop/scripted/category")
    second = (await act("fetch", url=f"{category}?page=1", mode="auto", wait_for="a.product")).page
    assert (first.fetched_by, second.fetched_by) == ("browser", "browser")
    assert asked(site, "/shop/scripted/category") == before + 1
    assert await ctx.memory.get(verdict_key(category))


@pytest.mark.requirement("SP14")
async def test_what_is_refused_without_a_browser_is_asked_with_one_and_that_is_remembered(
    site: FakeServer, ctx: ActorContext, act: Act
) -> None:
    url = f"{site.hostile_url}challenge/aws"
    with pytest.raises(FetchError, match="blocked"):
        await act("fetch", url=url)
    page = (await act("fetch", url=url, mode="auto", wait_for="h1")).page
    assert (page.fetched_by, page.status, "Past the wall" in page.text) == ("browser", 200, True)
    before = asked(site, "/hostile/challenge/aws")
    again = (await act("fetch", url=f"{url}?page=2", mode="auto", wait_for="h1")).page
    assert (again.fetched_by, asked(site, "/hostile/challenge/aws")) == ("browser", before + 2)


async def test_what_is_refused_with_a_browser_too_is_blocked_and_not_remembered(
    site: FakeServer, ctx: ActorContext, act: Act
) -> None:
    url = f"{site.hostile_url}challenge/cloudflare"
    with pytest.raises(FetchError) as caught:
        await act("fetch", url=url, mode="auto")
    assert (caught.value.failure_class, asked(site, "/hostile/challenge/cloudflare")) == ("blocked", 2)
    assert await ctx.memory.get(verdict_key(url)) is None


async def test_the_browser_is_not_asked_where_it_is_not_needed(
    site: FakeServer, ctx: ActorContext, act: Act
) -> None:
    url = f"{site.shop_url}product/7"
    page = (await act("fetch", url=url, mode="auto", wait_for="h1.title")).page
    assert (page.fetched_by, await ctx.memory.get(verdict_key(url))) == ("http", None)


async def test_steps_are_done_before_a_page_is_read(site: FakeServer, act: Act) -> None:
    steps = [
        {"type": "fill", "selector": "input[name=q]", "value": "a"},
        {"type": "press", "selector": "input[name=q]", "key": "Enter"},
        {"type": "wait_for", "selector": "p.count"},
    ]
    page = (await act("fetch", url=site.shop_url, mode="browser", steps=steps)).page
    assert page.final_url == f"{site.shop_url}search?q=a"


async def test_a_refused_page_is_a_failure_of_its_status(site: FakeServer, act: Act) -> None:
    with pytest.raises(FetchError) as caught:
        await act("fetch", url=f"{site.shop_url}nothing", mode="browser")
    assert caught.value.failure_class == "http_404"


@pytest.mark.parametrize("actor", ["screenshot", "pdf"])
async def test_a_page_without_what_is_waited_for_is_a_failure(site: FakeServer, act: Act, actor: str) -> None:
    with pytest.raises(FetchError) as caught:
        await act(actor, url=site.shop_url, wait_for=".nothing", timeout_s=2)
    assert caught.value.failure_class == "selector_missing"


@pytest.mark.parametrize(
    ("actor", "begins", "media_type"),
    [("screenshot", b"\x89PNG", "image/png"), ("pdf", b"%PDF-", "application/pdf")],
)
async def test_what_the_browser_shows_is_kept_as_a_file(
    site: FakeServer, ctx: ActorContext, act: Act, actor: str, begins: bytes, media_type: str
) -> None:
    found = await act(actor, url=f"{site.shop_url}product/7?a=1")
    assert isinstance(ctx.files, KeptFiles)
    content = ctx.files.content[found.file.path]
    assert content.startswith(begins)
    assert found.file.path.startswith("127.0.0.1/shop-product-7-a-1-")
    assert (found.file.media_type, found.file.size_bytes) == (media_type, len(content))
    assert found.file.sha256 == hashlib.sha256(content).hexdigest()
    assert (found.status, found.final_url) == (200, f"{site.shop_url}product/7?a=1")


async def test_a_whole_page_is_taller_than_a_window(site: FakeServer, ctx: ActorContext, act: Act) -> None:
    window = {"width": 400, "height": 200}
    await act("screenshot", url=site.shop_url, viewport=window, file="window.png")
    await act("screenshot", url=site.shop_url, viewport=window, full_page=True, file="page.png")
    assert isinstance(ctx.files, KeptFiles)
    heights = [int.from_bytes(ctx.files.content[name][20:24], "big") for name in ("window.png", "page.png")]
    assert heights[0] == 200 < heights[1]


@pytest.mark.parametrize("name", ["fetch", "screenshot", "pdf"])
async def test_without_a_browser_that_is_the_failure(ctx: ActorContext, category: str, name: str) -> None:
    actor = get_registry().actors[name]
    given = {"url": category, **({"mode": "browser"} if name == "fetch" else {})}
    with pytest.raises(ActorError, match="no browser is available") as caught:
        await actor().run(replace(ctx, pages=None), actor.Input.model_validate(given))
    assert caught.value.failure_class == "browser_crashed"


SKETCH = """
inputs: {url: {}}
steps:
  - {actor: InitialFetcher, config: {use_playwright: true}}
  - {actor: SearchExecutor, config: {keywords: ["a"]}}
  - {actor: ExtractList, config: {item_selector: ".products li"}}
  - type: loop
    source: list_item_urls
    loop_steps:
      - {actor: FetchDetail, config: {}}
      - {actor: ExtractDetail, config: {schema: {title: h1.title, price: {selector: .price, type: price}}}}
  - {actor: DataAggregator, config: {key: url}}
"""


def no_frontier(run: RunId) -> CrawlStore:
    raise AssertionError(f"{run} has no crawl")


@pytest.mark.requirement("SP14", "SP16", "SP17", "SP18", "SP19", "SP20")
async def test_the_first_sketch_of_a_pipeline_runs_on_a_site(site: FakeServer, ctx: ActorContext) -> None:
    actors = get_registry().actors
    services = PipelineServices(frontier=no_frontier, context=lambda _: ctx)
    workflow = compile_pipeline(parse_spec(SKETCH, actors), actors, services)
    result = PipelineResult.model_validate((await workflow.run({"url": site.shop_url})).output(dict))
    assert (len(result.items), result.failures) == (20, {})
    assert all(item["title"] and item["price"] for item in result.items)
