"""Settings, pipelines and rows: what goes into a Firecrawl agent and what comes out, without a database."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from pydantic import ValidationError

from agentic.core.hooks import get_registry
from agentic.core.pipeline import PipelineResult, read_spec
from agentic.core.pipeline.expressions.expressions import evaluate
from agentic.core.pipeline.expressions.references import expression_of
from agentic.core.types import JSONValue
from agentic.mappers import CLEARED
from agentic.plugins.firecrawl.agent_settings import FirecrawlAgentSettings
from agentic.plugins.firecrawl.found import found_in
from agentic.plugins.firecrawl.mapper import LinkRecord, PageRecord, link_row, page_row

URL = "https://shop.example/"


def settings(**config: object) -> FirecrawlAgentSettings:
    return FirecrawlAgentSettings.model_validate(config)


def result(mode: str, *items: dict[str, JSONValue]) -> PipelineResult:
    return PipelineResult(
        pipeline=f"firecrawl_{mode}",
        item_key="url",
        items=items,
        counts={},
        failures={},
        failed_items=(),
        retried=(),
        skipped=(),
    )


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({}, "mode scrape needs url or urls"),
        ({"mode": "crawl"}, "mode crawl needs one url"),
        ({"mode": "map", "urls": [URL]}, "mode map needs one url"),
        ({"mode": "search"}, "mode search needs a query"),
        ({"mode": "search", "query": "x", "url": URL}, "neither url nor urls"),
        ({"url": URL, "query": "x"}, "a query is for mode search"),
        ({"url": URL, "max_depth": 2}, "mode scrape does not take max_depth"),
        ({"url": URL, "limit": 2}, "mode scrape does not take limit"),
        ({"mode": "map", "url": URL, "formats": ["html"]}, "mode map does not take formats"),
        (
            {"mode": "crawl", "url": URL, "limit": 1_001},
            "max_pages: Input should be less than",
        ),
        ({"mode": "search", "query": "x", "limit": 101}, "limit: Input should be less than"),
        ({"url": URL, "wait_for": "::"}, "is not a CSS selector"),
        ({"url": URL, "schema": {"type": "nonsense"}}, "not a JSON Schema"),
        ({"url": URL, "api_key": "fc-hush"}, "name a stored secret"),
        ({"url": URL, "api_url": "https://user:fc-hush@h/"}, "pattern"),
        ({"url": URL, "surprise": 1}, "Extra"),
        ({"url": URL, "error_handling": {"default": {}}}, "unknown failure class 'default'"),
        (
            {"mode": "map", "url": URL, "error_handling": {"*": {"retry_with_actor": "fech"}}},
            "error_handling.*.retry_with_actor: unknown actor 'fech'",
        ),
    ],
)
def test_settings_that_cannot_be_used_are_refused_without_a_secret_in_the_reason(
    config: dict[str, object], reason: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        settings(**config)
    assert reason in str(caught.value)
    assert "fc-hush" not in str(caught.value)


@pytest.mark.parametrize(
    "config",
    [
        {"url": URL, "urls": [f"{URL}a"], "formats": ["html"], "max_parallel": 2, "headers": {"x": "1"}},
        {"mode": "crawl", "url": URL, "limit": 7, "include_paths": ["^/a"], "api_key": "${secrets.mine}"},
        {"mode": "map", "url": URL, "search": "lamps", "limit": 9, "include_subdomains": True},
        {"mode": "search", "query": "lamps", "since": "qdr:d", "scrape": True, "schema": {"type": "object"}},
    ],
)
def test_every_agent_is_a_pipeline_that_the_installed_actors_can_run(config: dict[str, object]) -> None:
    spec = settings(**config).spec
    assert (
        read_spec(spec.model_dump(mode="json"), get_registry().actors).name == f"firecrawl_{spec.name[10:]}"
    )


def test_a_page_that_is_named_twice_is_fetched_once() -> None:
    assert settings(url=URL, urls=[f"{URL}a", URL]).pages == [URL, f"{URL}a"]


def test_a_crawl_outlasts_what_may_pass_and_a_refused_request_is_made_again_only_if_it_cost_nothing() -> None:
    crawl = settings(mode="crawl", url=URL, limit=7)
    step: Any = crawl.spec.steps[0]
    assert step.config == {"url": URL, "max_pages": 7, "as_records": True, "keep_looking": True}
    assert {name: rule.retry_count for name, rule in crawl.spec.error_handling.items()} == {"rate_limited": 5}
    assert settings(url=URL, error_handling={}).spec.error_handling == {}


def test_nothing_old_and_nothing_unchecked_unless_the_agent_says_so() -> None:
    for given in (settings(url=URL), settings(mode="crawl", url=URL)):
        options = given.options(30, ["markdown"])
        assert (options["max_age"], options["skip_tls_verification"]) == (0, False)
    assert settings(url=URL, max_age_s=60).options(30, ["markdown"])["max_age"] == 60_000


def test_of_a_page_is_kept_what_was_made_of_it_and_not_its_markup() -> None:
    step: Any = settings(url=URL).spec.steps[0]
    output: dict[str, Any] = {
        "page": {"final_url": URL, "status": 200, "fetched_at": "2026-01-01T00:00:00Z", "text": "<p>Long"},
        "metadata": {"title": "A"},
        "markdown": "# A",
    }
    kept: Any = evaluate(expression_of(step.collect), lambda path: output if path == ("found",) else None)
    page = PageRecord.model_validate(kept)
    assert (page.url, page.status, page.markdown, page.html) == (URL, 200, "# A", None)
    assert "Long" not in str(kept)


def test_what_is_told_of_pages_is_counted_with_the_credits_they_cost() -> None:
    found = found_in(result("scrape", {"url": URL, "metadata": {"credits_used": 5}}, {"metadata": {}}))
    assert found.summary() == {"pages": 2, "links": 0, "failed": 0, "robots_blocked": 0, "credits": 5}


def test_a_service_that_tells_no_price_is_not_said_to_be_free() -> None:
    assert "credits" not in found_in(result("map", {"listed": [{"url": URL}]})).summary()


def test_a_failure_names_its_page_once() -> None:
    answer: dict[str, Any] = {
        "items": [],
        "failed": [
            {"url": URL, "failure_class": "dns", "message": "unknown host"},
            {"url": URL, "failure_class": "http_403", "message": f"{URL} was not fetched (http_403)"},
        ],
        "robots_blocked": [f"{URL}private"],
        "counts": {"credits": 0},
    }
    found = found_in(result("crawl", answer))
    assert found.failed == (f"{URL} (dns): unknown host", f"{URL} was not fetched (http_403)")
    assert found.robots_blocked == (f"{URL}private",)


def test_a_row_of_a_page_has_one_spelling_of_its_address_and_one_text_for_what_is_said_twice() -> None:
    metadata: dict[str, JSONValue] = {"title": ["One", "Two"], "language": "", "source_url": URL}
    row = page_row(PageRecord(url="HTTPS://shop.example:443/a?utm_source=x", metadata=metadata))
    assert (row["url"], row["source_url"]) == (f"{URL}a", URL)
    assert (row["title"], row["language"], row["description"]) == ("One", CLEARED, None)
    assert row["metadata"] == metadata


def test_a_row_of_a_link_says_who_found_it_by_what() -> None:
    row = link_row(LinkRecord(url=f"{URL}a", snippet="said", metadata={"title": "A"}), "search", "lamps", 3)
    assert (row["found_by"], row["asked"], row["position"]) == ("search", "lamps", 3)
    assert (row["title"], row["description"]) == ("A", "said")
    other = link_row(LinkRecord(url=f"{URL}a"), "search", "chairs", 3)
    assert (other["url_key"], other["asked_key"] == row["asked_key"]) == (row["url_key"], False)


def test_finding_the_plugin_loads_neither_database_nor_client() -> None:
    loaded = "{'sqlalchemy', 'aiohttp', 'firecrawl', 'pydantic'} & set(sys.modules)"
    code = f"import sys, agentic.plugins.firecrawl; print({loaded} - {{'pydantic'}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
