"""Several items on a page of a crawl, as rows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from aiohttp import web
from sqlalchemy import select

from agentic.core.types import JSONValue
from agentic.mappers import Database, ExecutionStatus
from agentic.plugins.web.models import ItemModel, WebPageModel

if TYPE_CHECKING:
    from tests.integration.plugins.web.conftest import MakeAgent, RunAgent

pytestmark = pytest.mark.integration

PAGES = 3
QUOTES = 10
Rows = Callable[[], dict[str, dict[str, JSONValue]]]


@dataclass
class QuoteSite:
    """Ten quotes a page, each with a link to one of two authors; a page for each author."""

    url: str = ""

    async def answer(self, request: web.Request) -> web.Response:
        match request.path.strip("/").split("/"):
            case [""]:
                return self._html(self._quotes(1))
            case ["page", number]:
                return self._html(self._quotes(int(number)))
            case ["author", name]:
                return self._html(f"<h1>{name}</h1>")
            case _:
                return web.Response(status=404)

    def _quotes(self, number: int) -> str:
        quotes = "".join(
            f"<div class=quote><span>{number}.{n}</span><a href=/author/{'ab'[n % 2]}>by</a></div>"
            for n in range(QUOTES)
        )
        return quotes + (f"<a class=next href=/page/{number + 1}>next</a>" if number < PAGES else "")

    def _html(self, body: str) -> web.Response:
        return web.Response(text=f"<title>t</title>{body}", content_type="text/html")


@pytest.fixture
async def quotes() -> AsyncIterator[QuoteSite]:
    made = QuoteSite()
    app = web.Application()
    app.router.add_get("/{path:.*}", made.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    listening = web.TCPSite(runner, "127.0.0.1", 0)
    await listening.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    yield made
    await runner.cleanup()


@pytest.fixture
def rows(database: Database) -> Rows:
    def rows() -> dict[str, dict[str, JSONValue]]:
        with database.reading() as session:
            return {row.key: row.data for row in session.scalars(select(ItemModel))}

    return rows


def crawl(start: str, detail: JSONValue, **more: JSONValue) -> JSONValue:
    step: dict[str, JSONValue] = {"type": "crawl", "start": start, "detail": detail, **more}
    return {"name": "quotes", "item_key": "text", "steps": [step]}


LISTED: dict[str, JSONValue] = {
    "match": ["*"],
    "actor": "extract_list",
    "config": {"item_selector": ".quote", "fields": {"text": "span"}},
}


async def test_every_item_of_a_page_is_a_row_with_its_key(
    make_agent: MakeAgent, run_agent: RunAgent, quotes: QuoteSite, rows: Rows, database: Database
) -> None:
    outcome = await run_agent(make_agent(pipeline=crawl(quotes.url, LISTED), inputs={}))
    assert outcome.status is ExecutionStatus.SUCCEEDED, outcome.error
    assert rows() == {
        f"{page}.{n}": {"url": f"{quotes.url}author/{'ab'[n % 2]}", "text": f"{page}.{n}"}
        for page in range(1, PAGES + 1)
        for n in range(QUOTES)
    }
    with database.reading() as session:
        assert len(list(session.scalars(select(WebPageModel)))) == PAGES + 2


async def test_items_alone_can_be_stored(
    make_agent: MakeAgent, run_agent: RunAgent, quotes: QuoteSite, rows: Rows, database: Database
) -> None:
    spec = crawl(quotes.url, LISTED, store={"pages": False})
    await run_agent(make_agent(pipeline=spec, inputs={}))
    assert len(rows()) == PAGES * QUOTES
    with database.reading() as session:
        assert list(session.scalars(select(WebPageModel))) == []


async def test_the_first_rule_that_fits_reads_a_page_and_names_its_key(
    make_agent: MakeAgent, run_agent: RunAgent, quotes: QuoteSite, rows: Rows
) -> None:
    authors: JSONValue = {"match": ["/author/*"], "config": {"schema": {"name": "h1"}}, "item_key": "name"}
    spec = crawl(quotes.url, [authors, LISTED])
    await run_agent(make_agent(pipeline=spec, inputs={}))
    found = rows()
    assert found.pop("a") == {"url": f"{quotes.url}author/a", "name": "a"}
    assert found.pop("b") == {"url": f"{quotes.url}author/b", "name": "b"}
    assert len(found) == PAGES * QUOTES


async def test_items_with_one_key_are_one_row_and_those_without_are_told(
    make_agent: MakeAgent, run_agent: RunAgent, quotes: QuoteSite, rows: Rows
) -> None:
    by_author = {**LISTED, "item_key": "url"}
    outcome = await run_agent(make_agent(pipeline=crawl(quotes.url, by_author), inputs={}))
    assert outcome.status is ExecutionStatus.SUCCEEDED, outcome.error
    assert sorted(rows()) == [f"{quotes.url}author/{name}" for name in "ab"]
