from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from enum import Enum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.types import JSONValue
from agentic.mappers import clean, content_hash
from agentic.mappers.content import MAX_DEPTH

json_values: st.SearchStrategy[JSONValue] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("aé漢"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("kö"), inner, max_size=4),
    max_leaves=12,
)


class Colour(Enum):
    RED = "red"


@given(json_values)
def test_json_stays_as_it_is(value: JSONValue) -> None:
    assert clean(value) == (value, [])


@pytest.mark.requirement("PL31")
def test_what_is_no_json_is_removed_and_named() -> None:
    kept, removed = clean({"id": 1, "client": object(), "tags": ["a", {1, 2}], "ratio": float("nan")})
    assert kept == {"id": 1, "tags": ["a"]}
    assert removed == [
        "client was removed: a object is not JSON",
        "tags.1 was removed: a set is not JSON",
        "ratio was removed: nan is not JSON",
    ]


def test_a_value_that_is_no_json_at_all_becomes_none() -> None:
    assert clean(object()) == (None, ["the value was removed: a object is not JSON"])


def test_dates_enum_members_tuples_and_number_keys_become_json() -> None:
    given = {"at": datetime(2026, 1, 2, tzinfo=UTC), "day": date(2026, 1, 2), "c": Colour.RED, 7: (1, 2)}
    kept, removed = clean(given)
    assert kept == {"at": "2026-01-02T00:00:00+00:00", "day": "2026-01-02", "c": "red", "7": [1, 2]}
    assert removed == []


def test_a_structure_that_contains_itself_is_cut() -> None:
    loop: dict[str, object] = {"name": "loop"}
    loop["again"] = loop
    assert clean(loop) == ({"name": "loop"}, ["again was removed: it contains itself"])


def test_a_part_used_twice_is_kept_twice() -> None:
    part = {"at": date(2026, 1, 2)}
    assert clean([part, part]) == ([{"at": "2026-01-02"}, {"at": "2026-01-02"}], [])


def test_what_is_nested_too_deep_is_cut() -> None:
    deep: object = "bottom"
    for _ in range(100_000):
        deep = [deep]
    kept, removed = clean(deep)
    assert json.dumps(kept).count("[") == MAX_DEPTH
    assert "nested deeper" in removed[0]


def test_text_no_database_stores_is_repaired() -> None:
    assert clean({"title": "a\0b", "half": "x\ud83d", "whole": "😀"}) == (
        {"title": "ab", "half": "x?", "whole": "😀"},
        [],
    )


def test_the_hash_does_not_depend_on_order_number_form_or_zone() -> None:
    noon = datetime(2026, 1, 2, 12, tzinfo=UTC)
    tokyo = noon.astimezone(timezone(timedelta(hours=9)))
    assert content_hash({"a": 1, "at": noon}) == content_hash({"at": tokyo, "a": 1.0})


def test_an_absent_value_counts_as_none() -> None:
    assert content_hash({"a": 1, "b": None}) == content_hash({"a": 1})


def test_the_hash_tells_values_apart() -> None:
    assert len({content_hash({"a": value}) for value in (1, 1.5, "1", True, [1], {"x": 1}, "")}) == 7


def test_the_hash_is_the_same_in_every_process() -> None:
    assert content_hash({"title": "é"}).startswith("cbb1c4d4d26b7c04")
