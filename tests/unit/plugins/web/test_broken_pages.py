"""Pages no author would admit to, and selectors: read as browsers read them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from selectolax.lexbor import LexborHTMLParser

from agentic.core.http import HttpError
from agentic.core.http.resolving import _resolved
from agentic.core.reading.addresses import absolute
from agentic.plugins.web.actors.extract_detail import ExtractDetailActor
from agentic.plugins.web.actors.extract_list import ExtractListActor
from agentic.plugins.web.reading.html import parse, select, select_one, text_of
from agentic.plugins.web.reading.selectors import Selector

BROKEN = [
    "",
    "<table><tr><td>a<td>b<tr><td>c",
    "<table><p>out of it<tr><td>in it",
    "<b><p>one</b>two<i>three</p>four",
    "<p>a<p>b<div>c</p>d",
    "<ul><li>a<li>b<ul><li>c</ul><li>d",
    "<a href=1>a<div><a href=2>b",
    "<select><option>a<option selected>b<div>c</select>d",
    "<form><form><input name=a></form><input name=b>",
    "<script>if (a < b) '<p>'<!--<script>--></script><style>p > a {}</style>",
    "<textarea>\n<p>a</textarea><title>a < b &amp; c</title>",
    "<noscript><p>without scripts</noscript>",
    "<svg viewbox='0 0 1 1'><title>t</title><p>out of it",
    "<p a=1 a=2 A=3 b c='' d=&quot;&copy;&notit;&#0;&#x80;>&nbsp;&lt;&unknown;&amp",
    "a\0b<p title='c\0d'>e\0f",
    "<html lang=de><body class=a></body></html>after<body id=b>",
    "<p>unfinished <a href='",
    "</p></br></div><!-- unfinished",
    "<!doctype html>\r\n<pre>\r\na\rb</pre>",
    "\ufeff<?xml version='1.0'?><rss><link>http://a.example/</link></rss>",
]
SELECTORS = TypeAdapter(Selector)


@pytest.mark.parametrize("markup", BROKEN)
def test_a_broken_page_is_mended_as_another_parser_does(markup: str) -> None:
    page, other = parse(markup), LexborHTMLParser(markup)
    assert page.select_one("body") is not None
    assert [node.html for node in page.select("body *")] == [node.html for node in other.css("body *")]


@given(
    st.lists(
        st.sampled_from(
            [*"<>/='\"&\0 \n", "<p", "<b>", "</b>", "<td>", "<table>", "<!--", "a", "é", "\ud800"]
        )
    )
)
def test_whatever_a_text_is_there_is_a_page(pieces: list[str]) -> None:
    page = parse("".join(pieces))
    assert [text_of(node) for node in page.select("body")]


def test_what_scripts_make_elements_from_is_not_on_the_page() -> None:
    page = parse(
        "<ul><template><li>{{ name }}<template><li>inner</template></template><li>lamp</ul>"
        "<div><template shadowrootmode=none><p>shadow</p></template><p>light</p></div>"
    )
    assert [text_of(node) for node in page.select("li, p, div")] == ["lamp", "light", "light"]
    assert page.select("ul > template + li")


async def test_the_first_of_two_attributes_counts_and_one_without_a_value_is_empty(
    act: Any, page: Any
) -> None:
    markup = f"<p data-a=1 data-a=2 DATA-B data-c='{'x' * 1_000_000}' data-d='&lt;&eacute;\0'>a</p>"
    schema = {name: {"selector": "p", "attr": f"data-{name}"} for name in "abcde"}
    item = (await act(ExtractDetailActor, page=page(markup), schema=schema)).item
    assert len(item.pop("c")) == 1_000_000
    assert item == {"url": "http://shop.example/list/", "a": "1", "b": "", "d": "<é\ufffd", "e": None}


async def test_an_attribute_without_a_value_is_there(act: Any, page: Any) -> None:
    schema = {"sold": {"selector": "input", "attr": "disabled", "type": "boolean"}}
    assert (await act(ExtractDetailActor, page=page("<input disabled>"), schema=schema)).item["sold"] is True


def test_elements_come_in_the_order_of_the_page_and_once_each() -> None:
    page = parse("<h1 class=a>1</h1><p class=a>2</p><h1>3</h1>")
    assert [node.text for node in page.select("p, .a, h1, h1.a")] == ["1", "2", "3"]


async def test_the_selector_of_a_field_may_fit_the_item_itself(act: Any, page: Any) -> None:
    markup = "<a class=item href=/1>one</a><a class=item href=/2><b>two</b></a>"
    fields = {
        "name": "a.item",
        "at": {"selector": "body a", "attr": "href"},
        "all": {"selector": "*", "list": True},
    }
    items = (await act(ExtractListActor, page=page(markup), item_selector="a", fields=fields)).items
    assert [(item["name"], item["at"], item["all"]) for item in items] == [
        ("one", "/1", ["one"]),
        ("two", "/2", ["two", "two"]),
    ]


def test_what_is_around_an_element_counts_for_what_fits_in_it() -> None:
    page = parse("<main><div id=a><p>1</p></div></main><div id=b><p>2</p></div>")
    place = page.select_one("#a")
    assert place is not None
    assert [node.text for node in select(place, "main p")] == ["1"]
    assert select_one(place, "#b p") is None
    assert select_one(place, "main > div") == place


@pytest.mark.parametrize(
    "selector",
    [
        *(
            "",
            " ",
            "p,",
            ", p",
            "p >",
            "> p",
            "a[",
            "a[href=",
            "[href='x",
            "p:not(b",
            "p:nth-child(x)",
            "..a",
            "a..b",
        ),
        *(
            "p:contains('a')",
            "p:first",
            "p:eq(0)",
            "p:unheard-of",
            "a::text",
            "a::attr(href)",
            "//p",
            "$x",
            "p\0",
        ),
    ],
)
def test_what_is_no_selector_is_refused(selector: str) -> None:
    with pytest.raises(ValidationError, match="is not a CSS selector"):
        SELECTORS.validate_python(selector)


@pytest.mark.parametrize(
    "selector",
    ["P", "a[href^=http]", "li:nth-child(2n + 1 of .a)", "div:has(> p)", ":is(h1, h2) + p", ":scope > p"],
)
def test_what_is_one_is_taken(selector: str) -> None:
    assert SELECTORS.validate_python(selector) == selector


def test_a_selector_of_many_steps_takes_no_time_on_a_deep_page() -> None:
    # A parser that tries each way up the page looks at more than 10^12 of them here.
    assert not parse("<div>" * 1_500).select("q div div div div div")


def test_a_page_of_many_megabytes_is_read() -> None:
    page = parse("<ul>" + "<li class=a><a href=/x>lamp</a> 5 EUR" * 150_000)
    assert len(page.select("ul > li.a > a[href]")) == 150_000


def test_a_page_is_read_by_several_threads_at_once() -> None:
    page = parse("<ul>" + "<li class=a><a href=/x>lamp</a><p>5 EUR</p>" * 500)

    def texts(_: int) -> list[str]:
        return [text_of(node) for node in page.select("ul > li:has(p)")]

    with ThreadPoolExecutor(4) as pool:
        assert all(found == ["lamp 5 EUR"] * 500 for found in pool.map(texts, range(20)))


ADDRESSES = st.text("/.aA0-_~%?&=#+:;,@\\é \t", max_size=12)
BASES = st.builds(
    "{}{}{}".format,
    st.sampled_from(["http://", "HTTPS://", "https://u:p@", "ftp://", ""]),
    st.sampled_from(["a.example", "a.example:80", "[::1]:8000", "A_b"]),
    ADDRESSES,
)


@given(BASES, st.one_of(ADDRESSES, ADDRESSES.map("/{}".format)))
def test_the_short_way_to_an_address_leads_where_the_long_one_does(base: str, address: str) -> None:
    try:
        expected = str(_resolved(base, address, "utf-8"))
    except HttpError:
        expected = None
    assert absolute(base, address) == expected
