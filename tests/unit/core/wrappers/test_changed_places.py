"""Old places that give other values than before, and items without a class of their own."""

from __future__ import annotations

import pytest
from tests.unit.core.wrappers.pages import tree_of

from agentic.core.types import JSONValue
from agentic.core.wrappers import (
    Abstained,
    Found,
    Kind,
    Locator,
    LocatorKind,
    Observation,
    PageTree,
    StoredPage,
    Wrapper,
    learn,
    repair,
)
from agentic.core.wrappers.values import agreement

COOKS = ("Ada Byron", "Grace Murray Hopper")


def _learnt(name: str, selector: str, pages: list[tuple[PageTree, JSONValue]]) -> dict[str, Wrapper]:
    """Return the wrapper of one field after some pages."""
    is_list = isinstance(pages[0][1], list)
    locator = Locator(LocatorKind.CSS, selector)
    known = {name: Wrapper(name, Kind.TEXT, is_list, locators=(locator,))}
    for number, (tree, value) in enumerate(pages):
        there = locator.find(tree)
        known = learn(
            known, Observation(tree, str(number), {name: there if is_list else there[:1]}, {name: value})
        )
    return known


def _before(cook: str) -> PageTree:
    return tree_of(f"<main><h1>Soup</h1><p class='cook'>{cook}</p><p>Cut the onions.</p></main>")


def _after(shown: str, other: str) -> PageTree:
    return tree_of(
        f"<main><h1>Soup</h1><p class='cook'>{shown}</p><p>Cut the onions.</p>"
        f"<div class='card'><b>Author</b> <a class='author'>{other}</a></div></main>"
    )


@pytest.mark.parametrize("count", [1, 2])
def test_text_that_now_stands_among_other_words_is_found_at_the_place_that_has_it_alone(count: int) -> None:
    wrappers = _learnt("author", ".cook", [(_before(cook), cook) for cook in COOKS])
    pages = [StoredPage(_after(f"A recipe by {cook}", cook), {"author": cook}) for cook in COOKS[:count]]
    result = repair(wrappers, pages, ["author"])["author"]
    assert isinstance(result, Found)
    assert [one.new for one in result.evidence] == [(cook,) for cook in COOKS[:count]]


def test_text_that_has_changed_is_not_sought_elsewhere() -> None:
    wrappers = _learnt("author", ".cook", [(_before(cook), cook) for cook in COOKS])
    pages = [StoredPage(_after("Mary Jackson", cook), {"author": cook}) for cook in COOKS[:1]]
    result = repair(wrappers, pages, ["author"])["author"]
    assert isinstance(result, Abstained)
    assert "still gives values that fit" in result.reason


def test_old_place_that_looks_as_before_is_kept_although_the_stored_text_is_longer() -> None:
    cook = COOKS[0]
    wrappers = _learnt("author", ".cook", [(_before(cook), f"{cook}, chef")])
    pages = [StoredPage(_after(cook, f"{cook}, chef"), {"author": f"{cook}, chef"})]
    assert isinstance(repair(wrappers, pages, ["author"])["author"], Abstained)


AMOUNTS = ("2 cups", "1 kg", "300 g", "5 ml")
THINGS = ["plain flour", "cold butter", "brown sugar", "vanilla extract"]


@pytest.mark.parametrize(
    "cells", ["<p>{}</p><p>{}</p>", "<span class='a b'>{}</span><span class='a b'>{}</span>"]
)
def test_items_that_are_the_second_of_each_row_are_found_without_a_class(cells: str) -> None:
    old = tree_of("<main><ul>" + "".join(f"<li class='item'>{one}</li>" for one in THINGS) + "</ul></main>")
    rows = "".join(
        f"<div class='row'>{cells.format(amount, thing)}</div>"
        for amount, thing in zip(AMOUNTS, THINGS, strict=True)
    )
    new = tree_of(f"<main><h1>Cake</h1><div class='needs'>{rows}</div></main>")
    wrappers = _learnt("ingredients", ".item", [(old, [*THINGS])])
    result = repair(wrappers, [StoredPage(new, {"ingredients": [*THINGS]})], ["ingredients"])["ingredients"]
    assert isinstance(result, Found)
    assert [*result.place.texts] == THINGS
    assert [new.text(number) for number in result.locators[0].find(new)] == THINGS


@pytest.mark.parametrize(
    ("shown", "stored", "agrees"),
    [("4.7 of 5", 4.67, 0.9), ("4.67", 4.67, 1.0), ("4.6", 4.67, 0.0), ("5", 4.67, 0.0), ("4.67", 4.7, 0.0)],
)
def test_number_with_fewer_decimals_agrees_with_the_stored_one(
    shown: str, stored: float, agrees: float
) -> None:
    assert agreement(Kind.NUMBER, [shown], stored) == agrees


def test_title_of_a_drawing_is_not_the_title_of_the_page() -> None:
    tree = tree_of("<title>Soup</title><svg><title>Search</title></svg><button>Search</button>")
    assert tree.title == "soup"


def test_unit_of_a_field_does_not_speak_against_it() -> None:
    html = (
        "<main><ul><li>Prep <span>10 mins</span></li><li>Cook <span>40 mins</span></li>"
        "<li>Total <span class='total'>50 mins</span></li></ul></main>"
    )
    tree = tree_of(html + "<p>Cut the onions.</p>" * 60)
    locator = Locator(LocatorKind.CSS, ".total")
    wrapper = Wrapper("time", Kind.DURATION, locators=(locator,))
    seen = Observation(tree, "1", {"time": locator.find(tree)}, {"time": 50})
    assert set(learn({"time": wrapper}, seen)["time"].fingerprint.rivals) == {"prep", "cook"}
