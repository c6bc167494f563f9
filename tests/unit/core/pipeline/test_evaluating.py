"""What an expression may cost."""

from __future__ import annotations

import re

import pytest

from agentic.core.pipeline.expressions.expressions import ReferenceFailedError, evaluate, parse_expression
from agentic.core.types import JSONValue

TEN: JSONValue = [*range(10)]
TIMES_TEN = "[@,@,@,@,@,@,@,@,@,@]"


def _evaluated(text: str, value: JSONValue = TEN) -> JSONValue:
    expression = parse_expression(text)
    assert expression.fault == ""
    return evaluate(expression, lambda _: value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a" + f" | {TIMES_TEN}[]" * 8, "reads more than 2,000,000 values"),
        ("a" + f" | {TIMES_TEN}" * 9, "its result has more than 20,000,000 characters"),
        ("a | {x: @, y: @}" + " | {x: @, y: @}" * 30, "its result has more than 20,000,000 characters"),
        (f"to_string(a{f' | {TIMES_TEN}' * 9})", r"the argument of to_string\(\) has more than"),
        (f"contains(a{f' | {TIMES_TEN}' * 9}, `1`)", r"the argument of contains\(\) has more than"),
        (f"[a{f' | {TIMES_TEN}' * 8}, a{f' | {TIMES_TEN}' * 8}] | [0] == [1]", "reads more than"),
        (
            f"join('{'x' * 5_000}', a{f' | {TIMES_TEN}[]' * 4}[].to_string(@))",
            r"the argument of join\(\) has more than",
        ),
        (f"map(&{TIMES_TEN}, a{f' | {TIMES_TEN}[]' * 5})", "reads more than"),
    ],
)
def test_an_expression_that_multiplies_is_ended(text: str, said: str) -> None:
    with pytest.raises(ReferenceFailedError, match=said) as caught:
        _evaluated(text)
    assert caught.value.failure_class == "reference"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(" * 3_000 + "a" + ")" * 3_000, "more than 50 nested brackets"),
        ("a" + "[?b[?c" * 60 + "]" * 120, "more than 50 nested brackets"),
        ("!" * 5_000 + "a", "nested too deep"),
        ("a" + ".*" * 3_000, "nested too deep|parts within each other"),
        ("||".join("a" * 3_000), "more than 200 nested parts"),
        ("a" + "[*]" * 400, "nested too deep|parts within each other"),
        ("x" * 10_000 + " | a", "more than 10,000 characters"),
        ("`" + "[" * 4_900 + "]" * 4_900 + "`", "nested too deep|JMESPath"),
    ],
)
def test_an_expression_that_is_nested_too_deep_has_a_fault(text: str, said: str) -> None:
    assert re.search(said, parse_expression(text).fault)


def test_brackets_in_texts_do_not_count() -> None:
    assert _evaluated(f"length('{'(' * 100}')") == 100
    assert _evaluated(f'{{"{"[" * 100}": a}} | length(@)') == 1
    assert _evaluated(r"length('it\'s ((')") == 7


def test_a_large_result_of_what_is_as_large_is_given() -> None:
    pages: JSONValue = [{"text": "x" * 1_000_000, "n": number} for number in range(30)]
    found = _evaluated("a[].{text: text}", pages)
    assert isinstance(found, list)
    assert len(found) == 30


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("a[?@ > `7`] | [@, @][]", [8, 9, 8, 9]),
        ("{x: a, y: a} == {x: a, y: a}", True),
        ("a == `[0, 1]`", False),
        ("a[0] < a[1]", True),
        ("[[`1`], `2`, [[`3`]]][]", [1, 2, [3]]),
        ("a.b[]", None),
        ("a[2:4]", [2, 3]),
        ("a | [::-1] | [0]", 9),
        ("sort_by(a, &(@ == `3` && `0` || @))[0:2]", [0, 3]),
        ("join('-', ['a', 'b'])", "a-b"),
    ],
)
def test_an_expression_within_the_limits_means_what_jmespath_says(text: str, result: JSONValue) -> None:
    assert _evaluated(text) == result
