"""Rows of lists that are found by the values of one row, on shapes that sites have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import pytest
from turbohtml import parse

from agentic.core.wrappers import PageTree
from agentic.core.wrappers.building import FoundRows, are_rows, find_rows
from agentic.core.wrappers.building.naming import amount_type
from agentic.core.wrappers.selecting import SelectorIndex

NAMES = ("Amber Lamp", "Birch Chair", "Coral Table", "Dune Shelf", "Ember Rug", "Fjord Bed", "Grove Desk")
MENU = "<header><ul><li><a href=/>Home</a><li><a href=/x>News</a><li><a href=/y>About</a></ul></header>"
Row = Mapping[str, str | Sequence[str]]


class Shape(NamedTuple):
    """A list of a site: its markup around rows, the markup of one, and the values of one."""

    around: str
    row: Callable[[int, str], str]
    values: Row
    reads: Mapping[str, Sequence[str]]


def _grid(rows: Sequence[str]) -> str:
    return "".join(f"<div class=row>{''.join(rows[at : at + 3])}</div>" for at in range(0, len(rows), 3))


SHAPES = {
    "links around cards": Shape(
        "{}",
        lambda n, name: (
            f'<a class="c" href="/p/{n}"><h2>{name}</h2><div>{n}9.00 $</div><div>{n} left</div></a>'
        ),
        {"title": NAMES[1], "price": "19.00"},
        {"title": NAMES, "price": [f"{n}9.00 $" for n in range(7)]},
    ),
    "rows of a grid": Shape(
        "grid",
        lambda n, name: f'<div class="col-4"><h4><a href="/p/{n}">{name}</a></h4><em>{n}9 EUR</em></div>',
        {"title": NAMES[4], "price": "49 EUR"},
        {"title": NAMES},
    ),
    "prices that are struck": Shape(
        "<ul>{}</ul>",
        lambda n, name: (
            f'<li><a href="/p/{n}">{name}</a> {f"<del>${n}99</del>" if n % 2 else ""}'
            f'<span class="{"sale " * (n % 2)}price">${n}49</span></li>'
        ),
        {"title": NAMES[1], "price": "$149"},
        {"price": [f"${n}49" for n in range(7)]},
    ),
    "nested elements without classes": Shape(
        "<div>{}</div>",
        lambda n, name: (
            f'<div><div><div><a href="../p/{n}">{name}</a></div><div>By Ann {n}</div></div>'
            f"<div><span>{n + 1} March 2026</span><span>{n * 3} comments</span></div></div>"
        ),
        {"title": NAMES[2], "author": "Ann 2", "day": "2026-03-03", "comments": "6"},
        {
            "title": NAMES,
            "author": [f"By Ann {n}" for n in range(7)],
            "comments": [f"{n * 3} comments" for n in range(7)],
        },
    ),
    "a table with names in its head cells": Shape(
        "<table><tr><th>Name</th><th>Size</th><th>Price</th></tr>{}</table>",
        lambda n, name: f"<tr><th scope=row>{name}</th><td>{n} cm</td><td>£{n}.50</td></tr>",
        {"name": NAMES[1], "price": "£1.50"},
        {"name": NAMES, "price": [f"£{n}.50" for n in range(7)]},
    ),
    "a table with advertisements between its rows": Shape(
        "<table>{}</table>",
        lambda n, name: (
            f'<tr><td><a href="?id={n}">{name}</a></td><td>{n},99 €</td></tr>'
            + "<tr><td colspan=2>Advertisement</td></tr>" * (n % 3 == 1)
        ),
        {"name": NAMES[2], "price": "2.99"},
        {"name": NAMES, "price": [f"{n},99 €" for n in range(7)]},
    ),
    "values in attributes": Shape(
        "<div>{}</div>",
        lambda n, name: (
            f'<div class="item" data-price="{n}9.5"><span>{name}</span><a href="d?id={n}">More</a></div>'
        ),
        {"name": NAMES[3], "price": "39.5"},
        {"name": NAMES, "price": [f"{n}9.5" for n in range(7)]},
    ),
    "pairs of table rows": Shape(
        "<table>{}</table>",
        lambda n, name: (
            f'<tr class=thing><td>{n + 1}.</td><td><a href="https://o.example/{n}">{name}</a></td></tr>'
            f"<tr><td></td><td><span>{n} points</span> by <a href=u?id={n}>user{n}</a></td></tr>"
        ),
        {"title": NAMES[1], "user": "user1"},
        {"title": NAMES, "user": [f"user{n}" for n in range(7)]},
    ),
    "terms and their definitions": Shape(
        "<dl>{}</dl>",
        lambda n, name: f'<dt><a href="/abs/{n}">{name}</a></dt><dd>Abstract {n} of it</dd>',
        {"title": NAMES[1], "abstract": "Abstract 1 of it"},
        {"title": NAMES, "abstract": [f"Abstract {n} of it" for n in range(7)]},
    ),
    "headings with a text behind each": Shape(
        "<main>{}</main>",
        lambda n, name: f"<h3>{name}</h3><p>A text on number {n}.</p><p><b>{n}0 USD</b></p>",
        {"title": NAMES[1], "price": "10 USD"},
        {"title": NAMES, "price": [f"{n}0 USD" for n in range(7)]},
    ),
    "lists within rows": Shape(
        "<ol>{}</ol>",
        lambda n, name: f"<li><h3>{name}</h3><ul><li>red {n}</li><li>blue {n}</li></ul><p>{n}.00 zł</p></li>",
        {"title": NAMES[1], "colours": ["red 1", "blue 1"], "price": "1.00"},
        {
            "title": NAMES,
            "colours": [f"red {n}" for n in range(7)],
            "price": [f"{n}.00 zł" for n in range(7)],
        },
    ),
    "classes that say how things look": Shape(
        '<div class="grid gap-4">{}</div>',
        lambda n, name: (
            f'<div class="flex p-4"><span class="text-lg font-bold">{name}</span>'
            f'<span class="text-sm">Brand {n % 3}</span><span class="mt-2 font-bold">${n}.99</span></div>'
        ),
        {"title": NAMES[1], "price": "1.99", "brand": "Brand 1"},
        {"title": NAMES, "price": [f"${n}.99" for n in range(7)]},
    ),
    "equal elements that some rows lack": Shape(
        "<ul>{}</ul>",
        lambda n, name: (
            f'<li><a href="/p/{n}">{name}</a>{"" if n % 2 else f"<span>${n}.00</span>"}'
            f"<span>2026-03-0{n + 1}</span></li>"
        ),
        {"title": NAMES[2], "price": "2.00", "day": "2026-03-03"},
        {
            "price": ["" if n % 2 else f"${n}.00" for n in range(7)],
            "day": [f"2026-03-0{n + 1}" for n in range(7)],
        },
    ),
    "prices that an earlier price follows": Shape(
        "<ul>{}</ul>",
        lambda n, name: f"<li><b>{name}</b><p>${n}.50{f' <del>${n}9.00</del>' * (n % 3 == 0)}</p></li>",
        {"title": NAMES[1], "price": "$1.50"},
        {"title": NAMES, "price": [f"${n}.50{f' ${n}9.00' * (n % 3 == 0)}" for n in range(7)]},
    ),
    "amounts in sentences with other amounts": Shape(
        "<ul>{}</ul>",
        lambda n, name: (
            f"<li><p>{name}{' with 3 drawers' * (n == 2)} was made by hand in the year {1900 + n} in Oslo</p>"
            f"<i>{name}</i></li>"
        ),
        {"title": NAMES[1], "year": "1901"},
        {"title": NAMES},
    ),
    "labels that some rows lack": Shape(
        "<div>{}</div>",
        lambda n, name: (
            f"<div><b>Title:</b> <span>{name}</span>"
            + ("" if n == 2 else f"<b>Price:</b> <span>{n} USD</span>")
            + f"<b>Size:</b> <span>{n} m</span></div>"
        ),
        {"title": NAMES[1], "price": "1 USD", "size": "1 m"},
        {"price": ["" if n == 2 else f"{n} USD" for n in range(7)], "size": [f"{n} m" for n in range(7)]},
    ),
}


def found_on(shape: Shape) -> tuple[FoundRows, SelectorIndex]:
    rows = [shape.row(number, name) for number, name in enumerate(NAMES)]
    inner = _grid(rows) if shape.around == "grid" else shape.around.format("".join(rows))
    index = SelectorIndex(
        PageTree(parse(f"{MENU}<h1>All</h1>{inner}", positions=False), "https://s.example/l")
    )
    found = find_rows(index, [shape.values])
    assert found is not None
    return found, index


@pytest.mark.parametrize("name", SHAPES)
def test_rows_are_found_by_the_values_of_one(name: str) -> None:
    shape = SHAPES[name]
    found, index = found_on(shape)
    assert found.missing == ()
    assert found.offer.count == len(NAMES)
    assert are_rows(found, index, [shape.values])
    fields = {one.name: one for one in found.offer.fields}
    for field, texts in shape.reads.items():
        assert [row[0] if row else "" for row in fields[field].texts] == list(texts)
    assert all(len(one.locators) >= 2 for one in fields.values())


@pytest.mark.parametrize(
    ("name", "field", "regex"),
    [
        ("prices that an earlier price follows", "price", r"(^\$[\d.,]+)(?:\s|$)"),
        ("amounts in sentences with other amounts", "year", r" was made by hand in the year ([\d.,]+)"),
    ],
)
def test_part_of_a_text_is_taken_by_the_texts_around_it(name: str, field: str, regex: str) -> None:
    found, _ = found_on(SHAPES[name])
    assert next(one.regex for one in found.offer.fields if one.name == field) == regex


def test_field_that_some_rows_have_at_another_place_has_both_places() -> None:
    prices = [f"{n}9.50 €" for n in range(7)]
    reduced = [f"<u class=price><s>99 €</s><b class=new>{price}</b></u>" for price in prices]
    plain = [f"<u class=price>{price}</u>" for price in prices]
    rows = "".join(f"<li><a>{name}</a>{(plain, reduced)[n % 2][n]}</li>" for n, name in enumerate(NAMES))
    index = SelectorIndex(PageTree(parse(f"<ul>{rows}</ul>", positions=False), "https://s.example/l"))
    found = find_rows(index, [{"title": NAMES[n], "price": prices[n]} for n in (1, 2)])
    assert found is not None
    price = found.offer.fields[1]
    assert [row[0] for row in price.texts] == prices
    paths = [one.path for one in price.locators]
    assert paths[0] == "u.price b.new"
    assert paths[2:] == ["u.price", "u"]


def read_posts(*examples: Mapping[str, str]) -> FoundRows:
    """Return the list of topics whose first and last author are the same person in two of four."""
    people = [("Ann", "Bo"), ("Ann", "Ann"), ("Kai", "Kai"), ("Bo", "Zoe")]
    rows = "".join(
        f"<li><b>{name}</b> <i>{first}</i> <u>{last}</u></li>"
        for name, (first, last) in zip(NAMES, people, strict=False)
    )
    index = SelectorIndex(PageTree(parse(f"<ol>{rows}</ol>", positions=False)))
    found = find_rows(index, examples)
    assert found is not None
    return found


def test_field_whose_examples_fit_two_places_is_unsure() -> None:
    found = read_posts({"title": NAMES[1], "author": "Ann"}, {"title": NAMES[2], "author": "Kai"})
    assert [(one.name, one.is_unsure) for one in found.offer.fields] == [("title", False), ("author", True)]


def test_one_example_that_differs_makes_a_field_sure() -> None:
    found = read_posts({"title": NAMES[1], "author": "Ann"}, {"title": NAMES[3], "author": "Zoe"})
    author = found.offer.fields[1]
    assert not author.is_unsure
    assert author.texts[:4] == (("Bo",), ("Ann",), ("Kai",), ("Zoe",))


@pytest.mark.parametrize(
    ("examples", "texts", "kind"),
    [
        (["87", "1204"], ["87", "1,204", "12"], "integer"),
        (["87", "12"], ["87", "12", "4.5"], "number"),
        (["1.204"], ["1.204", "3.517"], "number"),
        (["0443"], ["0443", "5121"], "string"),
        (["0.5"], ["0.5", "12"], "number"),
        (["0.750"], ["0.750 kg", "2 kg", "1.250 kg"], "number"),
        ([], ["1.459", "2"], "number"),
        (["1459"], ["1.459", "2"], "integer"),
        ([], ["12,500 %", "3 %"], "number"),
    ],
)
def test_amounts_are_read_as_the_column_shows_them(
    examples: Sequence[str], texts: Sequence[str], kind: str
) -> None:
    assert amount_type(examples, texts) == kind


def test_many_characters_behind_a_value_are_no_marks() -> None:
    rows = "".join(
        f"<li><a href=/{n}>{name}{'.' * 3_800}</a><b>{n}9 $</b></li>" for n, name in enumerate(NAMES)
    )
    index = SelectorIndex(PageTree(parse(f"<ul>{rows}</ul>", positions=False)))
    found = find_rows(index, [{"title": NAMES[1], "price": "19 $"}])
    assert found is not None
    assert all(len(one.regex) < 100 for one in found.offer.fields)


def test_names_and_values_of_one_record_are_no_rows() -> None:
    rows = "".join(f"<tr><th>{name}</th><td>{number} g</td></tr>" for number, name in enumerate(NAMES))
    index = SelectorIndex(PageTree(parse(f"<h1>Lamp</h1><table>{rows}</table>", positions=False)))
    example = {"title": "Lamp", "weight": "3 g"}
    found = find_rows(index, [example])
    assert found is None or not are_rows(found, index, [example])
