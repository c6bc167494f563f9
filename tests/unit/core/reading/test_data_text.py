"""YAML and JSON that people write: read as data, within limits."""

from __future__ import annotations

import json

import pytest

from agentic.core.reading.data_text import MAX_DEPTH, DataTextError, check_data, read_data, read_json


def _laughs(levels: int, width: int = 10) -> str:
    lines = ["a0: &a0 lol"]
    lines += [
        f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * width)}]" for level in range(1, levels + 1)
    ]
    return "\n".join(lines)


def _merges(levels: int) -> str:
    lines = ["a0: &a0 {k: v}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, levels + 1)]
    return "\n".join(lines)


@pytest.mark.parametrize("levels", [6, 9, 30])
def test_aliases_that_multiply_are_refused_where_they_begin_to(levels: int) -> None:
    with pytest.raises(DataTextError, match=r"line 7, column \d+: its aliases expand to more than 1,000,000"):
        read_data(_laughs(levels))


def test_merge_keys_that_multiply_are_refused() -> None:
    with pytest.raises(DataTextError, match="aliases expand to more than"):
        read_data(_merges(12))


def test_a_long_text_with_many_aliases_is_refused() -> None:
    with pytest.raises(DataTextError, match="aliases expand to more than"):
        read_data(f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 1_000)}]")


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {b: {c: *a}}"])
def test_an_alias_to_what_it_stands_in_is_refused(text: str) -> None:
    with pytest.raises(DataTextError, match=r"the alias \*a contains itself"):
        read_data(text)


def test_aliases_and_merge_keys_are_read() -> None:
    text = "base: &base {x: 1, y: [2]}\nown: {<<: *base, x: 3}\nsame: *base\n"
    base = {"x": 1, "y": [2]}
    read = read_data(text)
    assert read.data == {"base": base, "own": {"x": 3, "y": [2]}, "same": base}
    assert read.marks[("own", "x")] == (2, 18)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", '{"a": [', '{"a": '])
@pytest.mark.parametrize("depth", [101, 5_000, 200_000])
def test_what_is_nested_too_deep_is_refused(opening: str, depth: int) -> None:
    closing = {"[": "]", "{a: ": "}", "- ": "", '{"a": [': "]}", '{"a": ': "}"}[opening]
    with pytest.raises(DataTextError, match="nested more than 100 levels deep"):
        read_data(opening * depth + "1" + closing * depth)


def test_what_is_nested_as_deep_as_may_be_is_read() -> None:
    text = "[" * MAX_DEPTH + "1" + "]" * MAX_DEPTH
    assert read_data(text).data == read_json(text)


@pytest.mark.parametrize("text", ["12:30:45", "1" + ":1" * 200_000, "-1:59.5", "x: [1:30]", "190:20:30.15"])
def test_a_number_to_base_60_is_refused(text: str) -> None:
    with pytest.raises(DataTextError, match=r"base-60 number .*; quote it"):
        read_data(text)
    assert read_data(f'"{text}"').data == text


@pytest.mark.parametrize(
    "number", ["1" * 101, "9" * 5_000, "0x" + "f" * 100_000, "0b" + "1" * 1_000, "-" + "1" * 101]
)
@pytest.mark.parametrize("template", ["a: {}", "[{}]", '{{"a": {}}}'])
def test_a_number_of_too_many_digits_is_refused(number: str, template: str) -> None:
    with pytest.raises(DataTextError, match=r"more than 100 digits|valid YAML"):
        read_data(template.format(number))


@pytest.mark.parametrize("text", ["a: .nan", "a: [-.inf]", '{"a": NaN}', '{"a": 1e999}', "a: 1.0e+999"])
def test_what_is_no_number_of_json_is_refused(text: str) -> None:
    with pytest.raises(DataTextError, match="is not a JSON number"):
        read_data(text)


@pytest.mark.parametrize("text", ["a: 1\na: 2", '{"a": 1, "a": 2}', "a: {b: 1, c: 2, b: 3}", "1: x\n'1': y"])
def test_a_key_that_is_there_twice_is_refused(text: str) -> None:
    with pytest.raises(DataTextError, match=r"line \d, column \d+: duplicate key"):
        read_data(text)


@pytest.mark.parametrize("text", ["? [a]\n: b", "a: !!python/name:os.system ''", "a: '", "\0"])
def test_what_is_no_yaml_is_an_error(text: str) -> None:
    with pytest.raises(DataTextError, match="not valid YAML"):
        read_data(text)


def test_a_text_with_comments_only_is_empty() -> None:
    assert read_data("# nothing\n").is_empty


@pytest.mark.parametrize("depth", [101, 5_000, 500_000])
def test_json_has_the_same_limits(depth: int) -> None:
    with pytest.raises(DataTextError, match="nested more than 100 levels deep"):
        read_json("[" * depth + "]" * depth)
    with pytest.raises(DataTextError, match="more than 100 digits"):
        read_json("1" * (depth + 100))


def test_json_is_read() -> None:
    assert read_json('{"a": [1, 2.5, null, "x"]}') == {"a": [1, 2.5, None, "x"]}
    with pytest.raises(json.JSONDecodeError):
        read_json("yes")


def test_data_that_was_given_has_the_same_limits() -> None:
    deep: object = 1
    for _ in range(5_000):
        deep = {"a": [deep]}
    with pytest.raises(DataTextError, match="nested more than 100 levels deep"):
        check_data(deep)
