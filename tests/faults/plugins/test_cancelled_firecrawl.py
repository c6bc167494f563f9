"""An execution that is cancelled ends its crawl at Firecrawl, whichever worker is left to do it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pytest
from tests.integration.executors.conftest import empty_database, place, valkey
from tests.pace import short_leases

from agentic.core.types import JSONValue
from agentic.fakes.control import Fault
from agentic.fakes.firecrawl.account import AccountOrder
from agentic.fakes.server import FakeServer
from agentic.mappers import ExecutionModel, ExecutionStatus, add_agent, find_project

if TYPE_CHECKING:
    from tests.integration.executors.conftest import Place

pytest.importorskip("firecrawl")

__all__ = ["empty_database", "place", "valkey"]

pytestmark = [pytest.mark.faults, pytest.mark.integration]

LOOKS = "/firecrawl/v2/crawl/"


@pytest.fixture
def fakes() -> Iterator[FakeServer]:
    """Fakes whose crawls go on for ever."""
    with FakeServer(stories=1, products=20) as server:
        server.control.firecrawl.change(AccountOrder(polls=100_000))
        yield server


def get(fakes: FakeServer, path: str) -> Any:
    """Ask the fakes' Firecrawl, by its other address, which is counted apart."""
    with urlopen(f"{fakes.url}/v2/{path}") as answer:
        return json.load(answer)


def requests(fakes: FakeServer) -> int:
    return int(str(fakes.control.stats()["total"]))


def crawling(place: Place, fakes: FakeServer) -> tuple[ExecutionModel, str]:
    """Queue an execution that crawls; return it when its crawl was looked at, with the crawl's id."""
    place.env |= short_leases(1)
    config: dict[str, JSONValue] = {"mode": "crawl", "url": fakes.shop_url, "api_url": fakes.firecrawl_url}
    with place.database.writing() as session:
        agent = add_agent(session, find_project(session, "default"), "shop", "firecrawl", config)
    execution = place.submit(agent)
    place.start_worker()
    place.eventually(lambda: LOOKS in str(fakes.control.stats()["requests"]))
    (crawl,) = get(fakes, "crawl/active")["crawls"]
    return execution, str(crawl["id"])


def test_a_worker_that_waits_between_two_looks_cancels_it(place: Place, fakes: FakeServer) -> None:
    execution, crawl = crawling(place, fakes)
    place.run("executions", "cancel", execution.id)
    assert place.ended(execution.id).status is ExecutionStatus.CANCELLED
    place.eventually(lambda: get(fakes, f"crawl/{crawl}")["status"] == "cancelled")


def test_another_one_cancels_it_when_the_worker_was_killed(place: Place, fakes: FakeServer) -> None:
    execution, crawl = crawling(place, fakes)
    place.kill(place.workers[0])
    place.run("executions", "cancel", execution.id)
    place.start_worker()
    assert place.ended(execution.id).status is ExecutionStatus.CANCELLED
    place.eventually(lambda: get(fakes, f"crawl/{crawl}")["status"] == "cancelled")


@pytest.mark.slow
def test_a_worker_that_is_killed_while_it_cancels_leaves_it_to_another_one(
    place: Place, fakes: FakeServer
) -> None:
    execution, crawl = crawling(place, fakes)
    before = requests(fakes)
    fakes.control.add(Fault(path=f"{LOOKS}*", delay_s=60, times=None))
    place.run("executions", "cancel", execution.id)
    place.eventually(lambda: requests(fakes) >= before + 2)  # a look, maybe; then the end, which hangs
    place.kill(place.workers[0])
    fakes.control.reset()
    fakes.control.firecrawl.change(AccountOrder(polls=100_000))
    place.start_worker()
    place.eventually(lambda: get(fakes, f"crawl/{crawl}")["status"] == "cancelled")


def test_where_firecrawl_is_out_of_reach_the_log_and_the_audit_say_what_to_do(
    place: Place, fakes: FakeServer
) -> None:
    execution, crawl = crawling(place, fakes)
    fakes.control.add(Fault(path=f"{LOOKS}*", status=503, times=None))
    place.run("executions", "cancel", execution.id)
    assert place.ended(execution.id).status is ExecutionStatus.CANCELLED
    told = f"the crawl {crawl} may continue at Firecrawl"
    place.eventually(lambda: told in place.run("audit", "--json").stdout)
