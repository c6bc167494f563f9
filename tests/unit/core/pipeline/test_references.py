"""References in specs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.pipeline.expressions.expressions import (
    ReferenceFailedError,
    descend,
    evaluate,
    parse_expression,
)
from agentic.core.pipeline.expressions.references import expression_of, find_references, is_reference, resolve
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


@pytest.mark.parametrize(
    "text", ["${1 + 1}", "${__import__('os')}", "${a.b", "${}", "${a..b}", "${@}", "${keys(@)}", "${*.a}"]
)
def test_what_is_no_path_and_no_expression_is_found_as_such(text: str) -> None:
    assert [bool(found.expression.fault) for found in find_references(text)] == [True]


def test_references_are_found_with_their_place() -> None:
    found = list(find_references({"schema": ["x", "${a.b} and ${c}"]}))
    assert [(f.expression.path, f.place) for f in found] == [
        (("a", "b"), ("schema", 1)),
        (("c",), ("schema", 1)),
    ]


@pytest.mark.parametrize("text", ["list.urls", "${list.urls}", "${ list.urls }"])
def test_a_source_is_written_with_or_without_braces(text: str) -> None:
    assert expression_of(text).path == ("list", "urls")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("length(urls) > `1` && inputs.deep", True),
        ("urls[?contains(@, 'b')] | [0]", "b"),
        ("{first: urls[0], page: inputs.page}", {"first": "a", "page": 2}),
        ("not_null(nothing, inputs.page)", 2),
        ("inputs.size", None),
    ],
)
def test_an_expression_selects_filters_and_compares(text: str, value: JSONValue) -> None:
    expression = parse_expression(f"{text} ")
    assert not expression.fault
    if expression.path is None:
        assert evaluate(expression, lookup) == value
        assert resolve(f"${{{text}}}", lookup) == value


@pytest.mark.parametrize(
    ("text", "roots"),
    [
        ("a.b", {"a"}),
        ("a[?b == c].d", {"a"}),
        ("sort_by(a.b, &c)", {"a"}),
        ("{x: a, y: b.c} && [d, e]", {"a", "b", "d", "e"}),
        ("a | b", {"a"}),
        ("max(a[].price) > b || c", {"a", "b", "c"}),
    ],
)
def test_an_expression_knows_the_names_it_looks_at(text: str, roots: set[str]) -> None:
    assert parse_expression(text).roots == roots


def test_a_function_that_does_not_take_what_it_is_given_is_a_failed_reference() -> None:
    with pytest.raises(ReferenceFailedError, match="cannot be evaluated") as caught:
        resolve("${length(inputs.page)}", lookup)
    assert caught.value.failure_class == "reference"


@pytest.mark.parametrize(
    "text", ["secrets.key\u017f", "secrets.\u212aeys", "\uff53ecrets.keys", "secrets.a\u00e9"]
)
def test_a_reference_is_ascii(text: str) -> None:
    expression = parse_expression(text)
    assert expression.path is None
    assert "unquoted names take a to z" in expression.fault


@pytest.mark.parametrize("text", ["secrets.keys", "secrets.KEYS", "secrets.1st", f"secrets.{'a' * 101}"])
def test_a_reference_to_what_no_secret_is_called_has_a_fault(text: str) -> None:
    assert "is not a valid secret name" in parse_expression(text).fault


def test_a_key_of_another_alphabet_is_quoted() -> None:
    found: JSONValue = {"urls": {"gr\u00f6\u00dfe": 3}}
    assert evaluate(parse_expression('urls."gr\u00f6\u00dfe"'), lambda path: descend(found, path, path)) == 3


@pytest.mark.parametrize("name", ["\u00b2", "9" * 5_000, "\u0663"])
def test_what_is_no_index_of_a_list_leads_nowhere(name: str) -> None:
    found: JSONValue = ["a" for _ in range(9)]
    with pytest.raises(ReferenceFailedError):
        descend(found, (name,), (name,))


@pytest.mark.parametrize("text", ["secrets", "secrets.a.b", "join('', [secrets.a])"])
def test_a_secret_stands_alone(text: str) -> None:
    assert "secret" in parse_expression(text).fault


def test_a_reference_with_text_around_it_is_no_lone_reference() -> None:
    assert is_reference("${a}")
    assert not is_reference("${a}${b}")
    assert not is_reference(3)


@given(json_values)
def test_a_value_without_references_stays_as_it_is(value: JSONValue) -> None:
    assert list(find_references(value)) == []
    assert resolve(value, lookup) == value
