from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest

from agentic.fakes.hackernews.api import HackerNews
from agentic.fakes.hackernews.items import Archive, build_archive

EVERYTHING = "(story,comment,poll,pollopt,job)"


@pytest.fixture(scope="module")
def site() -> HackerNews:
    return HackerNews(seed=7, stories=800)


@pytest.fixture(scope="module")
def archive() -> Archive:
    return build_archive(7, 800)


def read(site: HackerNews, path: str, status: int = 200, **options: object) -> Any:
    page = site.page(f"/api/v1/{path}", urlencode(options), "http://h")
    assert page is not None
    assert page.status == status
    return json.loads(page.body)


def test_a_search_gives_a_thousand_hits_whatever_the_page_and_tells_of_all(site: HackerNews) -> None:
    pages = [read(site, "search_by_date", tags=EVERYTHING, page=n, hitsPerPage=100) for n in range(12)]
    assert [len(page["hits"]) for page in pages] == [100] * 10 + [0, 0]
    assert pages[0]["nbHits"] > 1_500
    assert pages[0]["nbPages"] == 10
    times = [hit["created_at_i"] for page in pages for hit in page["hits"]]
    assert times == sorted(times, reverse=True)


def test_what_was_taken_back_or_killed_is_not_found(site: HackerNews, archive: Archive) -> None:
    shown = [item for item in archive.items.values() if "by" in item and "dead" not in item]
    assert read(site, "search", tags=EVERYTHING)["nbHits"] == len(shown)


def test_tags_must_all_fit_and_those_in_brackets_any(site: HackerNews) -> None:
    both = read(site, "search", tags="story,(ask_hn,show_hn)", hitsPerPage=1_000)["hits"]
    assert {tag for hit in both for tag in hit["_tags"] if tag.endswith("_hn")} == {"ask_hn", "show_hn"}
    author = both[0]["author"]
    theirs = read(site, "search", tags=f"comment,author_{author}", hitsPerPage=1_000)["hits"]
    assert {hit["author"] for hit in theirs} == {author}
    assert all("comment_text" in hit and hit["points"] is None for hit in theirs)


def test_the_front_page_can_be_searched(site: HackerNews, archive: Archive) -> None:
    found = read(site, "search", tags="front_page", hitsPerPage=100)["hits"]
    shown = {str(n) for n in archive.front[:30] if {"by", "dead"} & archive.items.get(n, {}).keys() == {"by"}}
    assert {hit["objectID"] for hit in found} == shown


@pytest.mark.parametrize(
    "condition", ["points>=300", "points<50", "num_comments=4", "created_at_i>1767300000"]
)
def test_numeric_filters_compare(site: HackerNews, condition: str) -> None:
    found = read(site, "search", tags="story", numericFilters=condition, hitsPerPage=1_000)
    everything = read(site, "search", tags="story")
    assert 0 < found["nbHits"] < everything["nbHits"]


def test_hits_are_highlighted_unless_nothing_is_to_be(site: HackerNews) -> None:
    assert "_highlightResult" in read(site, "search", tags="story")["hits"][0]
    assert "_highlightResult" not in read(site, "search", tags="story", attributesToHighlight="")["hits"][0]


def test_words_are_looked_for(site: HackerNews) -> None:
    title = read(site, "search", tags="story")["hits"][0]["title"]
    assert title in {hit["title"] for hit in read(site, "search", tags="story", query=title.upper())["hits"]}


def test_an_item_comes_with_all_that_is_below_it(site: HackerNews, archive: Archive) -> None:
    number = next(n for n, item in archive.items.items() if item.get("descendants") == 4)
    tree = read(site, f"items/{number}")
    assert (tree["id"], tree["story_id"], tree["parent_id"]) == (number, number, None)
    assert count(tree) == 4


def count(node: dict[str, Any]) -> int:
    assert all(child["parent_id"] == node["id"] for child in node["children"])
    return sum(1 + count(child) for child in node["children"])


def test_a_user_is_found_by_name(site: HackerNews, archive: Archive) -> None:
    name = min(archive.users)
    assert read(site, f"users/{name}")["karma"] == archive.users[name]["karma"]


@pytest.mark.parametrize("path", ["items/1", "items/x", "users/nobody-at-all"])
def test_what_is_not_there_is_a_404_in_json(site: HackerNews, path: str) -> None:
    assert read(site, path, status=404)["error"] == "Not Found"


@pytest.mark.parametrize("options", [{"numericFilters": "karma>1"}, {"page": "-1"}, {"hitsPerPage": "many"}])
def test_parameters_that_make_no_sense_are_refused(site: HackerNews, options: dict[str, str]) -> None:
    assert read(site, "search", status=400, **options)["status"] == 400
