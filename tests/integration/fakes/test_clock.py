"""Limits, tokens and results of the fakes end by the clock of the fakes: nobody has to wait."""

from __future__ import annotations

from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
import pytest

from agentic.fakes.control import Fault
from agentic.fakes.github.account import GithubOrder
from agentic.fakes.github.archive import HARBOR
from agentic.fakes.server import FakeServer

pytestmark = pytest.mark.integration

MINUTE, HOUR, DAY = 60, 3_600, 86_400


async def status(client: aiohttp.ClientSession, url: str, **how: Any) -> int:
    async with client.get(url, **how) as answer:
        await answer.read()
        return answer.status


async def post(client: aiohttp.ClientSession, url: str, **how: Any) -> Any:
    async with client.post(url, **how) as answer:
        return await answer.json()


async def test_a_window_of_github_ends_when_the_time_is_moved_on(
    fakes: FakeServer, client: aiohttp.ClientSession
) -> None:
    url = f"{fakes.github_url}/repos/{HARBOR}"
    fakes.clock.freeze()
    fakes.control.github.change(GithubOrder(remaining=1, reset_s=HOUR))
    async with client.get(url) as answer:
        assert int(answer.headers["x-ratelimit-reset"]) == pytest.approx(fakes.clock.now() + HOUR, abs=1)
    assert await status(client, url) == 403
    fakes.clock.advance(HOUR - 2)
    assert await status(client, url) == 403
    fakes.clock.advance(3)
    assert await status(client, url) == 200


async def test_a_token_of_the_job_board_expires_when_the_time_is_moved_on(
    fakes: FakeServer, client: aiohttp.ClientSession
) -> None:
    token = fakes.control.tokens.issue()
    assert fakes.control.tokens.admit(token.access_token)
    fakes.clock.advance(token.expires_in - 5)
    assert fakes.control.tokens.admit(token.access_token)
    fakes.clock.advance(5)
    assert not fakes.control.tokens.admit(token.access_token)


async def test_tokens_and_windows_of_reddit_end_when_the_time_is_moved_on(fakes: FakeServer) -> None:
    account = fakes.control.reddit
    token = account.grant("me")
    fakes.clock.freeze()
    for _ in range(1_000):
        account.count("me")
    assert account.count("me") == (account.count("me")[0], False)
    fakes.clock.advance(10 * MINUTE)
    assert account.count("me")[1]
    assert account.client_of(token) == "me"
    fakes.clock.advance(DAY)
    assert account.client_of(token) is None


async def test_the_hostile_site_lets_one_pass_after_the_time_it_named(
    fakes: FakeServer, client: aiohttp.ClientSession
) -> None:
    url = f"{fakes.hostile_url}ratelimit?per_s=0.01&burst=1&key=clock"
    assert await status(client, url) == 200
    async with client.get(url) as answer:
        wait_s = int(answer.headers["retry-after"])
    assert wait_s > 90
    fakes.clock.advance(wait_s)
    assert await status(client, url) == 200


async def test_firecrawl_keeps_results_for_a_day(fakes: FakeServer, client: aiohttp.ClientSession) -> None:
    fakes.clock.freeze()
    crawl = f"{fakes.firecrawl_url}/v2/crawl"
    job = await post(client, crawl, json={"url": fakes.shop_url, "limit": 1})
    async with client.get(f"{crawl}/{job['id']}") as answer:
        told = datetime.fromisoformat((await answer.json())["expiresAt"])
    assert abs(told - fakes.clock.moment() - timedelta(days=1)) < timedelta(seconds=1)
    fakes.clock.advance(DAY)
    assert await status(client, f"{crawl}/{job['id']}") == 404


async def test_the_time_is_told_and_moved_by_http(fakes: FakeServer, client: aiohttp.ClientSession) -> None:
    url = f"{fakes.control_url}/clock"
    assert (await post(client, url, json={"freeze": True, "advance_s": HOUR}))["advance_s"] == HOUR
    async with client.get(url) as answer:
        assert (await answer.json())["now"] == pytest.approx(fakes.clock.now())
    assert await status(client, url) == 200
    assert "advance_s" in str(await post(client, url, json={"advance_s": -1}))
    before = fakes.clock.now()
    fakes.control.reset()
    assert fakes.clock.now() < before


async def test_a_retry_after_may_be_a_date_by_the_clock_of_the_fakes(
    fakes: FakeServer, client: aiohttp.ClientSession
) -> None:
    fakes.clock.freeze()
    fakes.clock.advance(DAY)
    fakes.control.add(Fault(path="/shop/*", status=503, retry_after_s=30, retry_after_date=True))
    async with client.get(fakes.shop_url) as answer:
        until = parsedate_to_datetime(answer.headers["retry-after"])
    assert abs((until - fakes.clock.moment()).total_seconds() - 30) < 1
