"""Items brought together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.actors import ActorContext, AggregateActor, AggregateInput, AggregateOutput
from agentic.core.actors.aggregate import count_groups, merge_items, sort_items
from agentic.core.http import Fetcher, HttpPolicy
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


async def aggregate(**given: object) -> AggregateOutput:
    context = ActorContext(http=Fetcher(HttpPolicy(), None))  # type: ignore[arg-type]  # nothing is fetched
    return await AggregateActor().run(context, AggregateInput.model_validate(given))


@pytest.mark.parametrize(
    ("field", "order"),
    [
        ("price", [2, 10, "9", "n/a", None]),
        ("-price", ["n/a", "9", 10, 2, None]),
        ("size", [10, "9", 2, None, "n/a"]),
    ],
)
def test_items_are_sorted_by_a_field_and_those_without_it_come_last(
    field: str, order: list[JSONValue]
) -> None:
    prices: list[JSONValue] = [10, "9", 2, None, "n/a"]
    found = sort_items([{"price": price} for price in prices], field)
    assert [item["price"] for item in found] == order


@given(st.lists(st.fixed_dictionaries({"n": st.one_of(st.integers(), st.text(), st.none(), st.booleans())})))
def test_sorting_again_changes_nothing(found: list[Item]) -> None:
    once = sort_items(found, "n")
    assert sort_items(once, "n") == once
    assert sorted(map(repr, once)) == sorted(map(repr, found))


def test_groups_are_counted_the_most_frequent_first() -> None:
    found: list[Item] = [{"tag": "b"}, {"tag": "a"}, {"tag": "a"}, {"tag": 1}, {}, {"tag": ["x"]}]
    assert list(count_groups(found, "tag").items()) == [
        ("a", 2),
        ("b", 1),
        ("1", 1),
        ("null", 1),
        ('["x"]', 1),
    ]


async def test_a_limit_is_applied_when_all_are_merged_sorted_and_counted() -> None:
    items = [{"sku": 1, "price": 5}, {"sku": 2, "price": 9}, {"sku": 1, "stock": 3}, {"sku": 3, "price": 7}]
    found = await aggregate(items=items, key="sku", sort_by="-price", limit=2, group_by="stock")
    assert found.items == ({"sku": 2, "price": 9}, {"sku": 3, "price": 7})
    assert found.counts == {"received": 4, "kept": 2, "duplicates": 1, "without_key": 0, "left_out": 1}
    assert found.groups == {"null": 2, "3": 1}


async def test_without_further_wishes_items_are_merged_only() -> None:
    found = await aggregate(items=[{"sku": 2}, {"sku": 1}])
    assert (found.items, found.groups) == (({"sku": 2}, {"sku": 1}), {})
    assert "left_out" not in found.counts
