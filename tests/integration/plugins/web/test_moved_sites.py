"""Sites under another name than their start page's, and crawls that say where they ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from tests.integration.plugins.web.scripted import Answer, answer, links, redirect, serving

from agentic.core.types import JSONValue
from agentic.mappers import ExecutionStatus

if TYPE_CHECKING:
    from tests.integration.plugins.web.conftest import MakeAgent, RunAgent

pytestmark = pytest.mark.integration

HTTP: JSONValue = {"allow_private_hosts": ["127.0.0.1", "localhost"]}
DEEP: dict[str, Answer] = {
    "/": answer(links("/a", "/b")),
    "/a": answer(links("/c")),
    "*": answer("<h1>x</h1>"),
}


async def crawled(
    make_agent: MakeAgent, run_agent: RunAgent, start: JSONValue, **rules: JSONValue
) -> tuple[ExecutionStatus, list[str]]:
    step: JSONValue = {"type": "crawl", "start": start, **rules}
    outcome = await run_agent(make_agent(pipeline={"steps": [step]}, inputs={}, http=HTTP))
    assert outcome.error is None
    return outcome.status, list(outcome.warnings)


@pytest.mark.parametrize("rules", [{}, {"slice_pages": 1}, {"slice_pages": 1, "slices": 4}])
async def test_a_crawl_goes_where_its_start_page_leads(
    make_agent: MakeAgent,
    run_agent: RunAgent,
    stored_urls: Callable[[], list[str]],
    rules: dict[str, JSONValue],
) -> None:
    """Each slice learns it: with ``slice_pages: 1`` the first one ends with the start page."""
    async with serving(DEEP) as site:
        there = site.url
        async with serving({"/": redirect(f"{there}/")}) as old:
            start = old.url.replace("127.0.0.1", "localhost")
            status, _ = await crawled(make_agent, run_agent, f"{start}/", **rules)
    assert status == ExecutionStatus.SUCCEEDED
    assert {url.removeprefix(there) for url in stored_urls()} == {"/", "/a", "/b", "/c"}


async def test_links_to_both_names_of_a_moved_site_are_followed(
    make_agent: MakeAgent, run_agent: RunAgent, stored_urls: Callable[[], list[str]]
) -> None:
    routes: dict[str, Answer] = {"*": answer("<h1>x</h1>")}
    async with (
        serving(routes) as new,
        serving({"/": redirect(f"{new.url}/home"), "*": answer("<h1>o</h1>")}) as old,
    ):
        new.routes["/home"] = answer(links("/a", f"{old.url}/b", "http://third.example/"))
        await crawled(make_agent, run_agent, f"{old.url}/")
        assert set(stored_urls()) == {f"{new.url}/home", f"{new.url}/a", f"{old.url}/b"}


async def test_a_chain_of_redirects_and_several_start_pages_move_the_crawl_along(
    make_agent: MakeAgent, run_agent: RunAgent, stored_urls: Callable[[], list[str]]
) -> None:
    one = {**DEEP, "/de/": answer(links("/a", "b"))}
    async with serving(one) as new, serving({}) as middle, serving(DEEP) as second:
        routes = {"/": redirect(f"{middle.url}/"), "/2": redirect(f"{second.url}/a")}
        middle.routes["/"] = redirect(f"{new.url}/de/", status="301 Moved Permanently")
        async with serving(routes) as old:
            await crawled(make_agent, run_agent, [f"{old.url}/", f"{old.url}/2"])
        assert {url.removeprefix(new.url) for url in stored_urls() if url.startswith(new.url)} == {
            "/de/",
            "/a",
            "/c",
            "/de/b",
        }
        assert {url.removeprefix(second.url) for url in stored_urls() if url.startswith(second.url)} == {
            "/a",
            "/c",
        }


async def test_only_a_start_page_moves_the_crawl(
    make_agent: MakeAgent, run_agent: RunAgent, stored_urls: Callable[[], list[str]]
) -> None:
    async with serving({"*": answer(links("/more"))}) as other:
        pages: dict[str, Answer] = {"/": answer(links("/away", "/a")), "/away": redirect(f"{other.url}/")}
        async with serving({**pages, "/a": answer("<h1>a</h1>")}) as site:
            await crawled(
                make_agent,
                run_agent,
                f"{site.url}/",
            )
            assert {url.removeprefix(site.url) for url in stored_urls()} == {"/", "/a"}
    assert other.asked == ["/"]


async def test_patterns_of_the_user_stay_as_they_are(
    make_agent: MakeAgent, run_agent: RunAgent, stored_urls: Callable[[], list[str]]
) -> None:
    async with serving(DEEP) as site, serving({"/": redirect(f"{site.url}/")}) as old:
        _, told = await crawled(make_agent, run_agent, f"{old.url}/", follow={"include": [f"{old.url}/*"]})
        assert stored_urls() == [f"{site.url}/"]
    assert told == [
        "no link was followed: all 2 links of the pages lead to other hosts or fit no rule of follow"
    ]


async def test_a_crawl_that_moved_to_another_site_says_so(make_agent: MakeAgent, run_agent: RunAgent) -> None:
    async with serving(DEEP) as site, serving({"/": redirect(f"{site.url}/")}) as old:
        start = old.url.replace("127.0.0.1", "localhost")
        status, told = await crawled(make_agent, run_agent, f"{start}/")
    assert status == ExecutionStatus.SUCCEEDED
    assert [note.partition(": its pages")[0] for note in told] == [
        f"the start page {start}/ leads to another site, {site.url}/"
    ]


async def test_a_crawl_that_a_limit_cut_says_how_much_is_left(
    make_agent: MakeAgent, run_agent: RunAgent
) -> None:
    home = answer(links(*(f"/p{n}" for n in range(30))))
    below = answer(links("/", "/p1", "/deep1", "/deep2"))
    async with serving({"/": home, "*": below}) as site:
        _, told = await crawled(make_agent, run_agent, f"{site.url}/", max_pages=10, max_depth=1)
    assert told == [
        "21 known pages were left because of max_pages (10): raise it, or set rules in follow",
        "2 pages were left because of max_depth (1): more links away from the start pages",
    ]
