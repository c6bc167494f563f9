"""Documents, their text, and pages no parser likes."""

from __future__ import annotations

from typing import Any

import pytest

from agentic.core.actors import ActorError
from agentic.core.hooks import get_registry
from agentic.plugins.web.reading.html import parse, parse_apart, text_of

READERS: dict[str, dict[str, object]] = {
    "extract_list": {"item_selector": "a"},
    "extract_detail": {"schema": {"title": "h1"}},
    "article": {},
    "structured_data": {},
    "search": {"keywords": "a"},
    "diff": {},
}


@pytest.mark.parametrize("name", READERS)
async def test_a_page_nested_for_ever_is_a_failure(act: Any, page: Any, name: str) -> None:
    with pytest.raises(ActorError, match="nested more than 2000 levels deep") as caught:
        await act(get_registry().actors[name], page=page("<div>" * 100_000), **READERS[name])
    assert caught.value.failure_class == "too_large"


@pytest.mark.parametrize("markup", ["<b>" * 3_000 + "</b>" * 3_000, "<x><p>" * 2_001, "<DIV>" * 2_001])
def test_whatever_it_is_nested_in_it_is_refused(markup: str) -> None:
    with pytest.raises(ActorError):
        parse(markup)


@pytest.mark.parametrize(
    "row", ["<li><a href=/1>x</a>", "<tr><td><p>x<br>", "<div><i>x</i></div>", "</div>", "< a "]
)
def test_a_page_that_is_merely_long_is_read(row: str) -> None:
    assert parse(row * 5_000).select_one("body") is not None


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>a</p><p>b</p>", "a b"),
        ("1<b>2</b>3", "123"),
        ("one<br>two", "one two"),
        ("<div><p>a</p></div>b", "a b"),
        (" a  <i> b </i>\n c", "a b c"),
        ("", ""),
    ],
)
def test_words_on_lines_of_their_own_are_apart(markup: str, text: str) -> None:
    node = parse(f"<div id=x>{markup}</div>").select_one("#x")
    assert node is not None
    assert text_of(node) == text


def test_a_text_is_parsed_once_for_all_who_read_it_in_turn() -> None:
    text = "<h1>" + "long" * 500
    document = parse(text)
    assert parse(text) is document
    assert parse("<h1>short").select_one("h1") is not None
    assert parse(text) is not document


def test_a_declarative_shadow_root_is_part_of_the_page() -> None:
    document = parse_apart(
        "<my-card>a <template shadowrootmode=open><a href=/x>b <i>c</i></a><template shadowrootmode=closed>"
        "<p>d</p></template></template></my-card><template><a href=/y>e</a></template>"
        "<template shadowrootmode=other>f</template>"
    )
    assert [node.attr("href") for node in document.select("a")] == ["/x"]
    assert text_of(document.select_one("body") or document.select("*")[0]) == "a b c d"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<h1>Lamp<script>let a = 1</script></h1>", "Lamp"),
        ("<h1><style>.a { top: 0 }</style><p>Lamp</p><p>red</p></h1>", "Lamp red"),
        ("<script>let a = 1</script>", "let a = 1"),
        ("<style>.a { top: 0 }</style>", ".a { top: 0 }"),
    ],
)
def test_scripts_and_styles_are_no_text_of_the_element_around_them(markup: str, text: str) -> None:
    assert text_of(parse(markup).select("h1, script, style")[0]) == text
