"""Crawls that read pages from storage."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.core.pipeline.conftest import MakeActor, MemoryFrontier, PageInput
from tests.unit.core.pipeline.test_crawl_files import FILES, FindActor

from agentic.core.actors import Actor, ActorContext, ActorError, ItemOutput, Page
from agentic.core.http import url_key
from agentic.core.pipeline import FrontierCounts, SliceId
from agentic.core.pipeline.crawl.borders import border_notes
from agentic.core.pipeline.crawl.follow import frontier_link
from agentic.core.pipeline.policies.policies import ErrorRule, Fallback, without_retries
from agentic.core.pipeline.spec.spec import CrawlStep

Run = Callable[..., Any]
Store = Callable[..., Awaitable[None]]

ROOT = "http://a/0"
RULES = "error_handling: {selector_missing: {retry_count: 5, backoff_s: 60, then: dead_letter}}\n"
CRAWL = """
name: site
steps:
  - type: crawl
    start: "http://a/0"
    detail: {match: ["/1*"]}
"""


def page(url: str, text: str) -> Page:
    return Page(
        url="",
        final_url=url,
        status=200,
        content_type="text/html",
        text=text,
        content_hash=text,
        fetched_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


@pytest.fixture
def store(frontier: MemoryFrontier) -> Store:
    """Store pages of an earlier crawl: URL -> text."""

    async def store(pages: dict[str, str]) -> None:
        await frontier.seed([frontier_link(url, 1) for url in pages])
        frontier.stored |= {url_key(url): page(url, text) for url, text in pages.items()}

    return store


async def test_stored_pages_are_read_without_a_request(
    run: Run, site: Any, frontier: MemoryFrontier, store: Store
) -> None:
    await store({ROOT: "http://a/1", "http://a/1": "one"})
    result = await run(CRAWL)
    assert site.fetched == []
    assert (result.pages.done, result.pages.reread) == (2, 2)
    items = {page.url: page.fields for batch in frontier.commits for page in batch.done}
    assert items["http://a/1"] == {"url": "http://a/1", "text": "one"}


@pytest.mark.parametrize("is_offline", [True, False])
async def test_a_new_link_of_a_stored_page_is_fetched_unless_the_crawl_is_offline(
    run: Run, site: Any, frontier: MemoryFrontier, store: Store, is_offline: bool
) -> None:
    site.pages["http://a/1"] = "one"
    frontier.is_offline = is_offline
    await store({ROOT: "http://a/1"})
    result = await run(CRAWL)
    assert site.fetched == ([] if is_offline else ["http://a/1"])
    assert (result.pages.reread, result.pages.left) == (1, int(is_offline))
    assert any("--failed" in sentence for sentence in result.pages.borders) == is_offline


async def test_max_pages_limits_what_is_fetched_and_not_what_is_read_from_storage(
    run: Run, site: Any, store: Store
) -> None:
    await store({f"http://a/{n}": "http://a/new" for n in range(5)})
    result = await run(f"{CRAWL}    max_pages: 2\n")
    assert (result.pages.reread, result.pages.left, site.fetched) == (5, 1, [])


async def test_a_failure_of_a_stored_page_is_not_retried(
    run: Run, frontier: MemoryFrontier, store: Store
) -> None:
    """A retry would wait a minute, for the same page."""
    await store({"http://a/0": "", "http://a/1": ""})
    result = await run(RULES + CRAWL)
    (failed,) = (page for batch in frontier.commits for page in batch.failed)
    assert (failed.failure_class, len(failed.attempts)) == ("selector_missing", 1)
    assert (failed.is_letter, failed.is_reread) == (True, True)
    assert (result.pages.reread, result.pages.failed) == (2, 1)


async def test_an_actor_that_asks_for_more_while_it_reads_a_stored_page_gets_no_answer(
    run: Run, actors: dict[str, type[Actor]], frontier: MemoryFrontier, store: Store
) -> None:
    class CuriousActor(Actor[PageInput, ItemOutput]):
        """Asks for a second page."""

        name = "extract_detail"
        version = "1"
        Input = PageInput
        Output = ItemOutput

        async def run(self, ctx: ActorContext, given: PageInput, /) -> ItemOutput:
            if given.page.final_url.endswith("/1"):
                await ctx.http.fetch("http://a/more")
            await ctx.browser().fetch("http://a/more")
            return ItemOutput(item={})

    actors["extract_detail"] = CuriousActor
    await store({ROOT: "", "http://a/1": "one", "http://a/12": "two"})
    result = await run(CRAWL)
    failed = [page for batch in frontier.commits for page in batch.failed]
    assert [page.failure_class for page in failed] == ["not_stored", "not_stored"]
    assert "http://a/more" in failed[0].message
    assert result.pages.failed == 2


async def test_files_of_a_stored_page_are_not_downloaded_and_are_no_links(
    run: Run, actors: dict[str, type[Actor]], make_actor: MakeActor, frontier: MemoryFrontier, store: Store
) -> None:
    def download(**_: object) -> object:
        raise ActorError("this is a request", failure_class="connect")

    actors["page_files"] = FindActor
    make_actor("download", lambda url, types, folder, max_bytes, timeout_s: download(), gives="items")
    await store({ROOT: "http://a/x.png http://a/1", "http://a/1": ""})
    result = await run(FILES)
    assert (result.pages.done, result.pages.failed) == (2, 0)
    assert set(frontier.links) == {url_key(ROOT), url_key("http://a/1")}


async def test_a_page_that_is_no_longer_stored_fails_and_is_not_fetched(
    run: Run, site: Any, frontier: MemoryFrontier, store: Store
) -> None:
    await store({ROOT: "", "http://a/1": ""})
    frontier.stored[url_key("http://a/1")] = None
    result = await run(CRAWL)
    assert (result.pages.failed, result.failures["not_stored"].count, site.fetched) == (1, 1, [])


def test_rules_without_retries_end_as_the_rules_say() -> None:
    rule = ErrorRule(retry_count=3, rerun="login", retry_with_actor=Fallback(actor="other"), then="skip")
    ((once,),) = (list(rules.values()) for rules in without_retries([{"*": rule}]))
    assert once == ErrorRule(then="skip")


@pytest.mark.parametrize(
    ("counts", "unread", "open_count"),
    [
        (FrontierCounts(total=9, done=4, failed=1), 0, 4),
        (FrontierCounts(total=9, done=4, to_reread=3, reread=1), 2, 5),
        (FrontierCounts(total=9, done=4, to_reread=3, reread=1, is_offline=True), 2, 2),
        (FrontierCounts(total=9, done=4, to_reread=3, reread=4, is_offline=True), 0, 0),
    ],
)
def test_an_offline_crawl_has_only_stored_pages_to_work_on(
    counts: FrontierCounts, unread: int, open_count: int
) -> None:
    assert (counts.unread, counts.open) == (unread, open_count)


def test_pages_that_are_not_stored_are_told_in_a_sentence() -> None:
    step = CrawlStep(type="crawl", start=ROOT)
    (note,) = border_notes(step, FrontierCounts(total=3, done=3, to_reread=1, reread=1, unstored=2))
    assert note.startswith("2 pages were left unchanged")
    assert "store: {html: true}" in note


async def test_a_frontier_that_reads_from_storage_knows_it_before_the_first_page(
    frontier: MemoryFrontier,
) -> None:
    frontier.is_offline = True
    assert (await frontier.begin(SliceId())).is_offline
