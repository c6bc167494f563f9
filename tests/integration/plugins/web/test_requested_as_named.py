"""Pages are requested by the addresses that pages, redirects and people name."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

import pytest
from tests.integration.plugins.web.scripted import answer, links, redirect, serving

from agentic.core.types import JSONValue
from agentic.mappers import ExecutionStatus

if TYPE_CHECKING:
    from tests.integration.plugins.web.conftest import MakeAgent, RunAgent

pytestmark = pytest.mark.integration

HTTP: JSONValue = {"allow_private_hosts": ["127.0.0.1"]}
PLAIN = "Content-Type: text/html"
NAMED = (
    "/svc?wsdl",
    "/index.php?/topic/57/&do=x",
    "/old?b=1;a=2",
    "/sorted?z=1&a=2",
    "/empty?",
    "/plus?q=a+b%20c",
    "/marks?f[]=1|2{x}",
    "/lone%?100%",
    "/case%2f%2F?%e4%E4",
    "/tilde/%7Ex",
)


@pytest.mark.parametrize("transport", ["aiohttp", "httpx2", "curl_cffi"])
async def test_a_crawl_requests_what_a_page_names(
    make_agent: MakeAgent, run_agent: RunAgent, stored_urls: Callable[[], list[str]], transport: str
) -> None:
    async with serving({"/": answer(links(*map(escape, NAMED))), "*": answer("<h1>x</h1>")}) as site:
        step: JSONValue = {"type": "crawl", "start": f"{site.url}/"}
        http: JSONValue = {"allow_private_hosts": ["127.0.0.1"], "transport": transport}
        outcome = await run_agent(make_agent(pipeline={"steps": [step]}, inputs={}, http=http))
    assert (outcome.status, outcome.error) == (ExecutionStatus.SUCCEEDED, None)
    assert site.asked[0] == "/"
    assert set(site.asked[1:]) == set(NAMED)
    assert {url.removeprefix(site.url) for url in stored_urls()} == {"/", *NAMED}


async def test_two_spellings_of_a_page_are_fetched_once_as_the_first_one_says(
    make_agent: MakeAgent, run_agent: RunAgent, stored_urls: Callable[[], list[str]]
) -> None:
    page = answer(links("/p?b=2&amp;a=1", "/p?a=1&amp;b=2", "/q?utm_source=x&amp;id=1", "/q?id=1"))
    async with serving({"/": page, "*": answer("<h1>x</h1>")}) as site:
        step: JSONValue = {"type": "crawl", "start": f"{site.url}/"}
        agent = make_agent(pipeline={"steps": [step]}, inputs={}, http=HTTP)
        await run_agent(agent)
        await run_agent(agent)
    assert sorted(site.asked) == sorted(2 * ["/", "/p?b=2&a=1", "/q?utm_source=x&id=1"])
    assert len(stored_urls()) == 3


@pytest.mark.parametrize(
    ("page", "asked"),
    [
        (answer('<meta charset="windows-1251"><a href="/ы?q=мир">'.encode("cp1251"), PLAIN),
         "/%D1%8B?q=%EC%E8%F0"),
        (answer('<a href="?q=äö€">'.encode("cp1252"), "Content-Type: text/html; charset=iso-8859-1"),
         "/?q=%E4%F6%80"),
        (answer('<a href="/s?q=日本">'.encode("euc-jp"), "Content-Type: text/html; charset=euc-jp"),
         "/s?q=%C6%FC%CB%DC"),
        (answer('<a href="/s?q=мир">', "Content-Type: text/html; charset=utf-8"), "/s?q=%D0%BC%D0%B8%D1%80"),
        (answer('<base href="/in/"><a href=" a\tb\n?x y ">'), "/in/ab?x%20y"),
        (answer(r'<a href="\w\x?a\b">'), "/w/x?a\\b"),
        (answer('<a href="a/../%2e/b/./c#!d">'), "/b/c"),
    ],
)  # fmt: skip
async def test_a_link_is_written_as_browsers_do(
    make_agent: MakeAgent, run_agent: RunAgent, page: bytes, asked: str
) -> None:
    async with serving({"/": page, "*": answer("<h1>x</h1>")}) as site:
        step: JSONValue = {"type": "crawl", "start": f"{site.url}/"}
        await run_agent(make_agent(pipeline={"steps": [step]}, inputs={}, http=HTTP))
    assert site.asked == ["/", asked]


@pytest.mark.parametrize("transport", ["aiohttp", "httpx2", "curl_cffi"])
@pytest.mark.parametrize(
    ("location", "asked"),
    [
        (b"/synspr\xf8ve?\xe6", "/synspr%F8ve?%E6"),
        ("/synsprøve?æ", "/synspr%C3%B8ve?%C3%A6"),
        ("/a b?c d", "/a%20b?c%20d"),
        ("next", "/to/next"),
        ("?wsdl", "/to/go?wsdl"),
        ("/x?b=1&a=2#part", "/x?b=1&a=2"),
        ("//{host}/x|y", "/x|y"),
        ("http:/x", "/x"),
        ("\\x", "/x"),
        ("/a/../b;c", "/b;c"),
    ],
)
async def test_a_redirect_is_followed_as_browsers_do(
    make_agent: MakeAgent, run_agent: RunAgent, location: str | bytes, asked: str, transport: str
) -> None:
    def go(head: str) -> bytes:
        host = head.lower().partition("\r\nhost: ")[2].partition("\r\n")[0]
        return redirect(location.replace("{host}", host) if isinstance(location, str) else location)

    async with serving({"/": answer(links("/to/go")), "/to/go": go, asked: answer("<h1>x</h1>")}) as site:
        step: JSONValue = {"type": "crawl", "start": f"{site.url}/"}
        http: JSONValue = {"allow_private_hosts": ["127.0.0.1"], "transport": transport}
        outcome = await run_agent(make_agent(pipeline={"steps": [step]}, inputs={}, http=http))
    assert site.asked == ["/", "/to/go", asked]
    assert outcome.status == ExecutionStatus.SUCCEEDED


async def test_every_other_reader_of_addresses_requests_them_as_named(
    make_agent: MakeAgent, run_agent: RunAgent
) -> None:
    """A list with pages, a loop over its links, and a sitemap."""
    listed = '<ul><li><a href="/i?b&amp;a">1</a></li></ul><a rel=next href="/list?page&amp;n=2">next</a>'
    sitemap = "<urlset><url><loc>{url}/from?b&amp;a</loc></url></urlset>"
    routes = {
        "/list": answer(listed),
        "/list?page&n=2": answer('<ul><li><a href="/i?d&amp;c">2</a></li></ul>'),
        "*": answer("<h1>x</h1>"),
    }
    async with serving(routes) as site:
        site.routes["/sitemap.xml"] = answer(sitemap.format(url=site.url), "Content-Type: application/xml")
        steps: JSONValue = [
            {"actor": "fetch", "config": {"url": f"{site.url}/list"}},
            {"actor": "extract_list", "config": {"item_selector": "li", "pages": 2}},
            {
                "type": "loop",
                "source": "list_item_urls",
                "loop_steps": [{"actor": "fetch", "config": {"url": "${link}"}}],
                "item_as": "link",
                "collect": "page",
            },
            {"type": "crawl", "start": f"{site.url}/end", "sitemaps": [f"{site.url}/sitemap.xml"]},
        ]
        outcome = await run_agent(make_agent(pipeline={"steps": steps}, inputs={}, http=HTTP))
    assert outcome.error is None
    assert {"/list?page&n=2", "/i?b&a", "/i?d&c", "/from?b&a"} <= set(site.asked)
