"""Lists of APIs, page after page: by number, offset, cursor, link and header, in steps and in crawls."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from sqlalchemy import select

from agentic.core.actors import ActorContext, ActorError
from agentic.core.http import FetchError, HttpPolicy, open_fetcher
from agentic.core.types import JSONValue
from agentic.mappers import Database, ExecutionStatus
from agentic.plugins.web.actors.json_items import JsonActor, JsonInput, JsonOutput
from agentic.plugins.web.models import ItemModel

if TYPE_CHECKING:
    from tests.integration.plugins.web.conftest import MakeAgent, RunAgent

pytestmark = pytest.mark.integration

COUNT = 23
SIZE = 10
ALL = list(range(COUNT))


@dataclass
class Api:
    """Products in pages of ten, in each of the ways in which APIs page."""

    url: str = ""
    asked: list[str] = field(default_factory=list)
    token: str = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        kind, _, rest = request.path.strip("/").partition("/")
        if kind == "robots.txt":
            return web.Response(status=404)
        self.asked.append(request.path_qs)
        self.token = request.headers.get("x-token", "")
        if kind == "graphql":
            return await self._graphql(await request.json())
        if kind == "product":
            return web.json_response({"product": {"id": int(rest), "price": "1,5", "name": f"p{rest}"}})
        ways: dict[str, Callable[[Mapping[str, str]], web.Response]] = {
            "number": self._number,
            "from-zero": lambda asked: self._listed(int(asked["p"]) * SIZE),
            "offset": lambda asked: self._listed(int(asked.get("skip", 0))),
            "cursor": self._cursor,
            "linked": self._linked,
            "header": self._header,
            "ends-with-404": self._ends,
            "breaks": lambda asked: web.Response(status=500) if "page" in asked else self._listed(0),
            "deaf": lambda asked: self._listed(0),
            "endless": lambda asked: web.json_response({"data": [{"id": int(asked.get("page", 1))}]}),
            "away": lambda asked: web.json_response({"data": [{"id": -1}], "next": f"{asked['to']}/number"}),
            "text": lambda asked: web.Response(text="<p>no JSON", content_type="text/html"),
        }
        return ways[kind](request.query)

    def _number(self, asked: Mapping[str, str]) -> web.Response:
        return self._listed((int(asked.get("page", 1)) - 1) * SIZE)

    def _cursor(self, asked: Mapping[str, str]) -> web.Response:
        start = int(asked.get("after", "c0")[1:])
        following = f"c{start + SIZE}" if start + SIZE < COUNT else None
        return web.json_response({"data": self._products(start), "meta": {"next": following}})

    def _linked(self, asked: Mapping[str, str]) -> web.Response:
        start = int(asked.get("s", 0))
        following = f"/linked?s={start + SIZE}" if start + SIZE < COUNT else None
        return web.json_response({"data": self._products(start), "paging": {"next": following}})

    def _header(self, asked: Mapping[str, str]) -> web.Response:
        start = int(asked.get("s", 0))
        link = f'<{self.url}/header?s=0>; rel="first"'
        if start + SIZE < COUNT:
            link += f', <{self.url}/header?s={start + SIZE}>; title="a, b"; rel="next"'
        return web.json_response(self._products(start), headers={"Link": link})

    def _ends(self, asked: Mapping[str, str]) -> web.Response:
        if (int(asked.get("page", 1)) - 1) * SIZE >= COUNT:
            return web.json_response({"error": "no such page"}, status=404)
        return self._number(asked)

    async def _graphql(self, asked: Any) -> web.Response:
        start = int((asked["variables"].get("after") or "c0")[1:])
        edges = [{"node": product} for product in self._products(start)]
        info = {"hasNextPage": start + SIZE < COUNT, "endCursor": f"c{start + len(edges)}"}
        return web.json_response({"data": {"products": {"edges": edges, "pageInfo": info}}})

    def _products(self, start: int) -> list[dict[str, Any]]:
        return [{"id": n, "href": f"/product/{n}"} for n in ALL[start : start + SIZE]]

    def _listed(self, start: int) -> web.Response:
        return web.json_response({"data": self._products(start), "total": COUNT})


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    made = Api()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", made.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    listening = web.TCPSite(runner, "127.0.0.1", 0)
    await listening.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield made
    await runner.cleanup()


@dataclass
class Reader:
    """Runs the actor ``json``; keeps what it warned of."""

    warnings: list[str] = field(default_factory=list)

    async def __call__(self, **config: object) -> JsonOutput:
        policy = HttpPolicy(allow_private_hosts=("127.0.0.1", "localhost"), requests_per_second=1_000)
        async with open_fetcher(policy) as http:
            ctx = ActorContext(http=http, warn=self.warnings.append)
            return await JsonActor().run(ctx, JsonInput.model_validate(config))


@pytest.fixture
def read() -> Reader:
    return Reader()


def ids(found: JsonOutput) -> list[JSONValue]:
    return [item["id"] for item in found.items or ()]


PAGINGS: Mapping[str, dict[str, Any]] = {
    "number": {"page": "page"},
    "from-zero": {"page": "p", "first": 0},
    "offset": {"offset": "skip"},
    "cursor": {"cursor": "meta.next", "param": "after"},
    "linked": {"next": "paging.next"},
    "ends-with-404": {"page": "page"},
}


@pytest.mark.parametrize("way", PAGINGS)
async def test_all_pages_of_a_list_are_read_each_once(api: Api, read: Reader, way: str) -> None:
    found = await read(url=f"{api.url}/{way}", items="data", paging=PAGINGS[way])
    assert ids(found) == ALL
    assert len(api.asked) == len(set(api.asked))
    assert read.warnings == []


async def test_the_header_of_an_answer_names_the_next_page(api: Api, read: Reader) -> None:
    found = await read(url=f"{api.url}/header", paging={"link_header": True}, fields={"id": "id"})
    assert ids(found) == ALL
    assert len(api.asked) == 3


async def test_graphql_is_paged_by_a_variable_of_its_body(api: Api, read: Reader) -> None:
    found = await read(
        url=f"{api.url}/graphql",
        json={"query": "query P($after: String) { products(after: $after) { id } }", "variables": {}},
        headers={"X-Token": "t"},
        items="data.products.edges[].node",
        paging={
            "cursor": "data.products.pageInfo.endCursor",
            "param": "variables.after",
            "more": "data.products.pageInfo.hasNextPage",
        },
    )
    assert (ids(found), len(api.asked), api.token) == (ALL, 3, "t")


async def test_headers_are_not_sent_to_another_site_that_an_answer_names(api: Api, read: Reader) -> None:
    elsewhere = api.url.replace("127.0.0.1", "localhost")
    await read(url=f"{api.url}/away?to={elsewhere}", items="data", paging={"next": "next"})
    assert api.asked[-1] == "/number"
    api.asked.clear()
    with pytest.raises(ActorError, match=r"the next page is at http://localhost.*are for http://127"):
        await read(
            url=f"{api.url}/away?to={elsewhere}",
            items="data",
            paging={"next": "next"},
            headers={"Authorization": "Bearer t"},
        )
    assert len(api.asked) == 1


async def test_the_number_of_pages_can_be_limited(api: Api, read: Reader) -> None:
    found = await read(url=f"{api.url}/number?q=a%20b", items="data", paging={"page": "page"}, pages=2)
    assert ids(found) == ALL[:20]
    assert api.asked == ["/number?q=a%20b", "/number?q=a%20b&page=2"]
    assert found.next_url == f"{api.url}/number?q=a%20b&page=3"


async def test_an_api_that_repeats_its_first_page_ends_the_list_and_is_told(api: Api, read: Reader) -> None:
    found = await read(url=f"{api.url}/deaf", items="data", paging={"page": "pag"})
    assert ids(found) == ALL[:10]
    assert "the same items as the page before" in read.warnings[0]


async def test_a_list_without_end_ends_with_a_word(
    api: Api, read: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentic.plugins.web.actors.json_items.MAX_PAGES", 5)
    found = await read(url=f"{api.url}/endless", items="data", paging={"page": "page"})
    assert ids(found) == [1, 2, 3, 4, 5]
    assert "more than 5 pages" in read.warnings[0]


async def test_a_page_that_cannot_be_fetched_fails_the_list(api: Api, read: Reader) -> None:
    with pytest.raises(FetchError) as caught:
        await read(url=f"{api.url}/breaks", items="data", paging={"page": "page"})
    assert caught.value.failure_class == "http_500"


Rows = Callable[[], list[dict[str, JSONValue]]]


@pytest.fixture
def rows(database: Database) -> Rows:
    def rows() -> list[dict[str, JSONValue]]:
        with database.reading() as session:
            return sorted(session.scalars(select(ItemModel.data)), key=lambda row: int(str(row["id"])))

    return rows


async def test_a_pipeline_stores_the_items_of_an_api(
    api: Api, make_agent: MakeAgent, run_agent: RunAgent, rows: Rows
) -> None:
    fetch: JSONValue = {"actor": "fetch", "config": {"url": f"{api.url}/number"}}
    listed: JSONValue = {
        "actor": "json",
        "config": {"items": "data", "link": "href", "paging": {"page": "page"}},
    }
    outcome = await run_agent(make_agent(pipeline={"name": "api", "steps": [fetch, listed]}, inputs={}))
    assert outcome.status is ExecutionStatus.SUCCEEDED, outcome.error
    assert [row["id"] for row in rows()] == ALL
    assert rows()[3] == {"id": 3, "href": "/product/3", "url": f"{api.url}/product/3"}


async def test_an_expression_reads_the_json_of_a_page(
    api: Api, make_agent: MakeAgent, run_agent: RunAgent, rows: Rows
) -> None:
    fetch: JSONValue = {"actor": "fetch", "config": {"url": f"{api.url}/number?of=${{inputs.n}}"}}
    items = "${fetch.page.json.data[?id > `4`].{id: id, url: href}}"
    gathered: JSONValue = {"actor": "aggregate", "config": {"items": items, "limit": 2}}
    again: JSONValue = {"actor": "fetch", "config": {"url": f"{api.url}${{page.json.data.2.href}}"}}
    spec: JSONValue = {
        "name": "api",
        "inputs": {"n": {"type": "integer", "default": 1}},
        "steps": [fetch, gathered, again],
    }
    outcome = await run_agent(make_agent(pipeline=spec, inputs={}))
    assert outcome.status is ExecutionStatus.SUCCEEDED, outcome.error
    assert [row["id"] for row in rows()] == [5, 6]
    assert api.asked[-1] == "/product/2"


@pytest.mark.parametrize("reference", ["${page.json}", "${page.json[*]}", "${fetch.page.json[*]}"])
async def test_json_of_a_page_that_has_none_fails_with_the_reason(
    api: Api, make_agent: MakeAgent, run_agent: RunAgent, reference: str
) -> None:
    fetch: JSONValue = {"actor": "fetch", "config": {"url": f"{api.url}/text"}}
    gathered: JSONValue = {"actor": "aggregate", "config": {"items": reference}}
    outcome = await run_agent(make_agent(pipeline={"name": "api", "steps": [fetch, gathered]}, inputs={}))
    assert outcome.status is ExecutionStatus.FAILED
    assert f"{api.url}/text is text/html, not JSON: Expecting value" in str(outcome.error)


async def test_a_crawl_goes_through_the_pages_and_items_of_an_api(
    api: Api, make_agent: MakeAgent, run_agent: RunAgent, rows: Rows
) -> None:
    step: JSONValue = {
        "type": "crawl",
        "start": f"{api.url}/linked",
        "links": {
            "actor": "json",
            "config": {"items": "data", "link": "href", "paging": {"next": "paging.next"}},
        },
        "detail": {
            "match": ["/product/*"],
            "actor": "json",
            "config": {
                "items": "product",
                "fields": {"id": "id", "price": {"json": "price", "type": "number"}, "name": "name"},
            },
            "item_key": "name",
        },
    }
    outcome = await run_agent(make_agent(pipeline={"name": "api", "steps": [step]}, inputs={}))
    assert outcome.status is ExecutionStatus.SUCCEEDED, outcome.error
    assert rows() == [{"id": n, "price": 1.5, "name": f"p{n}"} for n in ALL]
    assert len(api.asked) == 3 + COUNT
