"""What Firecrawl gave to rows of ``firecrawl_*``, in a real database: on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pytest
from sqlalchemy import select

from agentic.core.hooks import get_registry
from agentic.core.types import JSONValue, SaveCounts
from agentic.executors.testing import MapperContract, MapperSamples
from agentic.mappers import (
    AgentModel,
    AgentResultModel,
    Database,
    ResultMapper,
    add_agent,
    add_project,
    create_execution,
    get_result_mapper,
)
from agentic.migrations.drift import differences
from agentic.plugins.firecrawl.models import FirecrawlLinkModel, FirecrawlPageModel

pytestmark = pytest.mark.integration

URL = "https://shop.example/"
NOON = "2026-11-02T12:00:00Z"
PAGE: dict[str, JSONValue] = {
    "url": URL,
    "status": 200,
    "scraped_at": NOON,
    "markdown": "# Shop",
    "links": [f"{URL}a"],
    "metadata": {"title": "Shop", "source_url": URL, "scrape_id": "1"},
}


def results(mode: str, *answers: dict[str, Any]) -> dict[str, object]:
    """Return what a pipeline of a mode gives."""
    empty: dict[str, object] = {"failures": {}, "failed_items": [], "retried": [], "skipped": []}
    return {"pipeline": f"firecrawl_{mode}", "item_key": "url", "items": list(answers), "counts": {}, **empty}


def crawled(*pages: object) -> dict[str, Any]:
    return {"items": list(pages), "failed": [], "robots_blocked": [], "counts": {"credits": len(pages)}}


OTHER: dict[str, JSONValue] = {
    "url": f"{URL}a",
    "markdown": "A",
    "scraped_at": NOON,
    "metadata": {"title": "A"},
}
SHORTER = [{"url": page["url"], "scraped_at": NOON} for page in (PAGE, OTHER)]
ODD: dict[str, object] = {**PAGE, "metadata": {"title": "Shop", "odd": float("nan")}}


@pytest.mark.requirement("PL21", "PL28", "PL30")
class TestMapper(MapperContract):
    platform = "firecrawl"
    config: ClassVar[Mapping[str, JSONValue]] = {"mode": "crawl", "url": URL}
    samples = MapperSamples(
        results=results("crawl", crawled(PAGE, OTHER)),
        row_count=2,
        shorter=results("crawl", crawled(*SHORTER)),
        with_a_bad_one=results("crawl", crawled({"url": "mailto:ann"}, PAGE, OTHER)),
        with_no_json=results("crawl", crawled(ODD, OTHER)),
    )


class TestMapperOfSearches(MapperContract):
    """What a search finds is links, and pages where they were scraped, too."""

    platform = "firecrawl"
    config: ClassVar[Mapping[str, JSONValue]] = {"mode": "search", "query": "lamps"}
    samples = MapperSamples(
        results=results("search", {"items": [PAGE, {"url": f"{URL}b", "title": "B", "snippet": "New"}]}),
        row_count=3,
        shorter=results("search", {"items": [{**SHORTER[0], "metadata": {}}, {"url": f"{URL}b"}]}),
        with_a_bad_one=results(
            "search", {"items": [PAGE, {"url": ""}, {"url": f"{URL}b", "title": "B", "snippet": "New"}]}
        ),
        with_no_json=results("search", {"items": [ODD, {"url": f"{URL}b"}]}),
    )


@pytest.fixture
def database(whole_url: str) -> Iterator[Database]:
    opened = Database(whole_url)
    yield opened
    opened.dispose()


@pytest.fixture
def agent(database: Database) -> AgentModel:
    with database.writing() as session:
        project = add_project(session, "shops")
        return add_agent(session, project, "shop", "firecrawl", {"mode": "crawl", "url": URL})


def save(database: Database, agent: AgentModel, mode: str, answer: dict[str, Any]) -> ResultMapper:
    with database.joined() as session:
        execution = create_execution(session, agent)
        mapper = get_result_mapper("firecrawl", session, execution.id, agent)
        assert mapper.save_results(results(mode, answer))
    return mapper


def test_saving_twice_leaves_one_row_and_another_scrape_of_the_same_is_unchanged(
    database: Database, agent: AgentModel
) -> None:
    assert save(database, agent, "crawl", crawled(PAGE)).counts == SaveCounts(inserted=1)
    again = {**PAGE, "metadata": {"title": "Shop", "source_url": URL, "scrape_id": "2"}}
    assert save(database, agent, "crawl", crawled(again)).counts == SaveCounts(unchanged=1)
    with database.reading() as session:
        (row,) = session.scalars(select(FirecrawlPageModel))
    assert (row.title, row.links) == ("Shop", [f"{URL}a"])
    assert row.told == again["metadata"]


def test_a_title_that_a_page_no_longer_has_is_gone_and_what_was_not_asked_for_stays(
    database: Database, agent: AgentModel
) -> None:
    save(database, agent, "crawl", crawled(PAGE))
    bare = {"url": URL, "status": 200, "metadata": {"title": "", "source_url": URL}}
    assert save(database, agent, "crawl", crawled(bare)).counts == SaveCounts(updated=1)
    with database.reading() as session:
        (row,) = session.scalars(select(FirecrawlPageModel))
    assert (row.title, row.markdown, row.links) == (None, "# Shop", [f"{URL}a"])


def test_a_page_or_link_that_is_none_is_rejected_with_a_reason_and_the_others_are_stored(
    database: Database, agent: AgentModel
) -> None:
    pages = save(database, agent, "crawl", crawled({**PAGE, "url": "mailto:ann"}, PAGE))
    assert pages.counts == SaveCounts(inserted=1, rejected=1)
    assert pages.warnings[0].startswith("page 0 was rejected: url: ")
    links = save(database, agent, "map", {"listed": [{"url": ""}, {"url": URL, "title": "Shop"}]})
    assert links.counts == SaveCounts(inserted=1, rejected=1)
    with database.reading() as session:
        (link,) = session.scalars(select(FirecrawlLinkModel))
    assert (link.found_by, link.asked, link.title) == ("map", URL, "Shop")


def test_a_link_that_only_moved_is_unchanged(database: Database, agent: AgentModel) -> None:
    found = [{"url": URL}, {"url": f"{URL}a"}]
    save(database, agent, "map", {"listed": found})
    assert save(database, agent, "map", {"listed": found[::-1]}).counts == SaveCounts(unchanged=2)
    with database.reading() as session:
        order = select(FirecrawlLinkModel.url).order_by(FirecrawlLinkModel.position)
        assert session.scalars(order).all() == [f"{URL}a", URL]


def test_an_error_is_stored_as_the_result_and_no_rows_are(database: Database, agent: AgentModel) -> None:
    with database.joined() as session:
        execution = create_execution(session, agent)
        mapper = get_result_mapper("firecrawl", session, execution.id, agent)
        assert not mapper.save_results({"error": "no network"})
    with database.reading() as session:
        assert session.scalars(select(AgentResultModel.summary)).all() == [{"error": "no network"}]


def test_the_migration_makes_the_tables_that_the_models_describe(database: Database) -> None:
    assert [found for found in differences(database, get_registry()) if "firecrawl" in str(found)] == []
