"""The packaged pipeline ``site`` on a shop: real HTTP, real database."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import func, select

from agentic.core.types import JSONValue
from agentic.fakes.control import Fault
from agentic.fakes.server import FakeServer
from agentic.fakes.shop.catalogue import build_catalogue
from agentic.mappers import Database, ExecutionStatus, FrontierModel, FrontierState
from agentic.plugins.web.models import ItemModel, WebPageModel

if TYPE_CHECKING:
    from tests.integration.plugins.web.conftest import MakeAgent, RunAgent

pytestmark = pytest.mark.integration

PRODUCTS = 60
Urls = Callable[[], list[str]]


def failed_pages(database: Database) -> dict[str, str | None]:
    query = select(FrontierModel).where(FrontierModel.state == FrontierState.FAILED)
    with database.reading() as session:
        return {page.url.rpartition("/shop")[2]: page.failure_class for page in session.scalars(query)}


def count(database: Database, model: type[WebPageModel | ItemModel]) -> int:
    with database.reading() as session:
        return session.scalar(select(func.count()).select_from(model)) or 0


@pytest.mark.requirement("SP13", "SP14", "SP17", "SP18", "SP19", "SP20")
async def test_every_page_of_the_shop_is_stored_once_and_every_product_is_an_item(
    database: Database, make_agent: MakeAgent, run_agent: RunAgent, stored_urls: Urls, shop_urls: set[str]
) -> None:
    outcome = await run_agent(make_agent())
    assert outcome.status is ExecutionStatus.SUCCEEDED, outcome.error
    assert sorted(stored_urls()) == sorted(shop_urls)
    assert count(database, ItemModel) == PRODUCTS


async def test_an_item_has_the_fields_of_its_page(
    database: Database, make_agent: MakeAgent, run_agent: RunAgent
) -> None:
    await run_agent(make_agent())
    with database.reading() as session:
        item = session.scalars(select(ItemModel).where(ItemModel.key.endswith("/product/7"))).one()
    product = build_catalogue(1, PRODUCTS)[7]
    assert (item.pipeline, item.data["title"], item.data["sku"]) == ("site", product.title, product.sku)
    assert (item.data["price"], item.data["stock"]) == (float(product.price), product.stock)


async def test_a_second_run_changes_nothing_and_says_so(
    database: Database, make_agent: MakeAgent, run_agent: RunAgent
) -> None:
    agent = make_agent()
    first, second = await run_agent(agent), await run_agent(agent)
    assert first.counts.inserted == count(database, WebPageModel) + count(database, ItemModel)
    assert (second.counts.inserted, second.counts.updated, second.counts.rejected) == (0, 0, 0)
    assert second.counts.unchanged == first.counts.inserted + first.counts.unchanged


async def test_each_project_has_its_own_pages(
    database: Database, make_agent: MakeAgent, run_agent: RunAgent
) -> None:
    await run_agent(make_agent())
    once = count(database, WebPageModel)
    second = await run_agent(make_agent(project="others"))
    assert (second.counts.updated, count(database, WebPageModel)) == (0, 2 * once)


async def test_what_robots_txt_denies_is_not_fetched_and_is_recorded(
    fakes: FakeServer, database: Database, make_agent: MakeAgent, run_agent: RunAgent
) -> None:
    await run_agent(make_agent())
    assert failed_pages(database) == {"/private/orders": "robots_denied"}
    assert "/shop/private/orders" not in requests(fakes)


@pytest.mark.requirement("SP12")
async def test_pages_that_fail_for_a_moment_are_fetched_in_the_end(
    fakes: FakeServer, make_agent: MakeAgent, run_agent: RunAgent, stored_urls: Urls, shop_urls: set[str]
) -> None:
    fakes.control.add(Fault(path="/shop/product/*", status=500, times=3))
    outcome = await run_agent(make_agent(**quick_retries(fakes)))
    assert outcome.status is ExecutionStatus.SUCCEEDED, outcome.error
    assert set(stored_urls()) == shop_urls


async def test_pages_that_fail_for_good_are_recorded_and_the_others_are_stored(
    fakes: FakeServer,
    database: Database,
    make_agent: MakeAgent,
    run_agent: RunAgent,
    summary: Any,
    shop_urls: set[str],
) -> None:
    fakes.control.add(Fault(path="/shop/product/7", status=410, times=None))
    outcome = await run_agent(make_agent())
    assert count(database, WebPageModel) == len(shop_urls) - 1
    assert failed_pages(database)["/product/7"] == "gone"
    assert summary(outcome)["failures"]["gone"]["count"] == 1


async def test_a_server_that_asks_for_patience_gets_it(
    fakes: FakeServer, make_agent: MakeAgent, run_agent: RunAgent, stored_urls: Urls, shop_urls: set[str]
) -> None:
    fakes.control.add(Fault(path="/shop/product/5", status=429, retry_after_s=1))
    began = time.monotonic()
    outcome = await run_agent(make_agent())
    assert outcome.status is ExecutionStatus.SUCCEEDED, outcome.error
    assert time.monotonic() - began >= 1
    assert set(stored_urls()) == shop_urls


async def test_a_site_that_cannot_be_reached_fails_the_execution_and_stores_nothing(
    fakes: FakeServer, make_agent: MakeAgent, run_agent: RunAgent, stored_urls: Urls
) -> None:
    fakes.control.add(Fault(path="/shop/", status=404, times=None))
    outcome = await run_agent(make_agent())
    assert outcome.status is ExecutionStatus.FAILED
    assert "step 'home' failed after 1 attempt (http_404)" in (outcome.error or "")
    assert stored_urls() == []


async def test_a_private_address_is_refused_unless_it_is_named(
    make_agent: MakeAgent, run_agent: RunAgent
) -> None:
    outcome = await run_agent(make_agent(http={}))
    assert outcome.status is ExecutionStatus.FAILED
    assert "private_address" in (outcome.error or "")


async def test_a_pipeline_that_cannot_be_used_fails_the_execution_with_every_fault(
    make_agent: MakeAgent, run_agent: RunAgent
) -> None:
    outcome = await run_agent(
        make_agent(pipeline={"steps": [{"actor": "fetsh"}, {"type": "lop"}]}, inputs={})
    )
    assert outcome.status is ExecutionStatus.FAILED
    assert "unknown actor 'fetsh'; did you mean 'fetch'?" in (outcome.error or "")
    assert "unknown step type 'lop'; did you mean 'loop'?" in (outcome.error or "")


async def test_an_item_without_its_key_is_rejected_with_a_reason(
    fakes: FakeServer, database: Database, make_agent: MakeAgent, run_agent: RunAgent
) -> None:
    spec: JSONValue = {
        "name": "unkeyed",
        "item_key": "isbn",
        "steps": [
            {"actor": "fetch", "config": {"url": f"{fakes.shop_url}product/1"}},
            {"actor": "extract_detail", "config": {"schema": {"title": "h1"}}},
            {"type": "crawl", "start": f"{fakes.shop_url}product/1", "max_pages": 1,
             "detail": {"match": ["*"], "config": {"schema": {"title": "h1"}}}},
        ],
    }  # fmt: skip
    outcome = await run_agent(make_agent(pipeline=spec, inputs={}))
    assert outcome.status is ExecutionStatus.FAILED, "no item was stored"
    assert "it has no 'isbn' that `item_key` names" in str(outcome.error)
    assert (outcome.counts.rejected, count(database, ItemModel)) == (2, 0)


@pytest.mark.requirement("SP11")
async def test_a_refused_page_is_fetched_by_the_fallback_actor(
    fakes: FakeServer, make_agent: MakeAgent, run_agent: RunAgent, summary: Any
) -> None:
    """The other actor is the same one by its alias: the fault happens once, the second fetch goes through."""
    fakes.control.add(Fault(path="/shop/product/1", status=403, times=1))
    spec: JSONValue = {
        "name": "fallback",
        "error_handling": {"403_error": {"retry_with_actor": "InitialFetcher"}},
        "steps": [
            {"actor": "fetch", "config": {"url": f"{fakes.shop_url}product/1"}},
            {"actor": "extract_detail", "config": {"schema": {"title": "h1"}}},
        ],
    }
    outcome = await run_agent(make_agent(pipeline=spec, inputs={}))
    assert outcome.status is ExecutionStatus.SUCCEEDED, outcome.error
    assert requests(fakes)["/shop/product/1"] == 2
    assert summary(outcome)["retried_count"] == 1


def quick_retries(fakes: FakeServer) -> dict[str, Any]:
    """Return the config of an agent that crawls the shop and hardly waits between attempts."""
    crawl = {
        "name": "site",
        "error_handling": {"http_5xx": {"retry_count": 3, "backoff_s": 0.01}},
        "steps": [{"type": "crawl", "start": fakes.shop_url}],
    }
    return {"pipeline": crawl, "inputs": {}}


def requests(fakes: FakeServer) -> dict[str, int]:
    counted: Any = fakes.control.stats()["requests"]
    return dict(counted)
