"""What is read of a page for keeping."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agentic.core.actors import ActorError, Page, PageLink
from agentic.plugins.web.actors.page_contents import MAX_TEXT, PageContentsActor

Act = Callable[..., Awaitable[Any]]
MakePage = Callable[..., Page]

URL = "http://shop.example/list/"
EVERYTHING = {"links": True, "text": True, "markdown": True, "html": True}


@pytest.fixture
def links(act: Act, page: MakePage) -> Callable[[str], Awaitable[list[PageLink]]]:
    async def links(markup: str) -> list[PageLink]:
        read = await act(PageContentsActor, page=page(markup), links=True)
        return list(read.links)

    return links


async def test_every_page_it_links_to_is_there_once_in_order_wherever_it_leads(links: Any) -> None:
    markup = (
        "<a href='b'>B</a> <a href='//other.example/?utm_source=x'>O</a> <a href='/list/b#part'>again</a>"
        "<a href='#top'>up</a> <a href='mailto:ann@x.example'>Ann</a> <a>no</a> <map><area href='/map'></map>"
    )
    assert [link.url for link in await links(markup)] == [
        f"{URL}b",
        "http://other.example/?utm_source=x",
        "http://shop.example/map",
    ]


async def test_what_links_are_relative_to_is_what_the_page_says(links: Any) -> None:
    (link,) = await links("<base href='http://cdn.example/x/'><a href='y'>Y</a>")
    assert link.url == "http://cdn.example/x/y"


async def test_a_word_counts_for_a_link_if_every_such_link_has_it(links: Any) -> None:
    markup = (
        "<a href='a' rel='UGC nofollow'>A</a> <a href='a' rel='nofollow'>A</a>"
        "<a href='b' rel='nofollow'>B</a> <a href='b'>B</a>"
    )
    assert [link.rel for link in await links(markup)] == ["nofollow", ""]


async def test_the_text_of_a_link_is_that_of_the_first_that_has_one_and_not_longer_than_a_card(
    links: Any,
) -> None:
    markup = f"<a href='a'><img></a> <a href='a'>A\n lamp</a> <a href='b'>{'x' * 600}</a> <a href='c'></a>"
    assert [link.text for link in await links(markup)] == ["A lamp", "x" * MAX_TEXT, ""]


async def test_text_is_what_people_see_block_by_block(act: Act, page: MakePage) -> None:
    markup = (
        "<html lang='en-GB'><head><title>T</title><link rel='canonical' href='/lamp?utm_source=x'></head>"
        "<body><h1>A <b>lamp</b></h1><script>x()</script><p>Gives\n light.<pre>a\n  b</pre></body></html>"
    )
    read = await act(PageContentsActor, page=page(markup), text=True)
    assert read.text == "A lamp\n\nGives light.\n\na\n  b"
    assert (read.canonical_url, read.language) == ("http://shop.example/lamp?utm_source=x", "en-GB")


async def test_markdown_has_whole_addresses_and_no_scripts(act: Act, page: MakePage) -> None:
    markup = "<h1>Lamps</h1><p>See <a href='a'>the first</a>.<script>x()</script>"
    read = await act(PageContentsActor, page=page(markup), markdown=True)
    assert read.markdown == f"# Lamps\n\nSee [the first]({URL}a)."


async def test_markup_is_kept_as_it_came_and_what_is_not_asked_for_is_not_read(
    act: Act, page: MakePage
) -> None:
    read = await act(PageContentsActor, page=page("<p>Hi<p>"), html=True)
    assert (read.html, read.text, read.markdown, read.links) == ("<p>Hi<p>", None, None, None)


async def test_what_is_no_html_has_its_text_and_body_and_nothing_else(act: Act, page: MakePage) -> None:
    plain = page("one <a href='x'>", content_type="text/plain")
    read = await act(PageContentsActor, page=plain, **EVERYTHING)
    assert (read.text, read.markdown, read.links) == ("one <a href='x'>", "", ())
    assert read.html == "one <a href='x'>"


async def test_a_page_that_is_nested_too_deep_is_refused(act: Act, page: MakePage) -> None:
    with pytest.raises(ActorError) as caught:
        await act(PageContentsActor, page=page("<div>" * 2_100), links=True)
    assert caught.value.failure_class == "too_large"
