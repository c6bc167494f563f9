"""JSON with the faults that templates of sites make."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.reading.loose_json import read_loose_json
from agentic.core.types import JSONValue

GOOD = {"name": "N", "offers": {"price": "19.90"}}


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "N", "offers": {"price": "19.90",},}',
        '{"name": "N",, "offers": {"price": "19.90"}}',
        '{"name": "N" "offers": {"price": "19.90"}}',
        '//<![CDATA[\n{"name": "N", "offers": {"price": "19.90"}}\n//]]>',
        '//<![CDATA[ {"name": "N", "offers": {"price": "19.90"}} //]]>',
        '/* <![CDATA[ */ {"name": "N", "offers": {"price": "19.90",}} /* ]]> */',
        '<![CDATA[{"name": "N", "offers": {"price": "19.90"}}]]>',
        '<!-- {"name": "N", "offers": {"price": "19.90"}} -->',
        '<!--\n//<![CDATA[\n{"name": "N", "offers": {"price": "19.90"}}\n//]]>\n-->',
        '{"name": "N", // the name, of "it"\n "offers": /* all */ {"price": "19.90"}}',
        '\ufeff{"name": "N", "offers": {"price": "19.90"}};',
        "{'name': 'N', offers: {price: '19.90'}}",
        '{"name": "N", "offers": {"price": "19.90"}}}',
        'var data = {"name": "N", "offers": {"price": "19.90"}};',
        'window.__data["x"] = {"name": "N", "offers": {"price": "19.90"}};',
        "{&quot;name&quot;: &quot;N&quot;, &quot;offers&quot;: {&quot;price&quot;: &quot;19.90&quot;}}",
    ],
)
def test_a_small_fault_costs_nothing(text: str) -> None:
    assert read_loose_json(text) == ([GOOD], "")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"""{"a": "it\'s"}""", "it's"),
        (r"""{"a": "c:\dir"}""", "c:\\dir"),
        (r"""{"a": "\ud83d\ude00",}""", "\U0001f600"),
        (r"""{"a": "\u00e9\x41\/",}""", "éA/"),
        ('{"a": "12" TV",}', '12" TV'),
        ('{"a": "Samsung 55"", "b": 1}', 'Samsung 55"'),
        ('{"a": "He said "hi", and left", "b": 1}', 'He said "hi", and left'),
        ('{"a": "say "x": y", "b": 1}', 'say "x": y'),
        ('{"a": "two\nlines\tand a tab",}', "two\nlines\tand a tab"),
        ('{"a": "http://x//y /* no comment */",}', "http://x//y /* no comment */"),
        ("{'a': 'it\"s'}", 'it"s'),
        ('{"a": NaN,}', None),
        ('{"a": undefined}', None),
        ('{"a": -Infinity,}', None),
        ('{"a": 1e999,}', None),
        ('{"a": , "b": 1}', None),
        ('{"a": True}', True),
        ('{"a": .5}', 0.5),
        ('{"a": +1}', 1),
        ('{"a": 01234}', "01234"),
        ('{"a": ["x" y", "z",]}', ['x" y', "z"]),
        ('{"a": [1 2]}', [1, 2]),
    ],
)
def test_a_value_is_read_as_its_author_meant_it(text: str, value: JSONValue) -> None:
    found = read_loose_json(text)
    assert found.fault == ""
    assert [part["a"] for part in found.values if isinstance(part, dict)] == [value]


@pytest.mark.parametrize("text", ['{"a": 1}{"a": 2}', '{"a": 1},\n{"a": 2},', '{"a": 1};{"a": 2}'])
def test_several_values_may_follow_each_other(text: str) -> None:
    assert read_loose_json(text) == ([{"a": 1}, {"a": 2}], "")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"a": 19,90}', "line 1: expected a key before '90}'"),
        ('{"price": 1,299.00}', "line 1: expected a key before '299.00}'"),
        ('{"a": 19.90 EUR}', "line 1: expected a colon before '}'"),
        ('{\n"a": {{price}}}', "line 2: expected a key before '{price}}}'"),
        ('{"a": 1', "line 1: expected } at its end"),
        ('{"a": "b', "line 1: expected a text with an end before '\"b'"),
        ("<p>no</p>", "line 1: expected an object or a list before '<p>no</p>'"),
        (";", "it has no object"),
        ('{"a":' * 500 + "1" + "}" * 500 + ",", "line 1: expected less nesting"),
    ],
)
def test_the_rest_is_a_fault_at_its_place(text: str, fault: str) -> None:
    found = read_loose_json(text)
    assert found.values == []
    assert found.fault.startswith(fault)


def test_the_values_before_a_fault_are_kept() -> None:
    found = read_loose_json('{"a": 1}{"a": x}')
    assert found.values == [{"a": 1}]
    assert found.fault


def test_no_text_has_no_value_and_no_fault() -> None:
    assert read_loose_json(" \ufeff ") == ([], "")
    assert read_loose_json("<!-- -->") == ([], "")


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(st.text(max_size=5), json_values, max_size=3),
    st.sampled_from(["", "/* x */", "// y\n", " \n", "<!--"]),
)
def test_valid_json_with_commas_and_comments_is_what_it_was(data: dict[str, JSONValue], blank: str) -> None:
    text = json.dumps(data, indent=1).replace("\n", f"\n{blank}")
    assert read_loose_json(text + ",") == ([json.loads(json.dumps(data))], "")


@given(st.text(alphabet="{}[]\"',:\\/* \n<!->&;au1.0-", max_size=80))
def test_any_text_is_values_or_a_fault(text: str) -> None:
    found = read_loose_json(text)
    assert found.values or found.fault or not text.strip() or text.strip()[0] in "</"


@pytest.mark.parametrize(
    "part", ['"', '",', '"a",', "{", "[", "/*", "//", ",", "\\", "'", " ", '"a":', "-", "1", "a", '" ']
)
def test_a_text_of_many_parts_is_read_at_once(part: str) -> None:
    # Twice as long takes twice the time: a reader that tries again from each quote takes minutes here.
    for text in ('{"a": "' + part * 20_000, '{"a": ' + part * 20_000, part * 20_000):
        read_loose_json(text)
