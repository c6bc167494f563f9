"""Fields that are broken, their new places, and the proof on pages that they were not made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from tests.unit.core.pipeline.drift.healthy import pages, profile_of
from tests.unit.core.wrappers.pages import LAMPS, Lamp, html_of

from agentic.core.actors import Page
from agentic.core.pipeline.drift.profiles import Expectation, KindProfile
from agentic.core.pipeline.repairs.fields import (
    LookedAtPage,
    Proof,
    broken_fields,
    doubt,
    find_places,
    is_same,
    judged,
    repaired_rule,
    tree_of,
)
from agentic.core.pipeline.repairs.proposals import RepairAbstention, RepairProposal
from agentic.core.types import JSONValue
from agentic.core.wrappers import Found

RULES: Mapping[str, JSONValue] = {
    "title": "h1.product-title",
    "price": {"selector": "span.price", "type": "number"},
    "parts": {"selector": "ul.parts li", "list": True},
}
NOTHING_KNOWN = Expectation(KindProfile())
FAULTS: Any = dict.fromkeys(RULES, "missing")


def page(lamp: Lamp, item: Mapping[str, JSONValue] | None = None, **row: JSONValue) -> LookedAtPage:
    url = f"https://shop.example/{lamp.key}"
    found = Page(
        url=url,
        final_url=url,
        status=200,
        content_type="text/html",
        text=html_of(lamp, is_new=True),
        content_hash="0",
        fetched_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    values = dict.fromkeys(RULES) if item is None else item
    return LookedAtPage(found, values, {**cast(Mapping[str, JSONValue], lamp.row), **row}, tree_of(found))


def proof(
    values: Sequence[JSONValue], rows: Sequence[JSONValue], expected: Expectation = NOTHING_KNOWN
) -> Proof:
    """Return pages where the new place of a price gives some values, and others are stored."""
    pages_ = [page(LAMPS[0], price=row) for row in rows]
    return Proof(pages_, [{"price": value} for value in values], expected)


def test_fields_that_alarmed_or_are_gone_are_broken_and_no_others() -> None:
    read: dict[str, JSONValue] = {"title": None, "price": 1.0, "parts": ["one shade"]}
    looked_at = [page(lamp, {**read, "parts": [*lamp.parts]}) for lamp in LAMPS[:3]]
    assert broken_fields(RULES, looked_at, {"price": "odd"}) == {"title": "missing", "price": "odd"}
    right = [page(lamp, {**read, "price": lamp.price, "parts": [*lamp.parts]}) for lamp in LAMPS[:3]]
    assert broken_fields(RULES, right, {"price": "odd"}) == {"title": "missing"}


def test_new_places_are_found_by_rows_and_proved_on_other_pages() -> None:
    makers, provers = [page(lamp) for lamp in LAMPS[:2]], [page(LAMPS[2])]
    found = find_places(RULES, makers, FAULTS, {})
    places = {name: one for name, one in found.items() if isinstance(one, Found)}
    new = {name: repaired_rule(RULES[name], one, "missing", is_part=False) for name, one in places.items()}
    assert {"title", "price"} <= new.keys()
    items: list[dict[str, JSONValue]] = [{"title": "Paper Moon", "price": 18.5, "parts": [*LAMPS[2].parts]}]
    repairs, checked = judged(
        RULES, new, found, ("steps", 0, "detail", "config", "schema"), Proof(provers, items, NOTHING_KNOWN)
    )
    assert checked == 1
    (price,) = [one for one in repairs if one.subject == "price"]
    assert isinstance(price, RepairProposal)
    (change,) = price.changes
    assert change.place == ("steps", 0, "detail", "config", "schema", "price")
    assert (change.old, price.evidence[0].new) == (RULES["price"], 18.5)
    assert isinstance(change.new, dict)
    assert change.new["type"] == "number"


def test_a_new_place_that_is_wrong_on_other_pages_is_no_proposal() -> None:
    makers, provers = [page(lamp) for lamp in LAMPS[:2]], [page(LAMPS[2])]
    found = find_places(RULES, makers, ["price"], {})
    items: list[dict[str, JSONValue]] = [{"title": None, "price": 77.0, "parts": None}]
    repairs, _ = judged(RULES, {"price": "b"}, found, ("p",), Proof(provers, items, NOTHING_KNOWN))
    (price,) = repairs
    assert isinstance(price, RepairAbstention)
    assert (
        price.reason == "the new place of 'price' has another value than the stored row on 1 of 1 other pages"
    )


def test_new_rules_that_change_another_field_are_no_proposal() -> None:
    found = find_places(RULES, [page(lamp) for lamp in LAMPS[:2]], ["price"], {})
    items: list[dict[str, JSONValue]] = [{"title": "changed", "price": 18.5, "parts": None}]
    ((repair,), _) = judged(
        RULES, {"price": "b"}, found, ("p",), Proof([page(LAMPS[2])], items, NOTHING_KNOWN)
    )
    assert isinstance(repair, RepairAbstention)
    assert "also change 'title', which is not broken" in repair.reason


@pytest.mark.parametrize(
    ("values", "rows", "why"),
    [
        ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], ""),
        ([1.0, 2.0, 9.0], [1.0, 2.0, 3.0], ""),
        ([None, None, None], [1.0, 2.0, 3.0], "no value on 3 of 3"),
        ([1.0, None, 3.0], [1.0, 2.0, 3.0], "no value on 1 of 3"),
        ([7.0, 8.0, 3.0], [1.0, 2.0, 3.0], "another value than the stored row on 2 of 3"),
        ([1.0, 2.0, 3.0], [None, None, None], ""),
        ([], [], ""),
    ],
)
def test_a_place_is_doubted_for_missing_values_and_for_other_values_than_stored(
    values: Sequence[JSONValue], rows: Sequence[JSONValue], why: str
) -> None:
    assert doubt("price", proof(values, rows)) == (
        f"the new place of 'price' has {why} other pages" if why else ""
    )


def test_without_rows_a_place_is_doubted_by_the_values_of_healthy_pages() -> None:
    healthy: list[dict[str, JSONValue]] = [{"price": float(number)} for number in range(10, 60)]
    expected = Expectation(profile_of([pages(healthy), pages(healthy)]))
    nothing = [None] * 4
    assert doubt("price", proof([12.0, 13.0, 14.0, 15.0], nothing, expected)) == ""
    assert "unlike all before on 4 of 4" in doubt("price", proof([9e6, 9e5, 9e6, 9e7], nothing, expected))
    assert "the same value on 4" in doubt("price", proof([12.0] * 4, nothing, expected))


@pytest.mark.parametrize(
    ("found", "stored", "same"),
    [
        (1.5, 1.5, True),
        (1.5, 2, False),
        ({"amount": 9.5, "currency": "EUR"}, {"amount": 9.5, "currency": "EUR"}, True),
        ("A  Lamp", "a lamp", True),
        ("A Lamp", "A Chair", False),
        (["a shade", "a bulb"], ["a shade", "a bulb"], True),
        (None, "", True),
        (None, "a", False),
    ],
)
def test_values_are_compared_as_they_were_stored(found: JSONValue, stored: JSONValue, *, same: bool) -> None:
    assert is_same(found, stored) is same


def test_old_places_stay_behind_the_new_ones_unless_they_found_something_wrong() -> None:
    found = find_places(RULES, [page(lamp) for lamp in LAMPS], ["title"], {})["title"]
    assert isinstance(found, Found)
    whole = repaired_rule(RULES["title"], found, "missing", is_part=False)
    part = repaired_rule(RULES["title"], found, "missing", is_part=True)
    odd = repaired_rule(RULES["title"], found, "odd", is_part=False)
    assert isinstance(whole, dict)
    assert isinstance(part, dict)
    assert whole["alternatives"][-1] == {"selector": "h1.product-title"}  # type: ignore[index]  # a list
    assert part["selector"] == "h1.product-title"
    assert "product-title" not in str(odd)
