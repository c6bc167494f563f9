"""Values of ``Refresh``, as browsers read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.reading.refreshes import LONG_S, read_refresh


@pytest.mark.parametrize(
    ("value", "seconds", "address"),
    [
        ("0;url=/x", 0, "/x"),
        ("0; url=/x", 0, "/x"),
        ("0; URL='/x'", 0, "/x"),
        ('5 ; Url = "/x y"', 5, "/x y"),
        ("5,url=/x", 5, "/x"),
        ("5 url=/x", 5, "/x"),
        ("  10\n;\turl\n=\n/x  ", 10, "/x"),
        ("3; /x", 3, "/x"),
        ("3;'/x'junk", 3, "/x"),
        ("0;url='/x", 0, "/x"),
        ("0.5;url=/x", 0, "/x"),
        (".5;url=/x", 0, "/x"),
        ("1.9.9; url=/x", 1, "/x"),
        ("007;url=/x", 7, "/x"),
        ("0; url=//h.example/a;b=1,c", 0, "//h.example/a;b=1,c"),
        ("0; url=/?url=/y", 0, "/?url=/y"),
        ("0; urls=/x", 0, "urls=/x"),
        ("99999999999999999999;url=/x", LONG_S, "/x"),
    ],
)
def test_a_refresh_leads_somewhere_after_some_seconds(value: str, seconds: int, address: str) -> None:
    assert read_refresh(value) == (seconds, address)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "  ",
        "5",
        "0;",
        "0; ",
        "0;url=",
        "0;url=''",
        "url=/x",
        "-1;url=/x",
        "x;url=/x",
        "5x;url=/x",
        "5\u00a0;/x",
    ],
)
def test_a_value_that_reloads_the_page_or_is_not_valid_leads_nowhere(value: str) -> None:
    assert read_refresh(value) is None


@given(st.text(" 05.;,url='\"/x\n", max_size=20))
def test_any_text_is_read(value: str) -> None:
    found = read_refresh(value)
    assert found is None or (found.seconds >= 0 and found.address)
