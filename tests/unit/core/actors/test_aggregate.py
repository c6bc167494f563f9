"""Items brought together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.actors.aggregate import merge_items
from agentic.core.types import JSONValue

Item = dict[str, JSONValue]
items = st.lists(
    st.fixed_dictionaries(
        {"sku": st.one_of(st.none(), st.integers(0, 3))}, optional={"price": st.integers(0, 9)}
    )
)


@pytest.mark.requirement("SP20")
def test_items_with_one_key_become_one() -> None:
    found = merge_items([{"sku": 1, "title": "Lamp"}, {"sku": 2}, {"sku": 1, "price": 5}], ["sku"])
    assert found.items == ({"sku": 1, "title": "Lamp", "price": 5}, {"sku": 2})
    assert found.counts == {"received": 3, "kept": 2, "duplicates": 1, "without_key": 0}


def test_a_later_item_fills_what_an_earlier_one_lacks_and_changes_nothing_else() -> None:
    found = merge_items(
        [{"sku": 1, "title": None, "stock": 3}, {"sku": 1, "title": "Lamp", "stock": 9}], ["sku"]
    )
    assert found.items == ({"sku": 1, "title": "Lamp", "stock": 3},)


def test_without_a_key_every_item_is_kept() -> None:
    found = merge_items([{"sku": 1}, {"sku": 1}], [])
    assert found.items == ({"sku": 1}, {"sku": 1})
    assert found.counts["without_key"] == 0


def test_items_that_lack_a_part_of_the_key_are_kept_and_counted() -> None:
    found = merge_items([{"shop": "a", "sku": 1}, {"shop": "a"}, {"shop": "a"}], ["shop", "sku"])
    assert found.counts == {"received": 3, "kept": 3, "duplicates": 0, "without_key": 2}


def test_a_number_and_its_text_are_two_keys() -> None:
    assert merge_items([{"sku": 1}, {"sku": "1"}], ["sku"]).counts["kept"] == 2


@given(items)
def test_aggregating_again_changes_nothing(found: list[Item]) -> None:
    once = merge_items(found, ["sku"])
    assert merge_items(once.items, ["sku"]).items == once.items


@given(items)
def test_every_item_is_kept_or_counted_as_a_duplicate(found: list[Item]) -> None:
    counts = merge_items(found, ["sku"]).counts
    assert counts["received"] == len(found) == counts["kept"] + counts["duplicates"]
