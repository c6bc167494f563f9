"""Actors on what the fakes serve, over real HTTP."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest

from agentic.core.actors import ActorContext, ActorError, Page
from agentic.core.hooks import get_registry
from agentic.core.http import FetchError, HttpPolicy, open_fetcher
from agentic.core.pipeline import CrawlStore, PipelineResult, PipelineServices, compile_pipeline, parse_spec
from agentic.core.types import JSONValue, RunId
from agentic.fakes.control import Fault
from agentic.fakes.news.revisions import Revision
from agentic.fakes.server import FakeServer

pytestmark = pytest.mark.integration

Act = Callable[..., Awaitable[Any]]
RunPipeline = Callable[..., Awaitable[PipelineResult]]


def no_frontier(run: RunId) -> CrawlStore:
    raise AssertionError(f"{run} has no crawl")


@pytest.fixture(scope="module")
def site() -> Iterator[FakeServer]:
    with FakeServer(seed=1, stories=1, products=60) as server:
        yield server


@pytest.fixture
async def ctx() -> AsyncIterator[ActorContext]:
    policy = HttpPolicy(allow_private_hosts=("127.0.0.1",), obey_robots=False)
    async with open_fetcher(policy) as fetcher:
        yield ActorContext(http=fetcher)


@pytest.fixture
def act(ctx: ActorContext) -> Act:
    """Run an actor by its name."""

    async def act(name: str, **given: Any) -> Any:
        actor = get_registry().actors[name]
        return await actor().run(ctx, actor.Input.model_validate(given))

    return act


@pytest.fixture
def fetched(act: Act) -> Callable[[str], Awaitable[Page]]:
    async def fetch(url: str) -> Page:
        page: Page = (await act("fetch", url=url)).page
        return page

    return fetch


@pytest.fixture
def run(ctx: ActorContext) -> RunPipeline:
    """Run a pipeline, with or without a name for the run."""

    async def run(spec: str, **inputs: JSONValue) -> PipelineResult:
        actors = get_registry().actors
        services = PipelineServices(frontier=no_frontier, context=lambda _: ctx)
        result = await compile_pipeline(parse_spec(spec, actors), actors, services).run(inputs)
        return PipelineResult.model_validate(result.output(dict))

    return run


@pytest.mark.requirement("SP14")
async def test_fetch_sends_what_it_is_given(site: FakeServer, act: Act) -> None:
    page = (
        await act("fetch", url=f"{site.sink_url}fetch", method="POST", json={"a": 1}, params={"b": "ü"})
    ).page
    sent = site.control.sink.received("fetch")[0]
    assert (page.status, page.fetched_by) == (202, "http")
    assert (sent.method, sent.query, sent.body) == ("POST", "b=%C3%BC", b'{"a": 1}')
    assert sent.headers["content-type"] == "application/json"


async def test_a_refused_request_is_a_failure_of_its_status(site: FakeServer, act: Act) -> None:
    with pytest.raises(FetchError) as caught:
        await act("fetch", url=f"{site.news_url}article/0-none")
    assert caught.value.failure_class == "http_404"


async def test_a_page_without_what_is_waited_for_is_a_failure(site: FakeServer, act: Act) -> None:
    with pytest.raises(ActorError) as caught:
        await act("fetch", url=f"{site.shop_url}scripted/category/lamps", wait_for="a.product")
    assert caught.value.failure_class == "selector_missing"


@pytest.mark.requirement("SP17")
async def test_a_list_page_alone_gives_items(site: FakeServer, act: Act, fetched: Any) -> None:
    page = await fetched(f"{site.shop_url}search?q=a")
    fields = {"title": "a", "price": {"selector": ".price", "type": "number"}, "currency": ".currency"}
    found = await act(
        "extract_list", page=page, item_selector=".products li", next_selector="a.next", fields=fields
    )
    assert len(found.items) == 20
    assert [item["url"] for item in found.items] == list(found.list_item_urls)
    assert all(item["price"] > 0 and item["currency"] for item in found.items)
    assert found.next_url == f"{site.shop_url}search?q=a&page=2"


@pytest.mark.requirement("SP19")
async def test_an_article_is_read_by_a_schema_of_every_kind(site: FakeServer, act: Act, fetched: Any) -> None:
    listed = await act("extract_list", page=await fetched(site.news_url), item_selector="a.article")
    page = await fetched(listed.list_item_urls[0])
    schema = {
        "title": {"jsonld": "NewsArticle.headline"},
        "author": {"jsonld": "NewsArticle.author.name"},
        "published": {"selector": "article time", "attr": "datetime", "type": "datetime"},
        "day": {"selector": "article time", "type": "date"},
        "image": {"meta": "og:image", "type": "url"},
        "paragraphs": {"xpath": "//div[@class='body']/p", "list": True},
    }
    json_schema = {
        "properties": {"day": {"type": "string", "format": "date"}},
        "required": ["title", "author"],
    }
    item = (await act("extract_detail", page=page, schema=schema, json_schema=json_schema)).item
    assert item["url"] == listed.list_item_urls[0]
    assert (item["published"], item["day"]) == ("2026-11-02T08:00:00+00:00", "2026-11-02")
    assert item["image"].startswith(f"{site.news_url}image/1-")
    assert len(item["paragraphs"]) >= 4


@pytest.mark.requirement("SP16")
async def test_a_site_is_searched_by_its_form(site: FakeServer, act: Act, fetched: Any) -> None:
    home = await fetched(site.shop_url)
    words = (
        await act("extract_detail", page=await fetched(f"{site.shop_url}product/7"), schema={"t": "h1"})
    ).item["t"]
    found = await act("search", page=home, keywords=words.split(), item_selector="a.product")
    assert f"{site.shop_url}product/7" in found.list_item_urls
    assert found.page.final_url.startswith(f"{site.shop_url}search?q=")


async def test_a_site_is_searched_by_its_description(site: FakeServer, act: Act, fetched: Any) -> None:
    home = await fetched(site.shop_url)
    without_form = home.model_copy(update={"text": home.text.replace("<form", "<div")})
    found = await act("search", page=without_form, keywords="a")
    assert found.page.final_url == f"{site.shop_url}search?q=a"
    assert found.next_url == f"{site.shop_url}search?q=a&page=2"


async def test_a_search_by_template_without_results_can_be_a_failure(site: FakeServer, act: Act) -> None:
    template = f"{site.shop_url}search?q={{query}}"
    assert (await act("search", url_template=template, keywords="xyzzy")).page.status == 200
    with pytest.raises(ActorError, match="no results for 'xyzzy'") as caught:
        await act("search", url_template=template, keywords="xyzzy", item_selector="a.product")
    assert caught.value.failure_class == "empty"


async def test_a_description_that_describes_no_search_is_a_failure(
    site: FakeServer, act: Act, fetched: Any
) -> None:
    home = await fetched(site.shop_url)
    text = home.text.replace("<form", "<div").replace("opensearch.xml", "sitemap.xml")
    with pytest.raises(ActorError, match="describes no search") as caught:
        await act("search", page=home.model_copy(update={"text": text}), keywords="a")
    assert caught.value.failure_class == "decode"


async def test_sitemaps_of_every_kind_are_read_from_what_robots_txt_names(site: FakeServer, act: Act) -> None:
    found = await act("sitemap", sites=[f"{site.news_url}article/any"])
    of_news = [url for url in found.list_item_urls if url.startswith(site.news_url)]
    assert len([url for url in of_news if "/article/" in url]) == 80
    assert f"{site.news_url}section/science" in of_news
    assert f"{site.shop_url}product/1" in found.list_item_urls
    assert found.failed == ()


async def test_a_sitemap_with_news_tells_their_titles(site: FakeServer, act: Act) -> None:
    entry = (await act("sitemap", urls=[f"{site.news_url}sitemap-news.xml"])).entries[0]
    assert (entry.published, entry.title) == (
        "2026-11-02T08:00:00+00:00",
        "Window Rapid Mirror Winter Lantern Rapid",
    )


async def test_pages_changed_since_a_day_are_listed(site: FakeServer, act: Act) -> None:
    found = await act("sitemap", urls=[f"{site.news_url}sitemap_index.xml"], since="2026-11-02T00:00:00Z")
    assert len([entry for entry in found.entries if entry.lastmod]) == 2


@pytest.mark.parametrize("name", ["rss.xml", "atom.xml", "rdf.xml", "feed.json", "malformed.xml", ""])
async def test_feeds_are_read_and_found_on_pages(site: FakeServer, act: Act, name: str) -> None:
    found = await act("feed", url=f"{site.feeds_url}{name}", max_items=3)
    assert [str(url).rpartition("/")[2] for url in found.list_item_urls] == ["50", "49", "48"]
    assert found.feed_url == f"{site.feeds_url}{name or 'rss.xml'}"
    assert found.items[0]["published"] == "2026-10-31T14:04:00+00:00"


async def test_a_page_that_is_no_feed_and_names_none_is_a_failure(site: FakeServer, act: Act) -> None:
    with pytest.raises(ActorError, match="is not a feed") as caught:
        await act("feed", url=site.shop_url)
    assert (caught.value.failure_class, caught.value.status) == ("decode", 200)


async def test_an_article_is_read_without_advertisements(site: FakeServer, act: Act, fetched: Any) -> None:
    url = (await act("sitemap", urls=[f"{site.news_url}sitemap-recent.xml"], max_urls=1)).list_item_urls[0]
    item = (await act("article", page=await fetched(url))).item
    assert (item["canonical_url"], item["author"]) == (url, "Ngozi Okafor")
    assert "Advertisement" not in item["text"]


@pytest.mark.parametrize(
    ("kind", "key", "title"),
    [
        ("article", "json_ld", "headline"),
        ("microdata", "microdata", "headline"),
        ("rdfa", "rdfa", "headline"),
    ],
)
async def test_a_site_describes_itself_in_three_ways(
    site: FakeServer, act: Act, fetched: Any, kind: str, key: str, title: str
) -> None:
    url = (await act("sitemap", urls=[f"{site.news_url}sitemap-recent.xml"], max_urls=1)).list_item_urls[0]
    item = (await act("structured_data", page=await fetched(url.replace("article", kind)))).item
    assert item[key][0]["@type"] == "NewsArticle"
    assert item[key][0][title] == "Window Rapid Mirror Winter Lantern Rapid"


async def test_robots_txt_is_asked_for_a_page(site: FakeServer, act: Act) -> None:
    denied = await act("robots_check", url=f"{site.shop_url}private/orders")
    allowed = await act("robots_check", url=site.shop_url)
    assert (denied.allowed, allowed.allowed, allowed.reason) == (False, True, "")
    assert "disallows it" in denied.reason
    assert f"{site.news_url}sitemap_index.xml" in allowed.sitemaps


async def test_what_robots_txt_denies_can_be_a_failure(site: FakeServer, act: Act) -> None:
    with pytest.raises(FetchError) as caught:
        await act("robots_check", url=f"{site.shop_url}private/orders", required=True)
    assert caught.value.failure_class == "robots_denied"


async def test_a_change_of_an_article_is_told_line_by_line(site: FakeServer, act: Act, fetched: Any) -> None:
    path = "/article/3-quick-mirror-socket-thread-retry-queue"
    url = site.news_url.rstrip("/") + path
    assert (await act("diff", page=await fetched(url), selector="article .body")).is_new
    site.control.revisions.add(Revision(path=f"/news{path}"))
    found = await act("diff", page=await fetched(url), selector="article .body")
    assert found.changed
    assert found.added[-1] == "Update 1: the figures were checked again."
    assert len(found.removed) == 1
    assert 0.5 < found.similarity < 1


async def test_a_webhook_is_signed_so_that_its_receiver_can_check_it(site: FakeServer, act: Act) -> None:
    done = await act("webhook", url=f"{site.sink_url}hook", payload={"items": [1]}, secret="s3cret")
    sent = site.control.sink.received("hook")[0]
    content = f"{sent.headers['webhook-id']}.{sent.headers['webhook-timestamp']}.".encode() + sent.body
    expected = base64.b64encode(hmac.digest(b"s3cret", content, hashlib.sha256)).decode()
    assert (done.status, done.delivery) == (202, sent.headers["idempotency-key"])
    assert sent.headers["webhook-signature"] == f"v1,{expected}"


async def test_a_webhook_asks_no_robots_txt(site: FakeServer, act: Act) -> None:
    site.control.reset()
    assert (await act("webhook", url=f"{site.sink_url}own", payload={})).status == 202
    assert site.control.stats()["requests"] == {"/sink/own": 1}


async def test_a_webhook_that_is_refused_is_a_failure_of_its_status(site: FakeServer, act: Act) -> None:
    site.control.add(Fault(path="/sink/closed", status=503))
    with pytest.raises(FetchError) as caught:
        await act("webhook", url=f"{site.sink_url}closed", payload={})
    assert caught.value.failure_class == "http_503"


LOOP = """
inputs: {{sites: {{type: list}}}}
steps:
  - type: loop
    source: inputs.sites
    item_as: name
    loop_steps:
      - actor: webhook
        config: {{url: "{sink}", payload: "${{name}}"}}
    collect: delivery
"""


async def test_each_item_of_a_loop_is_a_delivery_of_its_own(site: FakeServer, run: RunPipeline) -> None:
    await run(LOOP.format(sink=f"{site.sink_url}loop"), sites=["a", "b", "c"])
    sent = site.control.sink.received("loop")
    assert sorted(one.body for one in sent) == [b'"a"', b'"b"', b'"c"']
    assert len({one.headers["webhook-id"] for one in sent}) == 3


NEWS = """
steps:
  - {{actor: feed, config: {{url: "{feeds}", max_items: 4}}}}
  - type: loop
    source: list_item_urls
    loop_steps:
      - {{actor: fetch}}
      - {{actor: article}}
  - {{actor: aggregate, config: {{key: url, sort_by: title, limit: 3, group_by: language}}}}
"""


async def test_the_articles_of_a_feed_are_read_by_a_pipeline(site: FakeServer, run: RunPipeline) -> None:
    result = await run(NEWS.format(feeds=site.feeds_url))
    assert result.failures == {}
    titles = [str(item["title"]) for item in result.items]
    assert titles == sorted(titles)
    assert len(titles) == 3
