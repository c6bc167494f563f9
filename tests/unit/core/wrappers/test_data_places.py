"""Places in the data of pages: found by stored values, added beside shown places, offered to a chooser."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tests.unit.core.wrappers.pages import tree_of

from agentic.core.types import JSONValue
from agentic.core.wrappers import (
    Abstained,
    Found,
    Kind,
    Locator,
    LocatorKind,
    StoredPage,
    Wrapper,
    choose,
    repair,
    wrapper_of_values,
)

PRICE = Locator(LocatorKind.JSONLD, "Product.offers.price")
LAMPS = (("Amber Desk Lamp", "49.90"), ("Tall Reading Light", "120.00"), ("Paper Moon", "18.50"))


def _pages(*, body: str, with_rows: bool, lamps: Sequence[tuple[str, str]] = LAMPS) -> list[StoredPage]:
    pages = []
    for title, price in lamps:
        data = {"@type": "Product", "name": title, "sku": price, "offers": {"price": price}}
        shown = body.format(title=title, price=price)
        tree = tree_of(f'<script type="application/ld+json">{json.dumps(data)}</script>{shown}')
        pages.append(StoredPage(tree, {"price": price, "title": title} if with_rows else None))
    return pages


def _wrappers(old: str = ".old") -> dict[str, Wrapper]:
    values: list[JSONValue] = [price for _, price in LAMPS]
    locators = [Locator(LocatorKind.CSS, old)]
    return {"price": wrapper_of_values("price", values, kind=Kind.NUMBER, locators=locators)}


def test_value_that_is_no_longer_shown_is_found_in_data_by_its_stored_values() -> None:
    result = repair(_wrappers(), _pages(body="<p>A lamp</p>", with_rows=True), ["price"])["price"]
    assert isinstance(result, Found)
    assert result.locators[0] == result.place.locator == PRICE
    assert [one.new for one in result.evidence] == [(price,) for _, price in LAMPS]


def test_value_in_data_is_offered_where_more_sureness_is_asked_for() -> None:
    pages = _pages(body="<p>A lamp</p>", with_rows=True)
    result = repair(_wrappers(), pages, ["price"], accept=0.95)["price"]
    assert isinstance(result, Abstained)
    assert PRICE in [choice.locator for choice in result.choices]


def test_shown_value_has_the_same_value_in_data_as_an_alternative() -> None:
    body = "<h1>{title}</h1><dl><dt>Price</dt><dd>{price}</dd></dl>"
    result = repair(_wrappers(), _pages(body=body, with_rows=True), ["price"])["price"]
    assert isinstance(result, Found)
    assert result.place.locator is None
    assert PRICE in result.locators[1:]


def test_data_is_offered_but_not_taken_where_nothing_is_stored() -> None:
    wrappers, pages = _wrappers(), _pages(body="<p>A lamp</p>", with_rows=False)
    result = repair(wrappers, pages, ["price"])["price"]
    assert isinstance(result, Abstained)
    offered = next(choice for choice in result.choices if choice.locator == PRICE)
    assert offered.texts == ("49.90",)
    chosen = choose(wrappers, pages, "price", offered)
    assert isinstance(chosen, Found)
    assert [one.new for one in chosen.evidence] == [(price,) for _, price in LAMPS]


def test_chosen_data_that_some_pages_do_not_have_is_refused() -> None:
    wrappers, pages = _wrappers(), _pages(body="<p>A lamp</p>", with_rows=False)
    result = repair(wrappers, pages, ["price"])["price"]
    offered = next(choice for choice in result.choices if choice.locator == PRICE)
    bare = StoredPage(tree_of("<p>A lamp</p>"))
    refused = choose(wrappers, [*pages, bare], "price", offered)
    assert isinstance(refused, Abstained)
    assert "holds nothing on some of the pages" in refused.reason


def test_stored_value_of_one_page_is_not_taken_from_data_with_another_name() -> None:
    data = {"@type": "Product", "sku": "49.90"}
    html = f'<script type="application/ld+json">{json.dumps(data)}</script><p>A lamp</p>'
    result = repair(_wrappers(), [StoredPage(tree_of(html), {"price": "49.90"})], ["price"])["price"]
    assert isinstance(result, Abstained)


def test_number_of_one_page_is_not_taken_from_data_even_with_its_name() -> None:
    wrappers = {"rating": wrapper_of_values("rating", [5], kind=Kind.NUMBER)}
    data = {"@type": "Review", "rating": {"bestRating": 5}}
    html = f'<script type="application/ld+json">{json.dumps(data)}</script><p>A lamp</p>'
    result = repair(wrappers, [StoredPage(tree_of(html), {"rating": 5})], ["rating"])["rating"]
    assert isinstance(result, Abstained)


def test_place_in_data_that_still_gives_a_value_is_left_alone() -> None:
    wrappers = {"price": wrapper_of_values("price", ["49.90"], kind=Kind.NUMBER, locators=[PRICE])}
    body = "<dl><dt>Price</dt><dd>{price}</dd></dl>"
    result = repair(wrappers, _pages(body=body, with_rows=True), ["price"])["price"]
    assert isinstance(result, Abstained)
    assert "still gives values that fit" in result.reason
