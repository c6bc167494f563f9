"""Firecrawl in pipelines: as a fallback, as what a crawl fetches with, and as a crawl that is waited for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agentic.core.actors import ActorContext
from agentic.core.hooks import get_registry
from agentic.core.pipeline import CrawlStore, PipelineResult, PipelineServices, compile_pipeline, parse_spec
from agentic.core.types import JSONValue, RunId
from agentic.fakes.control import Fault
from agentic.fakes.firecrawl.account import AccountOrder
from agentic.fakes.server import FakeServer
from agentic.plugins.firecrawl.actors import crawl_jobs

pytestmark = pytest.mark.integration

RunPipeline = Callable[..., Awaitable[PipelineResult]]

DETAILS = """
inputs: {urls: {type: list}}
error_handling:
  403_error: {retry_with_actor: firecrawl_api}
steps:
  - type: loop
    source: urls
    item_as: url
    loop_steps:
      - {actor: fetch, config: {mode: http, timeout_s: 5}}
      - {actor: extract_detail, config: {schema: {title: h1.title}}}
    collect: item
"""

CRAWL = """
inputs: {url: {type: string}}
steps:
  - {actor: firecrawl_crawl, config: {max_pages: 3}}
  - {actor: aggregate, config: {key: url}}
"""


@pytest.fixture
def run(ctx: ActorContext, fakes: FakeServer, monkeypatch: pytest.MonkeyPatch) -> RunPipeline:
    """Run a pipeline that asks the fakes' Firecrawl."""
    monkeypatch.setenv("AGENTIC_FIRECRAWL_URL", fakes.firecrawl_url)

    def no_frontier(run: RunId) -> CrawlStore:
        raise AssertionError(f"{run} has no crawl")

    async def run(spec: str, **inputs: JSONValue) -> PipelineResult:
        actors = get_registry().actors
        services = PipelineServices(frontier=no_frontier, context=lambda _: ctx)
        result = await compile_pipeline(parse_spec(spec, actors), actors, services).run(inputs)
        return PipelineResult.model_validate(result.output(dict))

    return run


@pytest.mark.requirement("SP11", "SP21")
async def test_a_page_that_is_refused_is_fetched_by_firecrawl(run: RunPipeline, fakes: FakeServer) -> None:
    urls = [f"{fakes.shop_url}product/{number}" for number in (1, 2, 3)]
    # Firecrawl asks the shop itself, which has nothing against it.
    fakes.control.add(Fault(path="/shop/product/2", status=403, times=None))
    result = await run(DETAILS, urls=urls)
    assert [item["url"] for item in result.items] == urls
    assert all(item["title"] for item in result.items)
    (retried,) = result.retried
    first, second = retried.attempts
    assert (first.actor, first.failure_class) == ("fetch", "http_403")
    assert (second.actor, second.failure_class) == ("firecrawl_api", None)
    assert result.items[1]["_attempts"]
    assert fakes.control.stats()["credits"] == 1


async def test_what_firecrawl_refuses_too_is_given_up(run: RunPipeline, fakes: FakeServer) -> None:
    result = await run(DETAILS, urls=[f"{fakes.hostile_url}status/403"])
    (failed,) = result.failed_items
    assert [attempt.actor for attempt in failed.attempts] == ["fetch", "firecrawl_api"]
    assert failed.failure_class == "http_403"


async def test_a_crawl_is_waited_for_without_a_worker(
    run: RunPipeline, fakes: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawl_jobs, "FIRST_PAUSE_S", 0.01)
    fakes.control.firecrawl.change(AccountOrder(polls=3))
    result = await run(CRAWL, url=fakes.shop_url)
    assert len(result.items) == 3
    requests = fakes.control.stats()["requests"]
    assert isinstance(requests, dict)
    assert requests["/firecrawl/v2/crawl"] == 1
    assert fakes.control.stats()["credits"] == 3


async def test_a_crawl_that_is_rate_limited_goes_on_where_it_was(
    run: RunPipeline, fakes: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawl_jobs, "FIRST_PAUSE_S", 0.01)
    fakes.control.firecrawl.change(AccountOrder(polls=1))
    fakes.control.add(Fault(path="*/v2/crawl/*", status=429, retry_after_s=1))
    rules = "error_handling: {rate_limited: {retry_count: 2, backoff_s: 0.01}}"
    result = await run(CRAWL + rules, url=fakes.shop_url)
    assert len(result.items) == 3
    assert fakes.control.stats()["credits"] == 3


async def test_the_key_is_in_nothing_that_a_pipeline_leaves_behind(
    run: RunPipeline, fakes: FakeServer, secrets: Any
) -> None:
    secrets.stored["MINE"] = "fc-hush"
    spec = """
inputs: {url: {type: string}}
steps:
  - {actor: firecrawl_map, config: {api_key: "${secrets.MINE}"}}
"""
    result = await run(spec + "error_handling: {'*': {then: skip}}", url=fakes.shop_url)
    (failed,) = result.failed_items
    assert failed.failure_class == "auth_required"
    assert "fc-hush" not in result.model_dump_json()
