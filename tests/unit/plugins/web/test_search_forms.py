"""How sites want to be searched."""

from __future__ import annotations

import pytest

from agentic.plugins.web.reading.html import parse
from agentic.plugins.web.reading.search_forms import SearchForm, description_url, fill, find_form, template_of

BASE = "http://shop.example/list/"
FIND = '<form action="/find"><input type="search" name="words"></form>'


def form_of(markup: str) -> SearchForm | None:
    return find_form(parse(markup), BASE)


@pytest.mark.requirement("SP16")
@pytest.mark.parametrize(
    "markup",
    [
        FIND,
        '<form action="/find"><input name="words" type=text><input name="words" type="SEARCH"></form>',
        '<form action="/login"><input name="user"></form>' + FIND,
        '<form action="/a"><input name=q></form>' + FIND.replace("<form", "<form role=search"),
        '<form action="/a"><input name=q></form><search>' + FIND + "</search>",
    ],
)
def test_the_form_that_searches_is_found(markup: str) -> None:
    form = form_of(markup)
    assert form is not None
    assert (form.action, form.query) == ("http://shop.example/find", "words")


@pytest.mark.parametrize("name", ["q", "query", "s", "search"])
def test_a_field_that_is_called_so_is_for_the_words(name: str) -> None:
    form = form_of(f"<form><input name={name}></form>")
    assert form == SearchForm(action=BASE, method="GET", query=name)


@pytest.mark.parametrize(
    "markup", ["", "<form><input name=user></form>", "<form><input name=q type=hidden></form>"]
)
def test_a_page_may_have_no_search(markup: str) -> None:
    assert form_of(markup) is None


def test_a_form_is_sent_with_all_that_a_browser_would_send() -> None:
    form = form_of(
        """<form action="?old=1#top"><input type=hidden name=token value=t><input name=q value=before>
        <input type=checkbox name=new checked><input type=checkbox name=used><input type=radio name=r value=1>
        <select name=sort><option value=a>A<option value=b selected>B</select>
        <select name=in><option>All</select><input type=submit name=go value=Go></form>"""
    )
    assert form is not None
    assert form.filled("a & b") == (
        "http://shop.example/list/?token=t&new=on&sort=b&in=All&q=a+%26+b",
        None,
    )


def test_a_form_may_be_posted() -> None:
    form = form_of('<form method="post" action="/find"><input name="q"></form>')
    assert form is not None
    assert form.filled("é") == ("http://shop.example/find", b"q=%C3%A9")


@pytest.mark.parametrize(
    ("template", "url"),
    [
        ("http://a.example/?q={query}", "http://a.example/?q=two%20words%2F"),
        (
            "http://a.example/{searchTerms}/?p={startPage?}&l={lang:code?}",
            "http://a.example/two%20words%2F/?p=&l=",
        ),
    ],
)
def test_a_template_is_filled(template: str, url: str) -> None:
    assert fill(template, "two words/") == url


def test_a_site_may_describe_its_search() -> None:
    markup = '<link rel="search" type="application/opensearchdescription+xml" href="/os.xml">'
    assert description_url(parse(markup), BASE) == "http://shop.example/os.xml"
    description = """<?xml version="1.0"?><OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">
        <Url type="application/json" template="/suggest?q={searchTerms}"/>
        <Url type="text/html" template="/find?q={searchTerms}&amp;x=1"/></OpenSearchDescription>"""
    assert template_of(description, BASE) == "http://shop.example/find?q={searchTerms}&x=1"
    assert template_of("<OpenSearchDescription/>", BASE) is None
