"""What a crawl keeps of its pages besides their rows: nothing, unless it is told to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.core.pipeline.conftest import PageInput

from agentic.core.actors import Actor, ActorContext, ActorError, ContentsOutput, PageLink
from agentic.core.pipeline import CrawledPage, SpecError, parse_spec, spec_schema

Run = Callable[..., Any]

CRAWL = """
name: site
steps:
  - type: crawl
    start: "http://a/0"
    follow: {exclude: ["*private*"]}
"""
KEEPING = CRAWL + "    store: {links: true}\n"


class KeepInput(PageInput):
    """What a crawl says of what it keeps."""

    links: bool
    text: bool
    markdown: bool
    html: bool


class KeepActor(Actor[KeepInput, ContentsOutput]):
    """Takes every word of the page for a link, and writes down that it was asked."""

    name = "page_contents"
    version = "1"
    Input = KeepInput
    Output = ContentsOutput

    async def run(self, ctx: ActorContext, given: KeepInput, /) -> ContentsOutput:
        if given.page.text == "deep":
            raise ActorError("it is too deep", failure_class="too_large")
        words = given.page.text.split()
        return ContentsOutput(links=tuple(map(_link, words)) if given.links else None)


def _link(url: str) -> PageLink:
    return PageLink(url=url)


@pytest.fixture
def pages(frontier: Any) -> Callable[[], dict[str, CrawledPage]]:
    return lambda: {page.url: page for batch in frontier.commits for page in batch.done}


async def test_a_crawl_that_keeps_nothing_asks_nobody(
    run: Run, site: Any, pages: Callable[[], dict[str, CrawledPage]]
) -> None:
    site.pages.update({"http://a/0": "http://a/1", "http://a/1": ""})
    await run(CRAWL)  # there is no actor `page_contents` here, and nobody misses it
    assert [page.contents for page in pages().values()] == [None, None]


async def test_a_page_is_kept_with_all_its_links_and_says_which_of_them_the_crawl_follows(
    run: Run, site: Any, actors: dict[str, type[Actor]], pages: Callable[[], dict[str, CrawledPage]]
) -> None:
    actors["page_contents"] = KeepActor
    site.pages.update({"http://a/0": "http://a/1 http://a/private http://b/", "http://a/1": ""})
    result = await run(KEEPING)
    assert result.pages.done == 2
    contents = pages()["http://a/0"].contents
    assert contents is not None
    assert [link.url for link in contents.read.links or ()] == [
        "http://a/1",
        "http://a/private",
        "http://b/",
    ]
    assert contents.followed == {"http://a/1"}


async def test_a_page_that_cannot_be_read_for_keeping_is_given_up(
    run: Run, site: Any, actors: dict[str, type[Actor]]
) -> None:
    actors["page_contents"] = KeepActor
    site.pages.update({"http://a/0": "http://a/1", "http://a/1": "deep"})
    result = await run(KEEPING)
    assert (result.pages.done, result.pages.failed) == (1, 1)
    assert result.failures["too_large"].count == 1


def test_a_crawl_that_is_to_keep_pages_without_the_actor_for_it_is_refused(
    actors: dict[str, type[Actor]],
) -> None:
    with pytest.raises(SpecError, match="unknown actor 'page_contents'"):
        parse_spec(KEEPING, actors)


@pytest.mark.parametrize("has_row", [True, False])
async def test_pages_have_rows_unless_only_their_items_are_wanted(
    run: Run, site: Any, pages: Callable[[], dict[str, CrawledPage]], has_row: bool
) -> None:
    site.pages.update({"http://a/0": "http://a/1", "http://a/1": "http://a/0"})
    await run(f"{CRAWL}    detail: {{match: ['/1']}}\n    store: {{pages: {str(has_row).lower()}}}\n")
    assert [page.has_row for page in pages().values()] == [has_row, has_row]
    assert pages()["http://a/1"].fields


@pytest.mark.parametrize(
    ("store", "message"),
    [
        ("{pages: false}", "stores items only; set detail to extract items"),
        ("{pages: false, links: true}", "belongs to the page's row; remove pages: false"),
    ],
)
def test_a_crawl_that_would_store_nothing_or_what_has_no_place_is_refused(
    actors: dict[str, type[Actor]], store: str, message: str
) -> None:
    actors["page_contents"] = KeepActor
    with pytest.raises(SpecError, match=message):
        parse_spec(f"{CRAWL}    store: {store}\n", actors)


def test_a_word_that_nobody_knows_is_told_with_the_nearest_one(actors: dict[str, type[Actor]]) -> None:
    with pytest.raises(SpecError, match=r"'linkz'.*'links'"):
        parse_spec(CRAWL + "    store: {linkz: true}\n", actors)


def test_editors_know_what_a_crawl_can_keep(actors: dict[str, type[Actor]]) -> None:
    parts: Any = spec_schema(actors)["$defs"]
    assert set(parts["StoreRules"]["properties"]) == {"pages", "links", "text", "markdown", "html"}
    assert "StoreRules" in str(parts["CrawlStep"]["properties"]["store"])
