"""Redesigns that write values otherwise, and pages where only a lookalike of the value is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
    StoredPage,
    Wrapper,
    learn,
    observation_of,
    repair,
)
from agentic.core.wrappers.values import agreement, is_telling

Row = dict[str, JSONValue]
PRODUCTS: tuple[Row, ...] = (
    {"title": "Aurora Desk", "price": 1299.0, "old_price": 1499.0, "reviews": 1234, "released": "2024-03-05"},
    {"title": "Oak Chair", "price": 89.95, "old_price": 119.5, "reviews": 873, "released": "2023-11-28"},
    {"title": "Tall Shelf", "price": 245.5, "old_price": 325.0, "reviews": 3402, "released": "2024-04-17"},
)
DAYS = {
    "2024-03-05": ("March 5, 2024", "5. März 2024"),
    "2023-11-28": ("November 28, 2023", "28. November 2023"),
    "2024-04-17": ("April 17, 2024", "17. April 2024"),
}
KINDS = {"price": Kind.NUMBER, "old_price": Kind.NUMBER, "reviews": Kind.NUMBER}
HEAD = "<header><a>Shop</a><ul><li>Home</li><li>Contact</li></ul></header>"


def _dollars(amount: object) -> str:
    return f"${amount:,.2f}"


def _euros(amount: object) -> str:
    return f"{amount:,.2f}".translate(str.maketrans(",.", ".,")) + " €"


def _old(row: Row) -> str:
    return (
        f"{HEAD}<main><h1 class='title'>{row['title']}</h1><p class='reviews'>{row['reviews']:,} reviews</p>"
        f"<p class='was'>{_dollars(row['old_price'])}</p><p class='now'>{_dollars(row['price'])}</p>"
        f"<p class='out'>{DAYS[str(row['released'])][0]}</p></main>"
    )


def _new(row: Row, money: Callable[[object], str] = _dollars, language: int = 0) -> str:
    return (
        f"{HEAD}<div class='css-1a'><h1 class='css-2b'>{row['title']}</h1><div class='css-3c'>"
        f"<span class='css-4d'>{money(row['price'])}</span> "
        f"<del class='css-5e'>{money(row['old_price'])}</del>"
        f"</div><a class='css-6f'>{row['reviews']:,} ratings</a>"
        f"<p class='css-7g'>{DAYS[str(row['released'])][language]}</p></div>{_others(money)}"
    )


def _others(money: Callable[[object], str] = _dollars, price: float = 59.0, old: float = 79.0) -> str:
    """Return a block of other products."""
    cards = ((price, old), (39.9, 49.9))
    return "<section><h2>You may also like</h2>" + "".join(
        f"<div class='c1'><a>Walnut Box</a><span>{money(one)}</span><s>{money(two)}</s></div>"
        for one, two in cards
    )


def _learnt() -> dict[str, Wrapper]:
    places = {
        "title": ".title",
        "price": ".now",
        "old_price": ".was",
        "reviews": ".reviews",
        "released": ".out",
    }
    known = {
        name: Wrapper(name, KINDS.get(name, Kind.TEXT), locators=(Locator(LocatorKind.CSS, place),))
        for name, place in places.items()
    }
    for number, row in enumerate(PRODUCTS):
        tree = tree_of(_old(row))
        found = {name: wrapper.locators[0].find(tree) for name, wrapper in known.items()}
        known = learn(known, Observation(tree, str(number), found, row))
    return known


def _found(pages: Sequence[str], rows: Sequence[Row | None]) -> dict[str, tuple[str, ...]]:
    """Return the texts at the new place of each field on the pages."""
    stored = [StoredPage(tree_of(html), row) for html, row in zip(pages, rows, strict=True)]
    results = repair(_learnt(), stored, [*PRODUCTS[0]])
    return {
        name: tuple(seen.new[0] for seen in one.evidence)
        for name, one in results.items()
        if isinstance(one, Found)
    }


@pytest.mark.parametrize(("money", "language"), [(_dollars, 0), (_euros, 1)], ids=["english", "german"])
@pytest.mark.parametrize("known", [1, 3])
def test_values_that_are_written_otherwise_are_found_by_their_stored_values(
    money: Callable[[object], str], language: int, known: int
) -> None:
    rows = [row if at < known else None for at, row in enumerate(PRODUCTS)]
    found = _found([_new(row, money, language) for row in PRODUCTS], rows)
    assert found == {
        "title": tuple(row["title"] for row in PRODUCTS),
        "price": tuple(money(row["price"]) for row in PRODUCTS),
        "old_price": tuple(money(row["old_price"]) for row in PRODUCTS),
        "reviews": tuple(f"{row['reviews']:,} ratings" for row in PRODUCTS),
        "released": tuple(DAYS[str(row["released"])][language] for row in PRODUCTS),
    }


@pytest.mark.parametrize("known", [1, 3])
def test_amount_of_another_product_is_not_taken_for_one_that_is_gone(known: int) -> None:
    def sold_out(row: Row, others: str) -> str:
        return f"{HEAD}<main class='q'><h1>{row['title']}</h1><p class='o'>Sold out</p></main>{others}"

    # On the first page another product happens to cost the same.
    pages = [sold_out(PRODUCTS[0], _others(price=1299.0, old=1499.0))]
    pages += [sold_out(row, _others()) for row in PRODUCTS[1:]]
    found = _found(pages, [row if at < known else None for at, row in enumerate(PRODUCTS)])
    assert {name for name in found if name in KINDS} == set()


@pytest.mark.parametrize("cards", ["div", "div class='card'"])
def test_few_stars_of_another_product_are_not_taken_for_those_of_this_one(cards: str) -> None:
    tag = cards.split(maxsplit=1)[0]
    place = Locator(LocatorKind.CSS, ".stars")
    known = {"rating": Wrapper("rating", Kind.NUMBER, locators=(place,))}
    for number in range(3):
        tree = tree_of("<main><h1>Table</h1><p class='stars'>5 of 5 stars</p><p>Made of oak.</p></main>")
        known = learn(known, Observation(tree, str(number), {"rating": place.find(tree)}, {"rating": 5.0}))
    others = "".join(
        f"<{cards}><b>{name}</b><p class='rating'>{stars} of 5 stars</p></{tag}>"
        for name, stars in (("Box", 5), ("Lamp", 4), ("Rug", 3))
    )
    html = f"<main><h1>Table</h1><p>Made of oak.</p></main><section>{others}</section>"
    result = repair(known, [StoredPage(tree_of(html), {"rating": 5.0})], ["rating"])["rating"]
    assert isinstance(result, Abstained)


def test_value_that_is_written_otherwise_is_found_among_many_texts() -> None:
    row = PRODUCTS[0]
    texts = "".join(f"<p>March {at}, 2021</p><p>${at}.00</p>" for at in range(1, 150))
    html = _new(row, _euros, 1).replace("<section>", f"<div class='z9'>{texts}</div><section>")
    found = _found([html], [row])
    assert found["released"] == ("5. März 2024",)
    assert found["price"] == ("1.299,00 €",)


def test_place_of_a_plainer_field_is_not_taken_for_another_one() -> None:
    row: Row = {"title": "Aurora Desk", "price": 1299.0}
    html = _new(PRODUCTS[0]).replace("css-4d", "price").replace("<del class='css-5e'>$1,499.00</del>", "")
    result = repair(_learnt(), [StoredPage(tree_of(html), row)], ["price", "old_price"])
    assert isinstance(result["price"], Found)
    assert isinstance(result["old_price"], Abstained)


def test_repair_is_unsure_between_two_places_that_are_as_likely() -> None:
    place = Locator(LocatorKind.CSS, ".old")
    known = {"size": Wrapper("size", Kind.NUMBER, locators=(place,))}
    for number, size in enumerate((75, 80, 95)):
        tree = tree_of(f"<main><h1>Table</h1><p><b class='old'>{size}</b></p></main>")
        known = learn(known, Observation(tree, str(number), {"size": place.find(tree)}, {"size": size}))
    html = "<main><h1>Table</h1><p>Size <b class='size'>{}</b></p><p>Size <b class='size'>{}</b></p></main>"
    result = repair(known, [StoredPage(tree_of(html.format(76, 77)))], ["size"], accept=0.1)["size"]
    assert isinstance(result, Abstained)
    assert "another one" in result.reason


def test_text_that_is_a_part_of_another_number_is_another_value() -> None:
    place = Locator(LocatorKind.CSS, ".old")
    known = {"size": Wrapper("size", Kind.TEXT, locators=(place,))}
    for number, size in enumerate(("5 cm", "10 cm", "50 cm")):
        tree = tree_of(f"<main><h1>Table</h1><p><b class='old'>{size}</b></p></main>")
        known = learn(known, Observation(tree, str(number), {"size": place.find(tree)}, {"size": size}))
    lines = "".join(f"<p>Size <b class='size'>{size}</b></p>" for size in ("12 cm", "112 cm"))
    html = f"<main><h1>Table</h1>{lines}</main>"
    result = repair(known, [StoredPage(tree_of(html))], ["size"], accept=0.1)["size"]
    assert isinstance(result, Abstained)
    assert "another one" in result.reason


def test_field_whose_name_has_no_latin_words_takes_no_place_from_others() -> None:
    titles = [f"{name}, solid and made to last for a hundred years" for name in ("Desk", "Chair", "Shelf")]
    names = {"title": "h1", "名称": ".side"}
    wrappers = {name: Wrapper(name, locators=(Locator(LocatorKind.CSS, css),)) for name, css in names.items()}
    for title in titles[:2]:
        page = tree_of(f"<h1>{title}</h1><h2 class=side>{title}</h2><p>Made by hand.</p>")
        wrappers = learn(wrappers, observation_of(page, title, wrappers))
    new = tree_of(f"<div><div class=title-box>{titles[2]}</div><p>Made by hand.</p></div>")
    results = repair(wrappers, [StoredPage(new, dict.fromkeys(names, titles[2]))], list(names))
    assert {name for name, one in results.items() if isinstance(one, Found)} == {"title"}


def test_text_unlike_the_only_stored_one_is_taken_only_if_it_is_sure() -> None:
    wrappers = {"author": Wrapper("author", locators=(Locator(LocatorKind.CSS, ".author-line"),))}
    for author in ("Kate Miller", "Sam Ortega"):
        page = tree_of(f"<h1>Bread</h1><div class=author-line>{author}</div><p>Mix it.</p>")
        wrappers = learn(wrappers, observation_of(page, author, wrappers))
    new = tree_of("<h1>Bread</h1><div class=author-share>WATCH LIVE</div><p>Mix it.</p>")
    row: dict[str, JSONValue] = {"author": "Sam Ortega"}
    assert isinstance(repair(wrappers, [StoredPage(new, row)], ["author"])["author"], Abstained)


@pytest.mark.parametrize(
    ("found", "known", "is_proof"),
    [
        ("はじめてのプログラミング", "はじめてのプログラミング", True),
        ("処女航海", "処女航海", False),
        ("Head First", "Head First はじめてのプログラミング", False),
        ("A lamp", "A lamp", False),
    ],
)
def test_a_few_characters_of_scripts_without_blanks_say_as_much_as_some_words(
    found: str, known: str, *, is_proof: bool
) -> None:
    assert is_telling(known, agreement(Kind.TEXT, [found], known)) is is_proof
