"""Keys of JSON that were renamed or moved, found by stored values."""

from __future__ import annotations

from typing import cast

import pytest
from tests.unit.core.pipeline.repairs.sites import HOME, ROWS

from agentic.core.pipeline.repairs.json_keys import (
    FoundItems,
    broken_fields,
    find_fields,
    find_items,
    found_at,
    is_gone,
)
from agentic.core.pipeline.repairs.paths import PathChoice, agrees
from agentic.core.types import JSONValue

OLD = {"title": "title", "price": "price"}


def item(row: dict[str, JSONValue], **more: JSONValue) -> dict[str, JSONValue]:
    """Return an item after the redesign of the endpoint."""
    address = str(row["url"]).removeprefix(HOME)
    return {
        "id": address.rpartition("/")[2],
        "names": {"full": row["title"], "short": str(row["title"]).split()[0]},
        "cost": {"value": float(str(row["price"])), "currency": "EUR"},
        "links": {"self": address},
        **more,
    }


def items(data: JSONValue) -> FoundItems:
    found = find_items(data, ROWS[:6])
    assert isinstance(found, FoundItems), found
    return found


def paths(data: JSONValue, wanted: dict[str, str] | None = None, **more: list[JSONValue]) -> dict[str, str]:
    found = find_fields(items(data), wanted or OLD, [*more.values()], HOME)
    return {name: one.path if isinstance(one, PathChoice) else f"? {one}" for name, one in found.items()}


NEW: list[JSONValue] = [cast(JSONValue, item(row)) for row in ROWS]


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({"data": {"tools": NEW, "total": 12}}, "data.tools"),
        (NEW, None),
        ({"pages": [{"rows": NEW[:3]}, {"rows": NEW[3:]}]}, "pages[].rows[]"),
        ({"my tools": NEW}, '"my tools"'),
        ({"edges": [{"node": one} for one in NEW]}, "edges"),
    ],
)
def test_list_that_moved_is_found_by_the_stored_rows_in_it(data: JSONValue, path: str | None) -> None:
    found = items(data)
    assert (found.path, len(found.items), len(found.pairs), found.score) == (path, 12, 6, 1.0)


def test_fields_are_found_at_their_new_keys_and_deeper() -> None:
    assert paths({"tools": NEW}) == {"title": "names.full", "price": "cost.value"}
    assert paths({"edges": [{"node": one} for one in NEW]})["title"] == "node.names.full"
    assert paths({"tools": NEW}, {"url": "link"}) == {"url": "links.self"}


def test_list_beside_the_items_is_not_taken() -> None:
    assert "no list in the answer has 3 of the 6 stored rows" in str(
        find_items({"recentlyViewed": NEW[:6], "tools": []}, ROWS[:6])
    )
    assert items({"recommended": NEW[:6], "tools": NEW}).path == "tools"


def test_two_lists_with_all_rows_are_left_to_a_person() -> None:
    assert "it is unclear which" in str(find_items({"a": NEW, "b": NEW}, ROWS[:6]))


def test_two_keys_with_equal_values_are_left_to_a_person_unless_a_name_decides() -> None:
    twice = [cast(JSONValue, item(row, now=row["price"], then=row["price"])) for row in ROWS]
    assert paths({"tools": twice})["price"].startswith(
        "? 'cost.value', 'now', 'then' have the values of 'price'"
    )
    named = [cast(JSONValue, item(row, pricing={"price": row["price"], "max": row["price"]})) for row in ROWS]
    assert paths({"tools": named})["price"] == "pricing.price"


def test_earlier_price_of_a_sale_is_not_taken_for_the_price() -> None:
    on_sale = [
        cast(JSONValue, {"t": row["title"], "listPrice": row["price"], "current": "1.99"}) for row in ROWS
    ]
    assert paths({"tools": on_sale})["price"].endswith("but its name is one of earlier values")


def test_small_numbers_that_agree_by_chance_are_not_taken() -> None:
    few = [cast(JSONValue, {"t": row["title"], "stars": row["stock"]}) for row in ROWS]
    assert paths({"tools": few[:3]}, {"stock": "stock"})["stock"].startswith(
        "? no place has the stored values"
    )
    assert paths({"tools": [{"t": row["title"], "stock_left": row["stock"]} for row in ROWS]},
                 {"stock": "stock_left"})["stock"] == "stock_left"  # fmt: skip


def test_field_that_is_gone_is_not_replaced() -> None:
    without = [{"names": {"full": row["title"]}} for row in ROWS]
    assert (
        paths({"tools": cast(JSONValue, without)})["price"] == "? no place has the stored values of 'price'"
    )


def test_path_must_give_values_on_the_next_page_too() -> None:
    empty: list[JSONValue] = [{"names": {"full": None}, "cost": {"value": 3.0}}]
    found = paths({"tools": NEW}, page_2=empty)
    assert (
        found["title"]
        == "? 'names.full' has the stored values of 'title', but gives nothing on the next page"
    )
    assert found["price"] == "cost.value"


def test_field_whose_path_still_gives_values_is_not_broken() -> None:
    found = found_at("tools", {"tools": NEW}, ROWS[:6])
    assert found is not None
    assert broken_fields({"title": "names.full", "price": "price"}, found.items, found.pairs) == ["price"]


def test_key_with_null_is_not_gone() -> None:
    assert not is_gone("meta.next", {"meta": {"next": None}})
    assert not is_gone("meta.next", {"meta": None})
    assert is_gone("meta.next", {"meta": {}})
    assert not is_gone("meta.next || other", {"meta": {}})


@pytest.mark.parametrize(
    ("found", "stored", "is_same"),
    [
        ("1,299.00 EUR", 1299, True),
        ("1.299,00 €", 1299.0, True),
        ("1 299,50", 1299.5, True),
        ("1.299", 1299, True),
        ("1.299", 1.299, True),
        ("12.90", {"amount": 12.9, "currency": "EUR"}, True),
        ("1.299.000", 1299000, True),
        ("Claw hammer no. 1", 1, False),
        (1, True, False),
        ("12.91", 12.9, False),
        (["a", "b"], ["a", "b"], True),
        ([], [], False),
    ],
)
def test_values_agree_in_any_spelling(found: JSONValue, stored: JSONValue, is_same: bool) -> None:
    assert agrees(found, stored) is is_same


@pytest.mark.parametrize("number", [10**400, float("inf"), float("nan")], ids=["long", "infinity", "nan"])
def test_numbers_that_no_float_has_room_for_agree_with_nothing(number: float) -> None:
    assert not agrees(number, 5)
    assert not agrees("5", number)
