from __future__ import annotations

import pytest

from agentic.fakes.firecrawl.convert import links_of
from agentic.fakes.firecrawl.markdown import markdown_of

URL = "http://h/shop/"


@pytest.mark.parametrize(
    ("markup", "markdown"),
    [
        ("<h1>One</h1><p>Two <b>three</b>\n four</p>", "# One\n\nTwo **three** four"),
        ("<ul><li>a</li><li>b</li></ul>", "- a\n- b"),
        ('<p>see <a href="p?q=1">it</a></p>', "see [it](http://h/shop/p?q=1)"),
        ("<p>a</p><script>b()</script><style>c{}</style><p>d</p>", "a\n\nd"),
        ("<dl><dt>k</dt><dd>v</dd></dl>", "k v"),
        ("<h2>R&amp;D</h2>", "## R&D"),
        ("</p></a></script>x", "x"),
        ("", ""),
    ],
)
def test_html_becomes_markdown(markup: str, markdown: str) -> None:
    assert markdown_of(markup, URL) == markdown


def test_depth_is_no_matter() -> None:
    assert markdown_of("<div>" * 50_000 + "deep", URL) == "deep"


def test_links_are_whole_and_told_once() -> None:
    links = ("a", "a#b", "mailto:x@y", "http://[", "/c")
    body = "".join(f'<a href="{link}">x</a>' for link in links)
    assert links_of(body.encode(), URL) == ["http://h/shop/a", "http://h/c"]
