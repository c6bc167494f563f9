"""One crawl over several hosts: what one of them asks for is no matter of the others."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import pytest

from agentic.core.types import JSONValue
from agentic.fakes.control import Fault
from agentic.fakes.server import FakeServer
from agentic.mappers import ExecutionStatus

if TYPE_CHECKING:
    from tests.integration.plugins.web.conftest import MakeAgent, RunAgent

pytestmark = pytest.mark.integration

REST_S = 4


@pytest.fixture
def two_shops() -> Iterator[tuple[FakeServer, FakeServer]]:
    with FakeServer(seed=1, stories=1, products=10) as one, FakeServer(seed=2, stories=1, products=10) as two:
        yield one, two


def pages_of(shop: FakeServer) -> int:
    requests = cast(dict[str, int], shop.control.stats()["requests"])
    return sum(count for path, count in requests.items() if path.startswith("/shop/"))


async def test_a_host_that_asks_for_rest_gets_it_and_the_crawl_of_the_others_goes_on(
    two_shops: tuple[FakeServer, FakeServer], make_agent: MakeAgent, run_agent: RunAgent
) -> None:
    """All the slots would be taken by pages that wait; the first host's come first in the frontier."""
    resting, other = two_shops
    resting.control.add(Fault(path="/shop/*", status=429, retry_after_s=REST_S))
    products = [f"{resting.shop_url}product/{number}" for number in range(1, 10)]
    step: dict[str, JSONValue] = {
        "type": "crawl",
        "start": [resting.shop_url, *products, other.shop_url],
        "max_parallel": 2,
        "error_handling": {"rate_limited": {"retry_count": 3}},
    }
    pipeline: dict[str, JSONValue] = {"http": {"allow_private_hosts": ["127.0.0.1"]}, "steps": [step]}
    running = asyncio.ensure_future(run_agent(make_agent(pipeline=pipeline, inputs={}, http={})))
    while pages_of(other) < 12:
        assert not running.done()
        await asyncio.sleep(0.01)
    assert pages_of(resting) <= 2  # the one that was refused, and one that was under way
    outcome = await running
    assert outcome.status is ExecutionStatus.SUCCEEDED, outcome.error
    assert pages_of(resting) >= 12
