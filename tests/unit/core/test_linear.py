"""Regular expressions in linear time: the same meaning as Python's, and none of its cost."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.linear import LinearPattern, LinearRegexError, RegexTooCostlyError, compile_linear

ATOMS = st.sampled_from(
    ["a", "é", "ß", "1", r"\.", ".", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", "[ab]", "[^a]", r"[\W_]",
     r"[^\W\d]", r"[\s-]", "[a-é]", "K", "^", "$", r"\A", r"\Z"]
)  # fmt: skip
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        inner.map(lambda one: f"({one})"),
        inner.map(lambda one: f"(?i:{one})"),
        st.tuples(
            st.sampled_from(["a", r"\d", r"\w", ".", "[ab]"]), st.sampled_from(["*", "+", "?", "+?", "{1,2}"])
        ).map("".join),
    ),
    max_leaves=6,
)
TEXTS = st.text(alphabet="aAbéßſK\u212a1٣_-. \u2003\n\ud800", max_size=12)


DOLLARS = [
    "a$", "(a|b$)", "b(?:a|$)", "$$", "(a$)?", r"^\s*$", r"\s*?$", r"a\b$", "$^", r"b\sa(?i:$)", r"a$\n",
    r"$\s", r"(?:,|$)\s*", r"(a$|\n)+", r"(?i:$\Z)", r"\Z|b$", r"($)?\s", "(?:ba$|b)", "(?:b|ba$)", "[^a]$",
    r"[^\n]$", r".$", r"(?s:.)$", r"[\x00-\x1f]$", r"\x00|$", r"[^\x00]+$", r"[\x00]a$",
]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["b", "a", "a\n", "b\na", "b\na\n", "ba\n", "\n", "\n\n", "", "a\x00\n", "b\n\x00a\n"]
)
@pytest.mark.parametrize("pattern", DOLLARS)
def test_a_dollar_is_that_of_python(pattern: str, text: str) -> None:
    linear = LinearPattern(pattern)
    found, wanted = linear.search(text), re.search(pattern, text)
    assert (found and (found.start, found.end, found.groups)) == (
        wanted and (*wanted.span(), wanted.groups())
    )
    whole = re.fullmatch(pattern, text)
    assert linear.matches(text) == (whole is not None)
    if "*?" in pattern:  # behind a place with nothing in it, Python looks for another one there
        return
    places = [(one.start, one.end, one.groups) for one in linear.finditer(text)]
    assert places == [(*one.span(), one.groups()) for one in re.finditer(pattern, text)]
    assert linear.sub("-", text) == re.sub(pattern, "-", text)


def test_a_dollar_of_lines_beside_one_of_the_text_is_refused() -> None:
    with pytest.raises(LinearRegexError, match=r"`\$` outside of `\(\?m"):
        compile_linear("(?m:^)a$")


def test_a_text_with_every_control_character_has_no_last_line() -> None:
    assert not LinearPattern("a$").occurs_in(bytes(range(32)).decode() + "a\n")


@given(PATTERNS, TEXTS)
def test_a_pattern_finds_what_that_of_python_finds(pattern: str, text: str) -> None:
    wanted, found = re.search(pattern, text), LinearPattern(pattern).search(text)
    if wanted is None:
        assert found is None
    else:
        assert found is not None
        assert (found.whole, found.groups) == (wanted.group(), wanted.groups())
        assert (found.start, found.end) == wanted.span()


@pytest.mark.parametrize(
    "pattern",
    [
        r"(\d+) points",
        "(a+)+$",
        "(a|a)*b",
        "(.*?,){20}x",
        r"^(\w+\s?)*$",
        "(?s)(.*)(.*)(.*)x",
        "([a-z]+)*1",
        r"\s+$",
    ],
)
def test_a_text_made_to_be_slow_is_read_at_once(pattern: str) -> None:
    # With backtracking each of these takes hours, or longer than the universe is old.
    for text in ("1" * 300_000, "a" * 300_000, "a," * 150_000, " " * 300_000 + "x"):
        compile_linear(pattern).search(text + "!")


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(?=a)b", "look-ahead"),
        ("(?<=a)b", "look-behind"),
        ("(?!a)b", "negative look-ahead"),
        ("(?<!a)b", "list the allowed characters"),
        (r"(a)\1", "back-reference"),
        (r"(?i)(a)\1", "back-reference"),
        ("(?P<x>a)(?P=x)", "back-reference"),
        ("(a)(?(1)b|c)", "condition"),
        ("(?>a+)b", "atomic group"),
        ("a++b", "possessive"),
        ("(", "missing )"),
        ("a{2000}", "lower the counts"),
        (r"\w{1,900}", "lower the counts"),
        ("(" * 3000 + ")" * 3000, "nested too deep"),
        ("a" * 10_001, "more than 10,000 characters"),
        ("a{99999999999999999999}", "cannot be used"),
    ],
)
def test_what_cannot_be_linear_is_refused_with_its_pattern_and_what_to_do(pattern: str, said: str) -> None:
    with pytest.raises(LinearRegexError, match=re.escape(said)) as caught:
        compile_linear(pattern)
    assert repr(pattern[:100])[1:-1] in str(caught.value)


def test_a_large_pattern_does_not_meet_a_large_text() -> None:
    pattern = compile_linear(r"(?:\w{1,60}\s){2}x")
    assert pattern.search("ab cd x") is not None
    with pytest.raises(RegexTooCostlyError, match="10,000,000 characters"):
        pattern.search("a" * 10_000_000)


def test_an_end_also_stands_before_a_last_line_end() -> None:
    assert compile_linear("a$").occurs_in("ba\n")
    assert not compile_linear(r"a\Z").occurs_in("ba\n")
    assert not compile_linear("a$").occurs_in("a\nb")


def test_places_are_replaced_one_after_the_other() -> None:
    pattern = LinearPattern(r"(é)(\d)?")
    assert pattern.sub("*", "aé1bé") == "a*b*"
    assert pattern.sub(lambda found: found[1] + "\\1" + found[2], "é1é") == "é\\11é\\1"
    assert [found.start for found in pattern.finditer("aé1bé")] == [1, 4]


def test_ascii_only_knows_no_other_letters() -> None:
    pattern = LinearPattern(r"[\w-]+|\W", ascii_only=True)
    assert [found.whole for found in pattern.finditer("a-é٣")] == ["a-", "é", "٣"]
    assert LinearPattern("ä", ignore_case=True).matches("Ä")
