"""What is asked of Algolia, and what comes of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import parse_qs, urlsplit

import pytest

from agentic.core.http import Fetcher, FetchError, HttpRequest, HttpResponse, UnexpectedAnswerError
from agentic.executors import SourceRefusedError
from agentic.executors.retrying import TRIES
from agentic.fakes.hackernews.api import HackerNews
from agentic.fakes.hackernews.items import build_archive
from agentic.plugins.hackernews.algolia import AlgoliaClient
from agentic.plugins.hackernews.client import HackerNewsClient
from agentic.plugins.hackernews.errors import UnknownItemError
from agentic.plugins.hackernews.items import Found, SearchQuery, TreeQuery, UserQuery
from agentic.plugins.hackernews.searching import search_workflow, tree_workflow, user_workflow
from agentic.plugins.hackernews.settings import HackerNewsSettings

URL = "https://search.test/api/v1"
BASE = "https://hn.test/v0"
SECOND_PAGE = tuple(range(2, 2 + TRIES))
"""Requests that fail when the second page of a search never comes."""


@cache
def site() -> HackerNews:
    return HackerNews(seed=3, stories=200)


@dataclass(slots=True)
class FakeApi:
    """Answers as the fake does, but for the requests with the numbers ``broken``; notes what was asked."""

    asked: list[dict[str, str]] = field(default_factory=list)
    broken: tuple[int, ...] = ()
    broken_path: str | None = None
    failure_class: str = "http_500"
    body: bytes | None = None

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
        parts = urlsplit(request.url)
        options = parse_qs(parts.query, keep_blank_values=True)
        self.asked.append({"path": parts.path, **{name: values[-1] for name, values in options.items()}})
        is_broken_path = self.broken_path is not None and parts.path.endswith(self.broken_path)
        if is_broken_path or len(self.asked) in self.broken:
            raise FetchError(request.url, self.failure_class, "the server failed")
        page = site().page(parts.path, parts.query, "")
        assert page is not None
        headers = {"content-type": "application/json"}
        body = page.body if self.body is None else self.body
        return HttpResponse(url=request.url, status=page.status, headers=headers, body=body)

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Fetcher]:
        yield Fetcher(HackerNewsSettings().policy(), self)


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


async def searched(client: AlgoliaClient, **query: object) -> Found:
    run = await search_workflow(client, 5.0).run(SearchQuery.model_validate(query))
    return run.output(Found)


@pytest.fixture
def client(api: FakeApi) -> AlgoliaClient:
    return AlgoliaClient(URL, api.connect)


async def test_a_search_asks_for_pages_of_a_hundred_without_highlights(
    api: FakeApi, client: AlgoliaClient
) -> None:
    query = SearchQuery(
        query="a b",
        tags=("story", "(ask_hn,show_hn)"),
        min_points=5,
        min_comments=2,
        since=10,
        until=20,
    )
    assert (await client.search(query)).hits == ()
    assert api.asked == [
        {
            "path": "/api/v1/search_by_date",
            "query": "a b",
            "tags": "story,(ask_hn,show_hn)",
            "numericFilters": "created_at_i>=10,created_at_i<=20,points>=5,num_comments>=2",
            "page": "0",
            "hitsPerPage": "100",
            "attributesToHighlight": "",
        }
    ]


async def test_no_more_pages_are_asked_for_than_hits_are_wanted(api: FakeApi, client: AlgoliaClient) -> None:
    found = await client.search(SearchQuery(tags=("(story,comment)",), limit=30))
    assert (len(found.hits), len(api.asked)) == (30, 1)
    assert all("_highlightResult" not in hit for hit in found.hits)


async def test_by_relevance_another_way_is_asked(api: FakeApi, client: AlgoliaClient) -> None:
    found = await client.search(SearchQuery(tags=("story",), sort="relevance", limit=5))
    points = [int(str(hit["points"])) for hit in found.hits]
    assert points == sorted(points, reverse=True)
    assert api.asked[0]["path"] == "/api/v1/search"


async def test_a_search_that_breaks_off_keeps_what_it_has_with_a_warning(
    api: FakeApi, client: AlgoliaClient
) -> None:
    api.broken = (2,)
    found = await client.search(SearchQuery(tags=("(story,comment)",), limit=400))
    assert (len(found.hits), found.unread_count) == (100, 300)
    (warning,) = found.warnings
    assert warning.startswith("the search was interrupted after 100 of 400 hits: ")
    assert "http_500" in warning


async def test_a_search_whose_first_answer_does_not_come_fails(api: FakeApi, client: AlgoliaClient) -> None:
    api.broken = (1,)
    with pytest.raises(FetchError):
        await client.search(SearchQuery(tags=("story",)))


async def test_the_trees_of_a_search_that_breaks_off_are_read_with_its_warning(
    api: FakeApi, client: AlgoliaClient
) -> None:
    search = SearchQuery(tags=("(story,comment)",), limit=120)
    first = (await client.search(search.model_copy(update={"limit": 1}))).hits[0]["objectID"]
    api.asked.clear()
    api.broken, api.broken_path = SECOND_PAGE, f"/items/{first}"
    workflow = tree_workflow(HackerNewsClient(URL, api.connect), client, max_comments=5, max_wait_s=5.0)
    found = (await workflow.run(TreeQuery(search=search))).output(Found)
    assert [warning.partition(":")[0] for warning in found.warnings][:1] == [
        "the search was interrupted after 100 of 120 hits"
    ]
    assert "http_500" in found.warnings[1]
    assert found.warnings[-1].endswith("comments were skipped; raise max_comments, or lower limit")
    assert len(found.nodes) == 99 + 5
    assert found.unread_count == 20 + 1


@pytest.mark.requirement("PL30")
async def test_a_search_that_fails_in_the_middle_goes_on_with_the_page_where_it_was(
    api: FakeApi, client: AlgoliaClient
) -> None:
    api.broken = (2, 3, 5)
    found = await searched(client, tags=("(story,comment)",), limit=300)
    assert (len(found.hits), found.warnings, found.unread_count) == (300, (), 0)
    assert [asked["page"] for asked in api.asked] == ["0", "1", "1", "1", "2", "2"]


async def test_a_search_that_fails_in_the_middle_for_good_says_what_is_missing(
    api: FakeApi, client: AlgoliaClient
) -> None:
    api.broken = SECOND_PAGE
    found = await searched(client, tags=("(story,comment)",), limit=300)
    assert (len(found.hits), found.unread_count) == (100, 200)
    assert found.warnings[0].startswith("the search was interrupted after 100 of 300 hits: ")
    assert [asked["page"] for asked in api.asked] == ["0", *["1"] * TRIES]


async def test_a_search_whose_first_page_is_refused_fails_at_once(
    api: FakeApi, client: AlgoliaClient
) -> None:
    api.broken, api.failure_class = (1,), "http_400"
    with pytest.raises(SourceRefusedError):
        await searched(client, tags=("story",), limit=300)
    assert len(api.asked) == 1


async def test_a_search_that_is_refused_in_the_middle_keeps_what_it_has_at_once(
    api: FakeApi, client: AlgoliaClient
) -> None:
    api.broken, api.failure_class = (2,), "blocked"
    found = await searched(client, tags=("(story,comment)",), limit=300)
    assert (len(found.hits), len(api.asked)) == (100, 2)
    assert "blocked" in found.warnings[0]


@pytest.mark.requirement("PL30")
async def test_a_tree_and_a_user_whose_server_fails_are_asked_for_again(
    api: FakeApi, client: AlgoliaClient
) -> None:
    api.broken = (1, 2)
    firebase = HackerNewsClient(BASE, api.connect)
    archive = build_archive(seed=3, stories=200)
    item = next(number for number in archive.front if number in archive.items)
    trees = tree_workflow(firebase, client, max_comments=5, max_wait_s=5.0)
    found = (await trees.run(TreeQuery(items=(item,)))).output(Found)
    assert (found.nodes[0]["id"], found.warnings, len(api.asked)) == (item, (), 3)
    api.asked.clear()
    name = min(archive.users)
    found = (await user_workflow(firebase, 5.0).run(UserQuery(names=(name,)))).output(Found)
    assert ([user.id for user in found.users], len(api.asked)) == ([name], 3)


async def test_an_item_without_a_tree_is_told_by_its_id(client: AlgoliaClient) -> None:
    with pytest.raises(UnknownItemError, match="no item 5;"):
        await client.tree(5, 10)


async def test_an_answer_of_another_shape_names_the_url(api: FakeApi, client: AlgoliaClient) -> None:
    api.body = b'{"hits": 3}'
    with pytest.raises(UnexpectedAnswerError, match=r"search_by_date .*hits"):
        await client.search(SearchQuery(tags=("story",)))
