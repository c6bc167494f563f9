"""Pages that send browsers to another page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from tests.integration.plugins.web.scripted import Answer, answer, field_of, links, serving

from agentic.core.types import JSONValue
from agentic.mappers import ExecutionStatus

if TYPE_CHECKING:
    from tests.integration.plugins.web.conftest import MakeAgent, RunAgent

pytestmark = pytest.mark.integration

HTTP: JSONValue = {"allow_private_hosts": ["127.0.0.1", "localhost"]}
HOME = answer(links("/p1"))
LEAF = answer("<h1>x</h1>")


def meta(content: str, more: str = "") -> bytes:
    return answer(
        f'<html><head><meta http-equiv="Refresh" content="{content}">{more}</head><body></body></html>'
    )


async def crawled(make_agent: MakeAgent, run_agent: RunAgent, start: str, **rules: JSONValue) -> None:
    step: JSONValue = {"type": "crawl", "start": start, **rules}
    outcome = await run_agent(make_agent(pipeline={"steps": [step]}, inputs={}, http=HTTP))
    assert (outcome.status, outcome.error) == (ExecutionStatus.SUCCEEDED, None)


@pytest.mark.parametrize(
    "first",
    [
        meta("0; url=/home"),
        meta("15,URL='home'"),
        answer("", "Refresh: 0; url=/home"),
        answer("<p>moving</p>", "refresh: 3;/home"),
        answer("<META HTTP-EQUIV=refresh CONTENT=0;URL=/home>"),
        answer("<base href=/in/><meta content='1;url=../home' http-equiv='refresh'>"),
        answer("<meta http-equiv=refresh content=5><meta http-equiv=refresh content='0;/home'>"),
        answer("", "Refresh: 0; url=/home", "Content-Type: text/plain"),
    ],
)
async def test_a_short_refresh_is_followed_like_a_redirect(
    make_agent: MakeAgent, run_agent: RunAgent, stored_urls: Callable[[], list[str]], first: bytes
) -> None:
    async with serving({"/": first, "/home": HOME, "/p1": LEAF}) as site:
        await crawled(make_agent, run_agent, f"{site.url}/")
    assert site.asked == ["/", "/home", "/p1"]
    assert {url.removeprefix(site.url) for url in stored_urls()} == {"/home", "/p1"}


@pytest.mark.parametrize(
    ("first", "stored"),
    [
        (meta("600; url=/home"), {"/", "/home", "/p1"}),  # a link
        (meta("16; url=/home"), {"/", "/home", "/p1"}),
        (meta("0"), {"/"}),
        (meta("0; url=/#top"), {"/"}),
        (meta("0; url=mailto:a@b"), {"/"}),
        (answer('<noscript><meta http-equiv="refresh" content="0;url=/home"></noscript>'), {"/"}),
        (answer('<!-- <meta http-equiv="refresh" content="0;url=/home"> -->'), {"/"}),
        (answer('<template><meta http-equiv="refresh" content="0;url=/home"></template>'), {"/"}),
        (answer('<pre>&lt;meta http-equiv="refresh" content="0;url=/home"&gt;</pre>'), {"/"}),
    ],
)
async def test_other_refreshes_are_links_or_nothing(
    make_agent: MakeAgent,
    run_agent: RunAgent,
    stored_urls: Callable[[], list[str]],
    first: bytes,
    stored: set[str],
) -> None:
    async with serving({"/": first, "/home": HOME, "/p1": LEAF}) as site:
        await crawled(make_agent, run_agent, f"{site.url}/")
    assert {url.removeprefix(site.url) for url in stored_urls()} == stored


async def test_refreshes_in_a_circle_end(
    make_agent: MakeAgent, run_agent: RunAgent, stored_urls: Callable[[], list[str]]
) -> None:
    def onward(head: str) -> bytes:
        return meta(f"0; url=/n{int(head.split(' ')[1][2:]) + 1}")

    endless: dict[str, Answer] = {f"/n{number}": onward for number in range(100)}
    first = answer(links("/a", "/n0"))
    async with serving({"/": first, "/a": meta("0;/b"), "/b": meta("0;/a"), **endless}) as site:
        await crawled(make_agent, run_agent, f"{site.url}/", max_pages=3)
    assert site.asked.count("/a") == site.asked.count("/b") == 1
    assert sum(target.startswith("/n") for target in site.asked) < 10
    assert f"{site.url}/b" in stored_urls()


async def test_a_refresh_of_the_start_page_may_lead_to_another_host_and_others_may_not(
    make_agent: MakeAgent, run_agent: RunAgent, stored_urls: Callable[[], list[str]]
) -> None:
    async with serving({"*": LEAF}) as third:
        pages = {"/": answer(links("/out", "/p1")), "/out": meta(f"0;url={third.url}/x"), "/p1": LEAF}
        async with serving(pages) as site, serving({"/": meta(f"0;url={site.url}/")}) as old:
            await crawled(make_agent, run_agent, f"{old.url}/")
    assert third.asked == []
    assert {url.removeprefix(site.url) for url in stored_urls()} == {"/", "/out", "/p1"}


async def test_a_fetch_step_follows_a_refresh_unless_told_not_to_and_keeps_its_secrets(
    make_agent: MakeAgent, run_agent: RunAgent
) -> None:
    async with (
        serving({"*": LEAF}) as other,
        serving({"/": meta(f"0;url={other.url}/x"), "/2": meta("0;/3"), "*": LEAF}) as site,
    ):
        own = {"X-Api-Key": "hunter2"}
        configs: list[JSONValue] = [
            {"url": f"{site.url}/", "headers": {**own}},
            {"url": f"{site.url}/2", "headers": {**own}},
            {"url": f"{site.url}/2", "follow_refresh": False},
        ]
        steps: JSONValue = [{"actor": "fetch", "config": config} for config in configs]
        await run_agent(make_agent(pipeline={"steps": steps}, inputs={}, http=HTTP))
    assert site.asked == ["/", "/2", "/3", "/2"]
    assert [field_of(head, "x-api-key") for head in site.heads] == ["hunter2", "hunter2", "hunter2", ""]
    assert [field_of(head, "x-api-key") for head in other.heads] == [""]
