from __future__ import annotations

import html
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.core.types import JSONValue
from agentic.fakes.hackernews.api import HackerNews
from agentic.fakes.hackernews.items import ODDITIES

Item = dict[str, JSONValue]
LISTS = ("topstories", "newstories", "beststories", "askstories", "showstories", "jobstories")


@pytest.fixture(scope="module")
def site() -> HackerNews:
    return HackerNews(seed=7, stories=800)


def read(site: HackerNews, path: str) -> JSONValue:
    page = site.page(f"/v0/{path}.json", "", "http://h")
    assert page is not None
    assert page.content_type.startswith("application/json")
    answer: JSONValue = json.loads(page.body)
    return answer


def item(site: HackerNews, number: JSONValue) -> Item:
    found = read(site, f"item/{number}")
    assert isinstance(found, dict)
    return found


def ids(site: HackerNews, name: str) -> list[int]:
    numbers = read(site, name)
    assert isinstance(numbers, list)
    return [number for number in numbers if isinstance(number, int)]


def at(site: HackerNews, kind: str) -> int:
    """Return the id of the first submission of ``kind`` on the front page."""
    rank = next(rank for rank, oddity in ODDITIES.items() if oddity == kind)
    return ids(site, "topstories")[rank]


@pytest.mark.requirement("PL45")
@pytest.mark.parametrize(("name", "limit"), [*((n, 500) for n in LISTS[:3]), *((n, 200) for n in LISTS[3:])])
def test_a_list_has_as_many_ids_as_the_api_gives_at_most(site: HackerNews, name: str, limit: int) -> None:
    numbers = ids(site, name)
    assert 0 < len(numbers) <= limit
    assert len(set(numbers)) == len(numbers)


def test_the_front_page_has_every_oddity_at_its_rank(site: HackerNews) -> None:
    assert item(site, at(site, "deleted")).keys() == {"deleted", "id", "time", "type"}
    assert item(site, at(site, "bare")).keys() == {"id"}
    assert item(site, at(site, "dead"))["dead"] is True
    assert read(site, f"item/{at(site, 'missing')}") is None
    ask, job = item(site, at(site, "ask")), item(site, at(site, "job"))
    assert ask["text"]
    assert "url" not in ask
    assert (job["type"], job["url"]) == ("job", "")


def test_a_poll_and_its_options_name_each_other(site: HackerNews) -> None:
    poll = item(site, at(site, "poll"))
    parts = poll["parts"]
    assert isinstance(parts, list)
    assert len(parts) >= 2
    for part in parts:
        option = item(site, part)
        assert (option["type"], option["poll"], option["id"]) == ("pollopt", poll["id"], part)


def test_comments_and_their_parents_name_each_other(site: HackerNews) -> None:
    counted = 0
    for number in ids(site, "newstories"):
        if read(site, f"item/{number}") is not None:
            counted += count_below(site, item(site, number))
    assert counted > 500


def count_below(site: HackerNews, parent: Item) -> int:
    kids = parent.get("kids", [])
    assert isinstance(kids, list)
    below = [item(site, kid) for kid in kids]
    assert all(kid["parent"] == parent["id"] for kid in below)
    total = len(below) + sum(count_below(site, kid) for kid in below)
    assert parent.get("descendants", total) == total
    return total


def test_titles_are_escaped_as_html(site: HackerNews) -> None:
    titles = [str(item(site, number).get("title", "")) for number in ids(site, "askstories")]
    assert any("&amp;" in title or "&quot;" in title or "&#x27;" in title for title in titles)
    assert all(html.escape(html.unescape(title)) == title for title in titles)


def test_new_stories_come_newest_first_and_the_best_by_score(site: HackerNews) -> None:
    newest = ids(site, "newstories")
    assert newest == sorted(newest, reverse=True)
    first, second = (item(site, number)["score"] for number in ids(site, "beststories")[:2])
    assert isinstance(first, int)
    assert isinstance(second, int)
    assert first >= second


def test_users_are_found_by_their_exact_name(site: HackerNews) -> None:
    author = item(site, at(site, "ask"))["by"]
    user = read(site, f"user/{author}")
    assert isinstance(user, dict)
    assert user["id"] == author
    submitted = user["submitted"]
    assert isinstance(submitted, list)
    assert at(site, "ask") in submitted
    assert read(site, f"user/{str(author).swapcase()}") is None


def test_the_newest_id_and_the_updates_are_told(site: HackerNews) -> None:
    newest = read(site, "maxitem")
    assert isinstance(newest, int)
    assert newest >= ids(site, "newstories")[0]
    updates = read(site, "updates")
    assert isinstance(updates, dict)
    assert updates.keys() == {"items", "profiles"}


@pytest.mark.parametrize(
    "path", ["/", "/v0/", "/v0/nothing.json", "/v0/item/1", "/v0/item/1/2.json", "/v1/item/1.json"]
)
def test_other_paths_do_not_exist(site: HackerNews, path: str) -> None:
    assert site.page(path, "", "http://h") is None


@settings(max_examples=10)
@given(st.integers(), st.integers(min_value=0, max_value=40))
def test_the_same_seed_gives_the_same_bytes(seed: int, stories: int) -> None:
    one, other = HackerNews(seed, stories), HackerNews(seed, stories)
    for path in ["/v0/topstories.json", *(f"/v0/item/{number}.json" for number in ids(one, "topstories"))]:
        assert one.page(path, "", "") == other.page(path, "", "")


def test_another_seed_gives_other_bytes() -> None:
    assert HackerNews(1).page("/v0/topstories.json", "", "") != HackerNews(2).page(
        "/v0/topstories.json", "", ""
    )
