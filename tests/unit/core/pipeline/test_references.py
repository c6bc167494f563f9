"""References in specs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.pipeline.references import (
    ReferenceFailedError,
    descend,
    find_references,
    is_reference,
    resolve,
    source_path,
)
from agentic.core.types import JSONValue

RESULTS: JSONValue = {"inputs": {"page": 2, "deep": True}, "urls": ["a", "b"], "nothing": None}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet="ab $c"),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet="ab"), inner),
    max_leaves=10,
)


def lookup(path: tuple[str, ...]) -> JSONValue:
    return descend(RESULTS, path, path)


def test_a_string_that_is_one_reference_becomes_the_value_itself() -> None:
    assert resolve({"a": ["${urls}", "${inputs.page}"]}, lookup) == {"a": [["a", "b"], 2]}


def test_a_reference_within_a_text_becomes_text() -> None:
    assert resolve("?page=${inputs.page}&deep=${ inputs.deep }", lookup) == "?page=2&deep=true"


def test_numbers_index_lists() -> None:
    assert resolve("${urls.1}", lookup) == "b"


@pytest.mark.parametrize("text", ["${urls.9}", "${inputs.size}", "${inputs.page.x}", "${missing}"])
def test_a_reference_that_leads_nowhere_is_an_error_that_names_it(text: str) -> None:
    with pytest.raises(ReferenceFailedError, match=text[2:-1]) as caught:
        resolve(text, lookup)
    assert caught.value.failure_class == "reference"


def test_a_list_cannot_stand_within_a_text() -> None:
    with pytest.raises(ReferenceFailedError, match="is a list"):
        resolve("see ${urls}", lookup)


@pytest.mark.parametrize("text", ["${1 + 1}", "${f(x)}", "${a.b", "${}", "${a..b}", "${a[0]}"])
def test_what_is_no_plain_path_is_found_as_such(text: str) -> None:
    assert [found.path for found in find_references(text)] == [None]


def test_references_are_found_with_their_place() -> None:
    found = list(find_references({"schema": ["x", "${a.b} and ${c}"]}))
    assert [(f.path, f.place) for f in found] == [(("a", "b"), ("schema", 1)), (("c",), ("schema", 1))]


@pytest.mark.parametrize("text", ["list.urls", "${list.urls}", "${ list.urls }"])
def test_a_source_is_written_with_or_without_braces(text: str) -> None:
    assert source_path(text) == ("list", "urls")


def test_a_reference_with_text_around_it_is_no_lone_reference() -> None:
    assert is_reference("${a}")
    assert not is_reference("${a}${b}")
    assert not is_reference(3)


@given(json_values)
def test_a_value_without_references_stays_as_it_is(value: JSONValue) -> None:
    assert list(find_references(value)) == []
    assert resolve(value, lookup) == value
