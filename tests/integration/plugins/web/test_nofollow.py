"""Links that pages ask crawlers not to follow."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

import pytest
from aiohttp import web

from agentic.core.types import JSONValue
from agentic.mappers import ExecutionStatus

if TYPE_CHECKING:
    from tests.integration.plugins.web.conftest import MakeAgent, RunAgent

pytestmark = pytest.mark.integration

PAGES = {
    "/": "<a href=/open>o</a><a href=/frames>f</a>"
    "<a href=/marked rel=nofollow>m</a><a href=/meta>m</a><a href=/header>h</a>",
    "/meta": "<meta name=robots content=nofollow><a href=/behind-meta>b</a>",
    "/header": "<a href=/behind-header>b</a>",
    "/frames": "<frameset><frame src=/framed></frameset>",
}
FIELDS = {
    "/header": {"X-Robots-Tag": "nofollow", "Link": "</after-header>; rel=next"},
    "/meta": {"Link": "</after-meta>; rel=next"},
    "/open": {"Link": "</2>; rel=next"},
}
OPEN = {"/", "/open", "/2", "/frames", "/framed", "/meta", "/header"}
ALL = {*OPEN, "/marked", "/behind-meta", "/after-meta", "/behind-header", "/after-header"}


async def answer(request: web.Request) -> web.Response:
    if request.path == "/robots.txt":
        return web.Response(status=404)
    headers = FIELDS.get(request.path, {})
    return web.Response(text=PAGES.get(request.path, "<p>x"), content_type="text/html", headers=headers)


@pytest.fixture
async def site() -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    listening = web.TCPSite(runner, "127.0.0.1", 0)
    await listening.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.mark.parametrize(
    ("rules", "fetched"),
    [
        ({}, OPEN),
        ({"follow": {"obey_nofollow": False}}, ALL),
        ({"http": {"obey_robots": False}}, ALL),
    ],
)
async def test_a_crawl_leaves_out_what_a_page_asks_not_to_follow_unless_it_is_told_to(
    site: str,
    make_agent: MakeAgent,
    run_agent: RunAgent,
    stored_urls: Callable[[], list[str]],
    rules: dict[str, dict[str, JSONValue]],
    fetched: set[str],
) -> None:
    step: JSONValue = {"type": "crawl", "start": f"{site}/", "follow": rules.get("follow", {})}
    politeness: JSONValue = {"allow_private_hosts": ["127.0.0.1"], **rules.get("http", {})}
    outcome = await run_agent(make_agent(pipeline={"steps": [step]}, inputs={}, http=politeness))
    assert (outcome.status, outcome.error) == (ExecutionStatus.SUCCEEDED, None)
    assert {url.removeprefix(site) for url in stored_urls()} == fetched
