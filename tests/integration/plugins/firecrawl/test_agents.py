"""Firecrawl agents as executions: the real client, the fakes' service, a real database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web
from sqlalchemy import inspect, select, text

from agentic.core.hooks import get_registry
from agentic.core.types import JSONValue, SaveCounts
from agentic.executors.exports.rows import choose_table, read_records
from agentic.executors.testing import Ran, RunAgent
from agentic.fakes.control import Fault
from agentic.fakes.firecrawl.account import AccountOrder
from agentic.fakes.server import FakeServer
from agentic.mappers import AgentResultModel, Database, ExecutionModel, ExecutionStatus
from agentic.plugins.firecrawl.actors import crawl_jobs
from agentic.plugins.firecrawl.models import FirecrawlLinkModel, FirecrawlPageModel

pytestmark = pytest.mark.integration

KEY = "fc-hush-hush"
Run = Callable[..., Ran]


def requests(fakes: FakeServer, path: str) -> int:
    counted = fakes.control.stats()["requests"]
    assert isinstance(counted, dict)
    return int(str(counted.get(path, 0)))


@pytest.fixture
def run(run_agent: RunAgent, fakes: FakeServer) -> Run:
    """Run an agent on the fakes; keywords are its config."""
    fakes.control.firecrawl.change(AccountOrder(polls=0))

    def run(**config: JSONValue) -> Ran:
        return run_agent("firecrawl", {"api_url": fakes.firecrawl_url, **config})

    return run


def summary(ran: Ran) -> dict[str, Any]:
    query = select(AgentResultModel.summary).where(AgentResultModel.execution_id == ran.outcome.execution_id)
    with ran.database.reading() as session:
        return session.scalars(query).one()


def test_pages_become_rows_and_what_failed_is_a_warning(run: Run, fakes: FakeServer) -> None:
    urls: list[JSONValue] = [f"{fakes.shop_url}product/1", f"{fakes.shop_url}nothing"]
    ran = run(urls=urls, formats=["markdown", "html", "links"])
    assert (ran.outcome.status, ran.outcome.counts) == (ExecutionStatus.PARTIAL, SaveCounts(inserted=1))
    (page,) = ran.rows(FirecrawlPageModel)
    assert (page.url, page.source_url, page.status, page.language) == (urls[0], urls[0], 200, "en")
    assert page.title
    assert page.title in str(page.markdown)
    assert "<h1" in str(page.html)
    assert fakes.shop_url in (page.links or [])
    assert page.told is not None
    assert page.told["credits_used"] == 1
    (warning, in_all) = ran.outcome.warnings
    assert "(http_404)" in warning
    assert in_all == "1 item failed: http_404 1"
    # The service had the page that is not there, too, and was paid for it; of that it tells nobody.
    assert summary(ran)["counts"] == {"pages": 1, "links": 0, "failed": 1, "robots_blocked": 0, "credits": 1}


def test_a_crawl_tells_what_it_cost_and_what_robots_txt_forbids(run: Run, fakes: FakeServer) -> None:
    ran = run(mode="crawl", url=fakes.shop_url, sitemap="skip", max_depth=1)
    told = summary(ran)
    assert told["counts"] == {
        "pages": fakes.control.firecrawl.credits,
        "links": 0,
        "failed": 0,
        "robots_blocked": 1,
        "credits": fakes.control.firecrawl.credits,
    }
    assert 5 < len(ran.rows(FirecrawlPageModel)) <= told["counts"]["pages"]
    assert told["robots_blocked"] == [f"{fakes.shop_url}private/orders"]


def test_what_a_model_reads_is_kept_apart_from_what_the_page_says(run: Run, fakes: FakeServer) -> None:
    schema: JSONValue = {
        "type": "object",
        "properties": {"price": {"type": "number"}, "title": {"type": "string"}},
    }
    ran = run(mode="crawl", url=f"{fakes.shop_url}product/1", limit=1, sitemap="skip", schema=schema)
    (page,) = ran.rows(FirecrawlPageModel)
    assert page.item is not None
    assert page.item["price"]
    assert page.title


def test_a_page_that_is_the_same_is_unchanged_though_its_scrape_has_another_id(
    run: Run, fakes: FakeServer
) -> None:
    first = run(url=f"{fakes.shop_url}product/1")
    again = run(url=f"{fakes.shop_url}product/1", formats=["links"])
    assert (first.outcome.counts, again.outcome.counts) == (SaveCounts(inserted=1), SaveCounts(updated=1))
    third = run(url=f"{fakes.shop_url}product/1")
    assert third.outcome.counts == SaveCounts(unchanged=1)
    (page,) = third.rows(FirecrawlPageModel)
    assert page.markdown
    assert page.links, "what a run did not ask for stays as it was"


def test_a_search_gives_links_by_query_and_pages_if_it_scrapes(run: Run) -> None:
    run(mode="search", query="a", limit=3)
    ran = run(mode="search", query="o", limit=2, scrape=True)
    links = ran.rows(FirecrawlLinkModel)
    by_query = [link.asked for link in links]
    assert (by_query.count("a"), by_query.count("o")) == (3, 2)
    assert {link.found_by for link in links} == {"search"}
    assert all(link.title and link.source == "web" and link.position for link in links)
    assert len(ran.rows(FirecrawlPageModel)) == 2


def test_an_agent_that_gets_not_one_page_fails_and_says_why(run: Run, fakes: FakeServer) -> None:
    for config in ({"url": f"{fakes.hostile_url}status/403"}, {"mode": "crawl", "sitemap": "skip"}):
        ran = run(**{"url": f"{fakes.hostile_url}status/403", **config})
        assert ran.outcome.status is ExecutionStatus.FAILED
        assert "no result: " in (ran.outcome.error or "")
        assert "(http_403)" in (ran.outcome.error or "")
        assert ran.rows(FirecrawlPageModel) == []


@pytest.mark.parametrize(
    ("then", "config"),
    [
        ("skip", {"mode": "map", "url": "https://shop.example/"}),
        ("dead_letter", {"mode": "crawl", "url": "https://shop.example/"}),
        ("skip", {"mode": "search", "query": "lamps"}),
    ],
)
def test_an_agent_whose_one_request_is_given_up_fails_and_says_why(
    run: Run, then: str, config: dict[str, JSONValue]
) -> None:
    ran = run(**config, api_url="http://127.0.0.1:1", error_handling={"*": {"then": then}})
    assert ran.outcome.status is ExecutionStatus.FAILED
    assert "no result: Firecrawl did not " in (ran.outcome.error or "")
    assert "(connect)" in (ran.outcome.error or "")


def test_a_look_that_fails_for_a_moment_neither_fails_the_agent_nor_begins_another_crawl(
    run: Run, fakes: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawl_jobs, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(crawl_jobs, "SHARE", 0.0)
    fakes.control.firecrawl.change(AccountOrder(polls=1))
    fakes.control.add(Fault(path="/firecrawl/v2/crawl/*", status=503, times=2))
    ran = run(mode="crawl", url=fakes.shop_url, limit=3)
    assert (ran.outcome.status, ran.outcome.error) == (ExecutionStatus.SUCCEEDED, None)
    assert requests(fakes, "/firecrawl/v2/crawl") == 1
    assert fakes.control.firecrawl.credits == 3


def test_a_crawl_that_was_refused_is_not_looked_for(run: Run, fakes: FakeServer) -> None:
    fakes.control.firecrawl.change(AccountOrder(plan_credits=0))
    ran = run(mode="crawl", url=fakes.shop_url)
    assert "quota_exhausted" in (ran.outcome.error or "")


def test_the_rows_of_a_run_can_be_written_out_pages_before_the_links_that_led_to_them(run: Run) -> None:
    ran = run(mode="search", query="a", limit=2, scrape=True)
    with ran.database.reading() as session:
        execution = session.get_one(ExecutionModel, ran.outcome.execution_id)
        table = choose_table(session, get_registry().platform("firecrawl"), execution, None)
        records = list(read_records(session, table, execution))
    assert table.name == "firecrawl_pages"
    assert [record["metadata"] for record in records] == [page.told for page in ran.rows(FirecrawlPageModel)]


async def test_the_key_is_sent_and_told_nowhere(
    run_agent: RunAgent,
    agentic_database: Database,
    service: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("AGENTIC_SECRET_MINE", KEY)
    document = {"rawHtml": "<p>Hi</p>", "markdown": f"Hi {KEY}", "metadata": {"url": "http://h.example/"}}
    service.answer = lambda asked: (
        web.json_response({"success": True, "data": document})
        if asked.headers["authorization"] == f"Bearer {KEY}"
        else web.json_response({"error": "no"}, status=401)
    )
    config = {"url": "http://h.example/", "api_url": service.url, "api_key": "${secrets.mine}"}
    ran = await asyncio.to_thread(run_agent, "firecrawl", config)
    assert ran.outcome.counts == SaveCounts(inserted=1)
    with agentic_database.reading() as session:
        tables = inspect(agentic_database.engine).get_table_names()
        kept = [str(row) for name in tables for row in session.execute(text(f'SELECT * FROM "{name}"'))]
    assert not [row for row in kept if KEY in row]
    assert KEY not in caplog.text


def test_a_config_that_asks_for_nothing_fails_before_anything_is_asked(
    run_agent: RunAgent, fakes: FakeServer
) -> None:
    ran = run_agent("firecrawl", {"mode": "search"})
    assert "mode search needs a query" in (ran.outcome.error or "")
    assert fakes.control.stats()["total"] == 0
