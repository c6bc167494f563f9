from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.executors.reports.markup import Html, element, escaped, joined, link

SCRIPT = "<script>alert(1)</script>"


def test_text_is_escaped_and_markup_is_not() -> None:
    inner = element("b", SCRIPT)
    assert element("p", SCRIPT, inner) == (
        "<p>&lt;script&gt;alert(1)&lt;/script&gt;<b>&lt;script&gt;alert(1)&lt;/script&gt;</b></p>"
    )


def test_attributes_are_escaped() -> None:
    assert element("i", title='" onload="x') == '<i title="&quot; onload=&quot;x"></i>'


def test_attributes_of_none_are_left_out() -> None:
    assert element("i", class_=None, aria_label="a") == '<i aria-label="a"></i>'


@given(st.text())
def test_no_text_makes_markup(text: str) -> None:
    assert not {"<", ">", '"', "'"} & set(escaped(text))


@pytest.mark.parametrize("char", ["\x00", "\x1b", "\ud800", "\u202e", "\x85"])
def test_what_no_document_may_hold_is_replaced(char: str) -> None:
    assert escaped(f"a{char}b") == "a\ufffdb"


def test_parts_are_joined_with_text_between() -> None:
    assert joined([Html("<i></i>"), "&"], " < ") == "<i></i> &lt; &amp;"


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "http://[", "ftp://x/"])
def test_only_addresses_of_the_web_can_be_followed(url: str) -> None:
    assert "href" not in link(url)
    assert 'href="https://a/b"' in link("https://a/b")
