"""Fields that are broken, their new places, and the proof on pages that they were not made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from tests.unit.core.pipeline.drift.healthy import pages, profile_of
from tests.unit.core.wrappers.pages import LAMPS, Lamp, html_of

from agentic.core.actors import Page
from agentic.core.pipeline.drift.profiles import Expectation, KindProfile
from agentic.core.pipeline.repairs.fields import (
    LookedAtPage,
    Values,
    broken_fields,
    find_places,
    is_same,
    most_telling,
    repaired_rule,
    shows_fault,
    tree_of,
)
from agentic.core.pipeline.repairs.proposals import RepairAbstention, RepairProposal
from agentic.core.pipeline.repairs.proving import (
    Findings,
    Proof,
    doubt,
    harmed_fields,
    judged,
    proved_places,
)
from agentic.core.types import JSONValue
from agentic.core.wrappers import Found, Locator, LocatorKind

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


def test_a_page_that_is_read_as_it_was_stored_shows_no_fault() -> None:
    lamp = LAMPS[0]
    as_before: dict[str, JSONValue] = {"title": lamp.title, "price": lamp.price, "parts": [*lamp.parts]}
    assert not shows_fault(page(lamp, as_before), FAULTS)
    assert not shows_fault(page(lamp, as_before), {"price": "odd"})
    assert shows_fault(page(lamp, {**as_before, "price": 1.0}), {"price": "odd"})
    unpriced = page(lamp, {**as_before, "price": None}, price=None)
    assert not shows_fault(unpriced, FAULTS)  # the stored row says that it has no price
    assert shows_fault(unpriced, {"price": "missing"})  # or an earlier run has emptied all prices
    for says_nothing in (replace(unpriced, row={}), replace(unpriced, is_suspect=True)):
        assert not shows_fault(says_nothing, FAULTS)
        assert shows_fault(says_nothing, {"price": "missing"})
        assert shows_fault(replace(says_nothing, item=dict.fromkeys(RULES)), FAULTS)


def test_a_value_with_a_label_before_it_is_not_read_as_it_was_stored() -> None:
    lamp = LAMPS[0]
    labelled = page(lamp, {"title": f"Name: {lamp.title}", "price": lamp.price, "parts": [*lamp.parts]})
    overwritten = replace(labelled, row=labelled.item, is_suspect=True)
    assert shows_fault(labelled, {"title": "odd"})
    assert broken_fields(RULES, [labelled, overwritten, overwritten], {"title": "odd"}) == {"title": "odd"}


def test_new_rules_that_change_pages_of_the_former_layout_are_known() -> None:
    as_before = [page(lamp, {"price": lamp.price}) for lamp in LAMPS[:2]]
    same: list[Values] = [{"price": lamp.price} for lamp in LAMPS[:2]]
    assert not harmed_fields({"price": "span"}, as_before, same)
    other: list[Values] = [same[0], {"price": None}]
    (why,) = harmed_fields({"price": "span"}, as_before, other).values()
    assert why == "the new place of 'price' changes 1 of 2 pages that are as before"


def test_fields_that_alarmed_or_are_gone_are_broken_and_no_others() -> None:
    read: dict[str, JSONValue] = {"title": None, "price": 1.0, "parts": ["one shade"]}
    looked_at = [page(lamp, {**read, "parts": [*lamp.parts]}) for lamp in LAMPS[:3]]
    assert broken_fields(RULES, looked_at, {"price": "odd"}) == {"title": "missing", "price": "odd"}
    right = [page(lamp, {**read, "price": lamp.price, "parts": [*lamp.parts]}) for lamp in LAMPS[:3]]
    assert broken_fields(RULES, right, {"price": "odd"}) == {"title": "missing"}


def test_new_places_are_found_by_rows_and_proved_on_other_pages() -> None:
    found = find_places(RULES, [page(lamp) for lamp in LAMPS[:2]], FAULTS, {})
    right: list[Values | None] = [
        {"title": lamp.title, "price": float(lamp.price), "parts": [*lamp.parts]} for lamp in LAMPS[:3]
    ]
    proof = Proof([page(lamp) for lamp in LAMPS[:2]], [page(LAMPS[2])], NOTHING_KNOWN, FAULTS)
    places, doubts = proved_places(RULES, found, [right] * 5, proof)
    assert ({*places} >= {"title", "price"}, doubts) == (True, {})
    new = {name: repaired_rule(RULES[name], one, "missing", is_part=False) for name, one in places.items()}
    repairs, checked = judged(RULES, Findings(found, doubts, new), ("schema",), right, proof)
    (price,) = [one for one in repairs if one.subject == "price"]
    assert isinstance(price, RepairProposal)
    (change,) = price.changes
    assert (checked, change.place, change.old) == (1, ("schema", "price"), RULES["price"])
    assert (price.evidence[0].old, price.evidence[0].new) == ("18.50", 18.5)
    assert isinstance(change.new, dict)
    assert change.new["type"] == "number"


def test_an_image_that_moved_to_another_attribute_and_host_is_found_and_proved() -> None:
    rule: JSONValue = {"selector": "img.main", "attr": "src", "type": "url", "required": True}
    looked_at = []
    for name in ("red-front-door", "oak-garden-gate", "tall-iron-fence"):
        image = f"https://cdn.example/w_90/{name}.webp"
        html = (
            f"<header><img src=/logo-of-shop.svg></header><figure><img class=lazy data-src={image}></figure>"
        )
        one = page(LAMPS[0], {"photo": None}, photo=f"https://shop.example/img/{name}.jpg")
        there = one.page.model_copy(update={"text": html})
        looked_at.append(replace(one, page=there, tree=tree_of(there)))
    found = find_places({"photo": rule}, looked_at[:2], {"photo": "missing"}, {})
    (photo,) = found.values()
    assert isinstance(photo, Found)
    proof = Proof(looked_at[:2], looked_at[2:], NOTHING_KNOWN, {"photo"})
    reading: list[Values | None] = [{"photo": photo.locators[0].read(one.tree)[0]} for one in looked_at]
    places, doubts = proved_places({"photo": rule}, found, [reading] * 5, proof)
    assert doubts == {}
    new = repaired_rule(rule, places["photo"], "missing", is_part=False)
    assert isinstance(new, dict)
    assert (new["attr"], new["type"], new["required"]) == ("data-src", "url", True)
    assert new["selector"] != "img.main"


@pytest.mark.parametrize("number", [10**400, float("inf"), float("nan")], ids=["long", "infinity", "nan"])
def test_numbers_of_rows_that_no_float_has_room_for_say_nothing(number: float) -> None:
    found = find_places(RULES, [page(lamp, price=number) for lamp in LAMPS[:3]], FAULTS, {})
    assert isinstance(found["title"], Found)
    assert not is_same(18.5, number)


def test_pages_with_many_values_of_their_own_come_first() -> None:
    common, rare, poor = page(LAMPS[0], price=0), page(LAMPS[1], price=7), page(LAMPS[2], title=None)
    others = [page(LAMPS[0], price=0) for _ in range(2)]
    assert most_telling([poor, common, *others, rare]) == [rare, common, *others, poor]


def test_places_that_are_wrong_on_other_pages_are_left_out_and_without_any_there_is_no_proposal() -> None:
    found = find_places(RULES, [page(lamp) for lamp in LAMPS[:2]], ["price"], {})
    one = found["price"]
    assert isinstance(one, Found)
    assert len(one.locators) > 1
    proof = Proof([], [page(LAMPS[2])], NOTHING_KNOWN, ["price"])
    wrong: list[Values | None] = [{"price": 77.0}]
    right: list[Values | None] = [{"price": 18.5}]
    places, _ = proved_places(RULES, found, [wrong, right, *[wrong] * 3], proof)
    assert places == {"price": [one.locators[1]]}
    places, doubts = proved_places(RULES, found, [wrong] * 5, proof)
    assert places == {}
    ((repair,), _) = judged(RULES, Findings(found, doubts, {}), ("schema",), right, proof)
    assert isinstance(repair, RepairAbstention)
    assert repair.reason == (
        "the new place of 'price' has another value than the stored row on 1 of 1 other pages"
    )


def test_a_place_that_gives_another_field_where_an_optional_one_is_missing_is_left_out() -> None:
    found = find_places(RULES, [page(lamp) for lamp in LAMPS[:2]], ["price"], {})
    one = found["price"]
    assert isinstance(one, Found)
    stock, loose = Locator(LocatorKind.CSS, "dl dd"), Locator(LocatorKind.CSS, "b, dl dd")
    found = {"price": replace(one, locators=(loose,))}
    right: list[list[Values | None]] = [[{"price": 18.5}]]
    needed = Proof([], [page(LAMPS[2])], NOTHING_KNOWN, ["price"])
    rules = {**RULES, "stock": stock.path}
    assert proved_places(rules, found, right, needed) == ({"price": [loose]}, {})
    some: list[dict[str, JSONValue]] = [
        {"price": number + 0.5 if number % 2 else None} for number in range(40)
    ]
    optional = replace(needed, expected=Expectation(profile_of([pages(some), pages(some)])))
    places, doubts = proved_places(rules, found, right, optional)
    assert (places, doubts["price"]) == (
        {},
        "the new place of 'price' gives another field on pages without 'price'",
    )


def test_new_rules_that_change_another_field_are_no_proposal() -> None:
    found = find_places(RULES, [page(lamp) for lamp in LAMPS[:2]], ["price"], {})
    reading: list[Values | None] = [{"title": "changed", "price": 18.5, "parts": None}]
    proof = Proof([], [page(LAMPS[2])], NOTHING_KNOWN, ["price"])
    ((repair,), _) = judged(RULES, Findings(found, {}, {"price": "b"}), ("schema",), reading, proof)
    assert isinstance(repair, RepairAbstention)
    assert "also change 'title', which is not broken" in repair.reason


def doubted(
    values: Sequence[JSONValue], rows: Sequence[JSONValue], expected: Expectation = NOTHING_KNOWN
) -> str:
    """Return the doubt about the new place of a price, by its values on pages and their stored ones."""
    pages_ = [page(LAMPS[0], price=row) for row in rows]
    return doubt("price", [{"price": value} for value in values], Proof([], pages_, expected, RULES))


@pytest.mark.parametrize(
    ("values", "rows", "why"),
    [
        ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], ""),
        ([1.0, 2.0, 9.0], [1.0, 2.0, 3.0], ""),
        ([None, None, None], [1.0, 2.0, 3.0], "no value on 3 of 3 other"),
        ([1.0, None, 3.0], [1.0, 2.0, 3.0], "no value on 1 of 3 other"),
        ([7.0, 8.0, 3.0], [1.0, 2.0, 3.0], "another value than the stored row on 2 of 3 other"),
        (["a lamp", "x", "c"], ["a lamp", "b", "c"], "another value than the stored row on 1 of 3 other"),
        ([1.0, None, 3.0], [1.0, None, 3.0], ""),
        ([1.0, 2.0, 3.0], [1.0, None, 3.0], "a value where the stored row has none on 1 of 1"),
        ([], [], ""),
    ],
)
def test_a_place_is_doubted_for_missing_values_and_for_other_values_than_stored(
    values: Sequence[JSONValue], rows: Sequence[JSONValue], why: str
) -> None:
    wanted = f"the new place of 'price' has {why} pages" if why else ""
    assert doubted(values, rows) == wanted


def test_a_row_without_all_broken_fields_and_the_row_of_a_suspect_say_nothing() -> None:
    empty = page(LAMPS[0], **dict.fromkeys(RULES))
    suspect = replace(page(LAMPS[0], price=None), is_suspect=True)
    proof = Proof([], [empty, suspect], NOTHING_KNOWN, RULES)
    assert doubt("price", [{"price": 1.0}, {"price": 2.0}], proof) == ""


def test_rows_that_all_lack_the_only_broken_field_say_nothing_about_it() -> None:
    emptied = [page(lamp, price=None) for lamp in LAMPS[:2]]
    values: list[Values] = [{"price": 1.0}, {"price": 2.0}]
    assert doubt("price", values, Proof([], emptied, NOTHING_KNOWN, ["price"])) == ""
    one_has = [emptied[0], page(LAMPS[1], price=2.0)]
    assert "row has none on 1 of 1" in doubt("price", values, Proof([], one_has, NOTHING_KNOWN, ["price"]))


def test_without_rows_a_place_is_doubted_by_the_values_of_healthy_pages() -> None:
    healthy: list[dict[str, JSONValue]] = [{"price": float(number)} for number in range(10, 60)]
    expected = Expectation(profile_of([pages(healthy), pages(healthy)]))

    def without_rows(values: Sequence[float]) -> str:
        looked_at = [replace(page(LAMPS[0]), row={}) for _ in values]
        return doubt("price", [{"price": value} for value in values], Proof([], looked_at, expected, RULES))

    assert without_rows([12.0, 13.0, 14.0, 15.0]) == ""
    assert "unlike all before on 4 of 4" in without_rows([9e6, 9e5, 9e6, 9e7])
    assert "the same value on 4" in without_rows([12.0] * 4)


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
        (-5.5, "-5.50", True),
        (5.5, "-5.50", False),
        (1299, "1,299 $", True),
        (12, "Room 12, floor 3", False),
        (3, "03/04/2024", False),
        (12, ["12", "13"], False),
        ("2024-03-05T01:00", "2024-03-05T23:30", False),
        ("https://cdn.example/w_90/red-front-door.webp", "https://a.example/red-front-door.jpg", True),
        ("https://a.example/red-front-door.jpg", "https://a.example/old-front-door.jpg", False),
        (["https://a.example/x/1"], ["http://www.a.example/x/1"], True),
    ],
)
def test_values_are_compared_as_they_were_stored(found: JSONValue, stored: JSONValue, *, same: bool) -> None:
    assert is_same(found, stored) is same


def test_old_places_stay_behind_the_new_ones_unless_they_found_something_wrong() -> None:
    found = find_places(RULES, [page(lamp) for lamp in LAMPS], ["title"], {})["title"]
    assert isinstance(found, Found)
    new = found.locators
    whole = repaired_rule(RULES["title"], new, "missing", is_part=False)
    part = repaired_rule(RULES["title"], new, "missing", is_part=True)
    odd = repaired_rule(RULES["title"], new, "odd", is_part=False)
    assert isinstance(whole, dict)
    assert isinstance(part, dict)
    assert whole["alternatives"][-1] == {"selector": "h1.product-title"}  # type: ignore[index]  # a list
    assert part["selector"] == "h1.product-title"
    assert "product-title" not in str(odd)
