"""Passwords and tokens in URLs of a pipeline: sent with each request, and kept nowhere."""

from __future__ import annotations

import base64
import zlib
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from aiohttp import web
from sqlalchemy import MetaData, select

from agentic.core.types import JSONValue
from agentic.mappers import Database, ExecutionStatus
from agentic.plugins.web.models import WebPageModel

if TYPE_CHECKING:
    from tests.integration.plugins.web.conftest import MakeAgent, RunAgent

pytestmark = pytest.mark.integration

PASSWORD, KEY = "hunter2-canary", "K3Y-canary-7d"
OWN = {"agents", "alembic_version"}
"""Tables that hold what its author wrote."""

PAGES = {
    "/": f"<a href=/a>a</a><a href='/b?api_key={KEY}'>b</a>"
    f"<a rel=next href='/next?page=2&amp;api_key={KEY}'>n</a>",
    "/a": "<h1>A</h1>",
    "/b": f"<h1>B of {KEY}</h1><a href=//bob:{PASSWORD}@127.0.0.1:1/>elsewhere</a>",
    "/next": "<h1>Next</h1>",
}


async def answer(request: web.Request) -> web.Response:
    """Answer those who have the password, and the key where one is asked for."""
    if request.path == "/robots.txt":
        return web.Response(status=404)
    wanted = base64.b64encode(f"bob:{PASSWORD}".encode()).decode()
    is_known = request.headers.get("authorization") == f"Basic {wanted}"
    has_key = request.path == "/a" or request.query.get("api_key") == KEY
    if not (is_known and has_key):
        return web.Response(status=401, text=f"no {request.query_string}")
    return web.Response(text=PAGES[request.path], content_type="text/html")


@pytest.fixture
async def site() -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    listening = web.TCPSite(runner, "127.0.0.1", 0)
    await listening.start()
    yield f"127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


def found_in(database: Database, *canaries: str) -> list[str]:
    """Return the tables and columns that hold one of the secrets."""
    tables = MetaData()
    with database.reading() as session:
        tables.reflect(session.connection())
        return [
            f"{table.name}.{column}: {value!r}"[:300]
            for table in tables.sorted_tables
            if table.name not in OWN
            for row in session.execute(select(table)).mappings()
            for column, value in row.items()
            if any(canary in _text_of(value) for canary in canaries)
        ]


def _text_of(value: object) -> str:
    if not isinstance(value, bytes):
        return str(value)
    with suppress(zlib.error):
        value = zlib.decompress(value)
    return value.decode(errors="replace")


STEPS: dict[str, list[JSONValue]] = {
    "crawl": [
        {
            "type": "crawl",
            "start": "URL",
            "follow": {"same_host": True},
            "store": {"links": True, "text": True},
        }
    ],
    "crawl of an input": [{"type": "crawl", "start": "${inputs.url}"}],
    "steps": [
        {"actor": "fetch", "config": {"url": "URL"}},
        {
            "actor": "extract_list",
            "id": "found",
            "config": {"item_selector": "a[href]", "next_selector": "[rel=next]"},
        },
        {"actor": "fetch", "id": "then", "config": {"url": "${found.next_url}"}},
        {"actor": "extract_detail", "config": {"page": "${then.page}", "schema": {"title": "h1"}}},
    ],
    "steps on an input": [{"actor": "fetch", "config": {"url": "${inputs.url}"}}],
    "a loop": [
        {"actor": "fetch", "config": {"url": "URL"}},
        {"actor": "extract_list", "config": {"item_selector": "a[href]"}},
        {
            "type": "loop",
            "source": "list_item_urls",
            "collect": "page",
            "loop_steps": [{"actor": "fetch", "config": {"url": "${url}"}}],
        },
    ],
    "a failure": [{"actor": "fetch", "config": {"url": "URL/nothing/here"}}],
    "a pipeline within": [
        {
            "type": "pipeline",
            "pipeline": {
                "inputs": {"url": {}},
                "steps": [{"actor": "fetch", "config": {"url": "${inputs.url}"}}],
            },
            "inputs": {"url": "URL"},
        }
    ],
}


def _with_url(value: JSONValue, url: str) -> JSONValue:
    match value:
        case str():
            return value.replace("URL", url)
        case list():
            return [_with_url(part, url) for part in value]
        case dict():
            return {key: _with_url(part, url) for key, part in value.items()}
    return value


@pytest.mark.parametrize("name", STEPS)
async def test_what_stands_in_urls_is_sent_and_kept_nowhere(
    site: str, database: Database, make_agent: MakeAgent, run_agent: RunAgent, name: str
) -> None:
    url = f"http://bob:{PASSWORD}@{site}/?api_key={KEY}"
    pipeline: JSONValue = {
        "name": "canary",
        "inputs": {"url": {"type": "string"}} if "input" in name else {},
        "steps": _with_url(STEPS[name], url),
    }
    outcome = await run_agent(make_agent(pipeline=pipeline, inputs={"url": url} if "input" in name else {}))
    # What stores nothing is partial.
    assert (outcome.status is ExecutionStatus.FAILED) is (name == "a failure"), outcome
    assert found_in(database, PASSWORD, KEY) == []
    if "crawl" in name:
        with database.reading() as session:
            pages = session.execute(select(WebPageModel.url, WebPageModel.status)).all()
        paths = {url.removeprefix(f"http://{site}"): status for url, status in pages}
        assert paths == dict.fromkeys(
            ["/?api_key=***", "/a", "/b?api_key=***", "/next?page=2&api_key=***"], 200
        )
