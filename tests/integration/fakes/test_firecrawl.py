"""firecrawl-py against the local Firecrawl: every call of the two clients that the project makes."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from agentic.fakes.control import Fault
from agentic.fakes.firecrawl.account import AccountOrder
from agentic.fakes.server import FakeServer

sdk: Any = pytest.importorskip("firecrawl")
types: Any = pytest.importorskip("firecrawl.v2.types")
errors: Any = pytest.importorskip("firecrawl.v2.utils.error_handler")

pytestmark = pytest.mark.integration


@pytest.fixture(params=["sync", "async"])
def client(request: pytest.FixtureRequest, fakes: FakeServer) -> Any:
    """One of the two clients; ``call`` lets tests use both alike."""
    kind = sdk.Firecrawl if request.param == "sync" else sdk.AsyncFirecrawl
    return kind(api_url=fakes.firecrawl_url)


async def call(client: Any, name: str, *args: object, **options: object) -> Any:
    answer = getattr(client, name)(*args, **options)
    return await answer if hasattr(answer, "__await__") else answer


def spent(fakes: FakeServer) -> object:
    return fakes.control.stats()["credits"]


async def test_a_page_is_scraped_in_the_formats_asked_for(client: Any, fakes: FakeServer) -> None:
    url = f"{fakes.shop_url}product/1"
    page = await call(client, "scrape", url, formats=["markdown", "html", "rawHtml", "links"])
    assert page.markdown.startswith("[")
    assert "# " in page.markdown
    assert '<h1 class="title">' in page.html
    assert "<footer>" not in page.html
    assert "<footer>" in page.raw_html
    assert f"{fakes.shop_url}private/orders" in page.links
    assert page.metadata.status_code == 200
    assert (page.metadata.source_url, page.metadata.url) == (url, url)
    assert page.metadata.title in page.markdown
    assert spent(fakes) == 1


async def test_json_stands_in_for_a_model_and_costs_more(client: Any, fakes: FakeServer) -> None:
    schema = {"type": "object", "properties": {"title": {"type": "string"}, "price": {"type": "number"}}}
    wanted = {"type": "json", "schema": schema}
    page = await call(client, "scrape", f"{fakes.shop_url}product/1", formats=[wanted])
    assert page.json["price"] > 0
    assert page.json["title"]
    assert spent(fakes) == 5


async def test_metadata_has_what_the_article_says_of_itself(client: Any, fakes: FakeServer) -> None:
    news = await call(client, "scrape", fakes.news_url, formats=["links"])
    link = next(link for link in news.links if "/article/" in link)
    page = await call(client, "scrape", link)
    assert page.metadata.og_title == page.metadata.title
    assert page.metadata.published_time.startswith("2026-")
    assert page.metadata.language == "en"
    assert "Advertisement" not in page.markdown


@pytest.mark.parametrize(
    ("path", "status"), [("status/403", 403), ("shop/nothing", 404), ("challenge/cloudflare", 403)]
)
async def test_a_site_that_refuses_is_a_success_with_its_status_inside(
    client: Any, fakes: FakeServer, path: str, status: int
) -> None:
    page = await call(client, "scrape", fakes.hostile_url + path)
    assert page.metadata.status_code == status
    assert page.metadata.error
    assert spent(fakes) == 1


@pytest.mark.parametrize(
    ("host", "error"),
    [
        ("unsupported.example", "WebsiteNotSupportedError"),
        ("unpaid.example", "PaymentRequiredError"),
        ("slow.example", "RequestTimeoutError"),
        ("busy.example", "RateLimitError"),
        ("tls.example", "TLSError"),
        ("broken.example", "InternalServerError"),
        ("nowhere.example", "DNSResolutionError"),
    ],
)
async def test_what_the_api_itself_refuses_raises_and_costs_nothing(
    client: Any, fakes: FakeServer, host: str, error: str
) -> None:
    with pytest.raises(getattr(errors, error)):
        await call(client, "scrape", f"https://{host}/page")
    assert spent(fakes) == 0


async def test_a_rate_limit_says_how_long_to_wait(client: Any, fakes: FakeServer) -> None:
    with pytest.raises(errors.RateLimitError) as caught:
        await call(client, "scrape", "https://busy.example/")
    assert caught.value.response.headers["retry-after"] == "1"
    fakes.control.add(Fault(path="*/v2/scrape", status=429, retry_after_s=7))
    with pytest.raises(errors.RateLimitError) as caught:
        await call(client, "scrape", fakes.shop_url)
    assert caught.value.response.headers["retry-after"] == "7"


async def test_a_target_that_takes_too_long_or_too_much_is_a_fault_of_the_api(
    client: Any, fakes: FakeServer
) -> None:
    with pytest.raises(errors.RequestTimeoutError):
        await call(client, "scrape", f"{fakes.hostile_url}slow?every_ms=60000", timeout=50)
    for path in ("endless", "loop"):
        with pytest.raises(errors.InternalServerError):
            await call(client, "scrape", fakes.hostile_url + path)
    assert spent(fakes) == 0


async def test_redirects_and_packed_bodies_are_followed_to_the_page(client: Any, fakes: FakeServer) -> None:
    page = await call(client, "scrape", f"{fakes.hostile_url}redirects/2", formats=["rawHtml"])
    assert page.metadata.url == f"{fakes.hostile_url}redirects/0"
    assert "The end of the way" in page.raw_html
    packed = await call(client, "scrape", f"{fakes.hostile_url}gzip-bomb?mib=64", formats=["links"])
    assert (packed.metadata.status_code, packed.links) == (200, [])
    with pytest.raises(errors.DNSResolutionError):
        await call(client, "scrape", f"{fakes.hostile_url}to?url=http://elsewhere.example/")


async def test_a_wrong_key_is_refused_and_the_right_one_is_not(fakes: FakeServer) -> None:
    right = sdk.Firecrawl(api_url=fakes.firecrawl_url, api_key="fc-test")
    assert right.scrape(fakes.shop_url).metadata.status_code == 200
    wrong = sdk.Firecrawl(api_url=fakes.firecrawl_url, api_key="fc-other")
    with pytest.raises(errors.UnauthorizedError):
        wrong.scrape(fakes.shop_url)


async def test_a_request_that_makes_no_sense_is_refused(client: Any, fakes: FakeServer) -> None:
    with pytest.raises(errors.BadRequestError):
        await call(client, "scrape", "ftp://h/file")
    with pytest.raises(errors.BadRequestError):
        await call(client, "scrape", fakes.shop_url, formats=["summary"])


async def test_a_map_names_the_pages_of_a_site(client: Any, fakes: FakeServer) -> None:
    everything = [link.url for link in (await call(client, "map", fakes.shop_url)).links]
    assert f"{fakes.shop_url}product/60" in everything
    assert len(everything) == len(set(everything))
    lamps = (await call(client, "map", fakes.shop_url, search="lamps", limit=1)).links
    assert [link.url for link in lamps] == [f"{fakes.shop_url}category/lamps"]
    linked = (await call(client, "map", fakes.shop_url, sitemap="skip")).links
    assert 0 < len(linked) < len(everything)
    assert spent(fakes) == 3


async def test_a_search_finds_pages_and_scrapes_them_if_asked_to(client: Any, fakes: FakeServer) -> None:
    found = await call(client, "search", "copper", limit=2)
    assert [result.position for result in found.web] == [1, 2]
    assert all(result.url.startswith(fakes.shop_url) and result.title for result in found.web)
    assert spent(fakes) == 2
    options = types.ScrapeOptions(formats=["markdown"])
    scraped = await call(client, "search", "copper", limit=2, sources=["web", "news"], scrape_options=options)
    assert [page.metadata.status_code for page in scraped.web] == [200, 200]
    assert all(page.markdown for page in scraped.web)
    assert scraped.news == []
    assert spent(fakes) == 2 + 2 + 2


async def test_a_crawl_is_polled_until_it_is_completed_and_paid_by_the_page(
    client: Any, fakes: FakeServer
) -> None:
    started = await call(client, "start_crawl", fakes.shop_url, limit=70, sitemap="skip")
    assert started.url == f"{_mounted(client, fakes)}/v2/crawl/{started.id}"
    page = types.PaginationConfig(auto_paginate=False)
    first = await call(client, "get_crawl_status", started.id, pagination_config=page)
    assert (first.status, first.completed, spent(fakes)) == ("scraping", 50, 50)
    last = await call(client, "get_crawl_status", started.id)
    assert (last.status, last.completed, last.total, last.credits_used) == ("completed", 70, 70, 70)
    assert len({page.metadata.source_url for page in last.data}) == 70
    assert last.expires_at is not None
    again = await call(client, "get_crawl_status", started.id)
    assert (len(again.data), spent(fakes)) == (70, 70)


async def test_pages_of_documents_are_reached_one_by_one(client: Any, fakes: FakeServer) -> None:
    fakes.control.firecrawl.change(AccountOrder(documents_per_page=4, polls=0))
    started = await call(client, "start_crawl", fakes.news_url, limit=10)
    one = types.PaginationConfig(auto_paginate=False)
    job = await call(client, "get_crawl_status", started.id, pagination_config=one)
    counts = [len(job.data)]
    while job.next:
        job = await call(client, "get_crawl_status_page", job.next)
        counts.append(len(job.data))
    assert (job.status, counts) == ("completed", [4, 4, 2])


async def test_the_blocking_crawl_ends_when_the_job_does(client: Any, fakes: FakeServer) -> None:
    fakes.control.firecrawl.change(AccountOrder(polls=3))
    options = {"limit": 5, "poll_interval": 0.01, "include_paths": ["^/shop/product/"]}
    job = await call(client, "crawl", url=fakes.shop_url, **options)
    assert (job.status, len(job.data)) == ("completed", 5)
    paths = [page.metadata.source_url.removeprefix(fakes.shop_url) for page in job.data]
    assert paths[0] == ""
    assert all(path.startswith("product/") for path in paths[1:])


async def test_the_blocking_crawl_gives_up_when_its_time_is_over_and_the_job_goes_on(
    client: Any, fakes: FakeServer
) -> None:
    fakes.control.firecrawl.change(AccountOrder(polls=100))
    with pytest.raises(errors.CrawlJobTimeoutError) as caught:
        await call(client, "crawl", url=fakes.shop_url, limit=2, poll_interval=0.01, timeout=0.05)
    assert (await call(client, "get_crawl_status", caught.value.job_id)).status == "scraping"


async def test_a_bad_gateway_is_asked_again_by_the_client_itself(client: Any, fakes: FakeServer) -> None:
    fakes.control.add(Fault(path="*/v2/scrape", status=502))
    assert (await call(client, "scrape", fakes.shop_url)).metadata.status_code == 200
    assert fakes.control.stats()["total"] == 2


async def test_a_crawl_stays_below_its_start_and_as_shallow_as_told(client: Any, fakes: FakeServer) -> None:
    start = f"{fakes.hostile_url}deep/1"
    options = {"poll_interval": 0.01, "sitemap": "skip", "crawl_entire_domain": True}
    job = await call(client, "crawl", url=start, max_discovery_depth=2, **options)
    numbers = {int(page.metadata.source_url.rpartition("/")[2]) for page in job.data}
    assert numbers == {1, 2, 13, 3, 14, 25}


async def test_a_crawl_tells_what_failed_and_what_robots_txt_forbids(client: Any, fakes: FakeServer) -> None:
    started = await call(client, "start_crawl", fakes.shop_url, sitemap="skip")
    await call(client, "get_crawl_status", started.id)
    told = await call(client, "get_crawl_errors", started.id)
    assert told.robots_blocked == [f"{fakes.shop_url}private/orders"]
    assert told.errors == []
    start = f"{fakes.hostile_url}to?url=http://elsewhere.example/"
    failing = await call(client, "start_crawl", start, sitemap="skip")
    await call(client, "get_crawl_status", failing.id)
    told = await call(client, "get_crawl_errors", failing.id)
    assert [(error.code, error.url) for error in told.errors] == [("SCRAPE_DNS_RESOLUTION_ERROR", start)]
    assert (await call(client, "get_crawl_status", failing.id)).status == "completed"


async def test_a_crawl_is_cancelled_once_and_not_after_it_is_completed(
    client: Any, fakes: FakeServer
) -> None:
    started = await call(client, "start_crawl", fakes.shop_url, limit=2)
    assert await call(client, "cancel_crawl", started.id)
    assert (await call(client, "get_crawl_status", started.id)).status == "cancelled"
    assert spent(fakes) == 0
    fakes.control.firecrawl.change(AccountOrder(polls=0))
    done = await call(client, "start_crawl", fakes.shop_url, limit=1)
    await call(client, "get_crawl_status", done.id)
    assert not await call(client, "cancel_crawl", done.id)
    with pytest.raises(errors.FirecrawlError, match="Job not found"):
        await call(client, "get_crawl_status", "nothing")


def test_a_crawl_is_active_until_it_ends(fakes: FakeServer) -> None:
    client = sdk.Firecrawl(api_url=fakes.firecrawl_url)  # the asynchronous one does not offer the call
    started = client.start_crawl(fakes.shop_url, limit=2)
    assert (started.id, fakes.shop_url) in [(one.id, one.url) for one in client.get_active_crawls().crawls]
    client.cancel_crawl(started.id)
    assert started.id not in [crawl.id for crawl in client.get_active_crawls().crawls]


async def test_a_batch_is_scraped_and_paid_by_the_page(client: Any, fakes: FakeServer) -> None:
    fakes.control.firecrawl.change(AccountOrder(polls=0))
    urls = [f"{fakes.shop_url}product/{number}" for number in (1, 2, 3)]
    started = await call(client, "start_batch_scrape", urls)
    job = await call(client, "get_batch_scrape_status", started.id)
    assert (job.status, [page.metadata.source_url for page in job.data]) == ("completed", urls)
    assert (job.credits_used, spent(fakes)) == (3, 3)


async def test_pages_of_a_batch_are_reached_one_by_one(client: Any, fakes: FakeServer) -> None:
    fakes.control.firecrawl.change(AccountOrder(documents_per_page=2, polls=0))
    urls = [f"{fakes.shop_url}product/{number}" for number in range(1, 6)]
    started = await call(client, "start_batch_scrape", urls)
    one = types.PaginationConfig(auto_paginate=False)
    job = await call(client, "get_batch_scrape_status", started.id, pagination_config=one)
    counts = [len(job.data)]
    while job.next:
        job = await call(client, "get_batch_scrape_status_page", job.next)
        counts.append(len(job.data))
    assert counts == [2, 2, 1]


def test_a_batch_with_a_key_is_started_once(fakes: FakeServer) -> None:
    client = sdk.Firecrawl(api_url=fakes.firecrawl_url)  # the asynchronous one does not send the key
    key = str(uuid4())
    client.start_batch_scrape([fakes.shop_url], idempotency_key=key)
    for used in (key, "no-uuid"):
        with pytest.raises(errors.FirecrawlError, match="Idempotency key already used"):
            client.start_batch_scrape([fakes.shop_url], idempotency_key=used)


async def test_a_batch_leaves_out_what_is_no_url_if_told_to(client: Any, fakes: FakeServer) -> None:
    urls = [fakes.shop_url, "http://["]
    with pytest.raises(errors.BadRequestError):
        await call(client, "start_batch_scrape", urls)
    job = await call(client, "batch_scrape", urls, ignore_invalid_urls=True, poll_interval=0.01)
    assert len(job.data) == 1
    started = await call(client, "start_batch_scrape", urls, ignore_invalid_urls=True)
    assert started.invalid_urls == ["http://["]
    assert await call(client, "cancel_batch_scrape", started.id)


def test_a_batch_tells_what_failed(fakes: FakeServer) -> None:
    client = sdk.Firecrawl(api_url=fakes.firecrawl_url)  # the asynchronous one wants a field nobody sends
    started = client.start_batch_scrape(["http://nowhere.example/", fakes.shop_url])
    assert len(client.get_batch_scrape_status(started.id).data) == 1
    told = client.get_batch_scrape_errors(started.id)
    assert [error.url for error in told.errors] == ["http://nowhere.example/"]


async def test_credits_run_out(client: Any, fakes: FakeServer) -> None:
    fakes.control.firecrawl.change(AccountOrder(plan_credits=2))
    await call(client, "scrape", fakes.shop_url)
    assert (await call(client, "get_credit_usage")).remaining_credits == 1
    await call(client, "scrape", fakes.shop_url)
    with pytest.raises(errors.PaymentRequiredError):
        await call(client, "scrape", fakes.shop_url)
    assert (await call(client, "get_credit_usage")).plan_credits == 2


async def test_what_firecrawl_fetches_is_neither_counted_nor_hit_by_faults(
    client: Any, fakes: FakeServer
) -> None:
    fakes.control.add(Fault(path="/shop/*", status=403, times=None))
    page = await call(client, "scrape", fakes.shop_url)
    assert page.metadata.status_code == 200
    assert fakes.control.stats()["total"] == 1


def _mounted(client: Any, fakes: FakeServer) -> str:
    """Return where the client finds the API: the synchronous one drops the path of its ``api_url``."""
    return fakes.url if isinstance(client, sdk.Firecrawl) else fakes.firecrawl_url
