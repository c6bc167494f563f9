"""Fields found again after a redesign, or not at all."""

from __future__ import annotations

from typing import cast

from tests.unit.core.wrappers.pages import LAMPS, SELECTORS, Lamp, learnt, new_page, old_page

from agentic.core.types import JSONValue
from agentic.core.wrappers import Abstained, Found, StoredPage, choose, repair

FIELDS = sorted(SELECTORS)


def _row(lamp: Lamp) -> dict[str, JSONValue]:
    return cast(dict[str, JSONValue], lamp.row)


def _with_rows() -> list[StoredPage]:
    return [StoredPage(new_page(lamp), _row(lamp)) for lamp in LAMPS]


def test_fields_with_stored_rows_are_found_on_all_pages() -> None:
    results = repair(learnt(), _with_rows(), FIELDS)
    assert {name for name, result in results.items() if isinstance(result, Found)} == set(FIELDS)
    for name, result in results.items():
        assert isinstance(result, Found)
        for lamp, seen in zip(LAMPS, result.evidence, strict=True):
            assert seen.url == f"https://shop.example/{lamp.key}"
            assert seen.old == lamp.row[name]
            expected = lamp.row[name]
            shown = [*seen.new] if isinstance(expected, list) else seen.new[0].removesuffix(" g")
            assert shown == (expected if isinstance(expected, list) else str(expected))


def test_locators_of_a_repaired_field_hold_on_a_page_that_the_repair_has_not_seen() -> None:
    results = repair(learnt(), _with_rows()[:2], FIELDS)
    tree = new_page(LAMPS[2])
    for name, result in results.items():
        assert isinstance(result, Found), name
        numbers = result.locators[0].find(tree)
        texts = [tree.text(number).removesuffix(" g") for number in numbers]
        expected = LAMPS[2].row[name]
        assert (texts if isinstance(expected, list) else texts[0]) == (
            expected if isinstance(expected, list) else str(expected)
        )


def test_locators_have_no_names_that_a_build_made() -> None:
    results = repair(learnt(), _with_rows(), FIELDS)
    first = {name: one.locators[0].path for name, one in results.items() if isinstance(one, Found)}
    made = ("css-", "k2j3h4", "x81kd")
    assert {name for name, path in first.items() if any(word in path for word in made)} == {"about"}
    # Nothing but such names is around the text about a lamp.


def test_title_and_list_are_found_where_nothing_is_stored() -> None:
    pages = [StoredPage(new_page(lamp)) for lamp in LAMPS]
    results = repair(learnt(), pages, ["title", "weight"])
    title = results["title"]
    assert isinstance(title, Found)
    assert [seen.new for seen in title.evidence] == [(lamp.title,) for lamp in LAMPS]


def test_field_that_is_gone_is_not_replaced_by_another() -> None:
    pages = []
    for lamp in LAMPS:
        price = f"<span>Price</span> <b>{lamp.price}</b>"
        pages.append(StoredPage(new_page(lamp, about=f"<p>{lamp.about}</p>", price=price), _row(lamp)))
    results = repair(learnt(), pages, ["about", "price"])
    assert isinstance(results["about"], Abstained)
    assert isinstance(results["price"], Abstained)
    assert "probability" in results["price"].reason


def test_fields_that_are_not_broken_are_left_alone() -> None:
    pages = [StoredPage(old_page(lamp), _row(lamp)) for lamp in LAMPS]
    assert repair(learnt(), pages, []) == {}


def test_abstained_field_offers_ten_places_at_most_and_a_chosen_one_is_checked() -> None:
    wrappers, pages = learnt(), [StoredPage(new_page(lamp)) for lamp in LAMPS]
    result = repair(wrappers, pages, ["price"], accept=1.1)["price"]
    assert isinstance(result, Abstained)
    assert 0 < len(result.choices) <= 10
    price = next(choice for choice in result.choices if choice.texts == (LAMPS[0].price,))
    assert price.label == "Price"
    chosen = choose(wrappers, pages, "price", price)
    assert isinstance(chosen, Found)
    assert [seen.new[0] for seen in chosen.evidence] == [lamp.price for lamp in LAMPS]


def test_without_pages_nothing_is_decided() -> None:
    results = repair(learnt(), [], ["title"])
    assert results["title"] == Abstained("no page of the new layout is given", 0.0, ())


def test_same_pages_give_the_same_result() -> None:
    def once() -> object:
        return [
            (name, result.locators if isinstance(result, Found) else result.reason)
            for name, result in repair(learnt(), _with_rows(), FIELDS).items()
        ]

    assert once() == once()
