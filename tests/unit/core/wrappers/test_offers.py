"""The lists, tables and records that pages offer."""

from __future__ import annotations

import pytest
from tests.unit.core.wrappers.pages import LAMPS, html_of
from turbohtml import parse

from agentic.core.wrappers import Offer, OfferKind, PageTree, find_offers, globs_of
from agentic.core.wrappers.building import find_lists, find_rows
from agentic.core.wrappers.building.offers import MAX_OFFERED_ROWS
from agentic.core.wrappers.selecting import SelectorIndex

NAMES = ("Amber", "Birch", "Coral", "Dune", "Ember", "Fjord")
PAGER = '<div class="pager"><a href="?page=1">1</a> <a href="?page=2">2</a> <a href="?page=3">3</a></div>'
NAV = (
    "<nav><ul><li><a href=/>Home</a></li><li><a href=/a>Lamps</a></li><li><a href=/b>Oak</a></li></ul></nav>"
)


def offers_of(html: str, url: str = "https://shop.example/lamps") -> list[Offer]:
    return find_offers([PageTree(parse(html, positions=False), url)])


def texts(offer: Offer, name: str) -> list[str]:
    field = next(one for one in offer.fields if one.name == name)
    return [row[0] if row else "" for row in field.texts]


def card(number: int, name: str) -> str:
    price = "" if number == 2 else f'<span class="q7z8w">${number}9.50</span>'
    link = f'<a href="p/{name.lower()}.html">'
    return (
        f'<div class="css-1x2y3z"><div class="sc-a1b2c3">{link}<img src="/{number}.png"></a>'
        f"<h3>{link}{name} lamp</a></h3>{price}<p>A quiet lamp, number {number}.</p>"
        "<button>Add to cart</button></div></div>"
    )


def test_lines_of_a_grid_are_not_the_records_that_a_page_offers() -> None:
    products = [
        f'<li class=item><img src="/{n}.png"><h2><a class=title href="/p/{n}">{name} lamp</a></h2>'
        f"<b class=price>${n + 1}9.50</b></li>"
        for n, name in enumerate(NAMES)
    ]
    lines = "".join(f"<ul class=line>{''.join(products[at : at + 2])}</ul>" for at in (0, 2, 4))
    offer, *_ = offers_of(f"<body>{NAV}<main>{lines}</main>")
    assert [one.name for one in offer.fields] == ["image", "link", "title", "price"]
    assert texts(offer, "title") == [f"{name} lamp" for name in NAMES]


def test_label_within_a_text_names_its_field() -> None:
    views = ["612", "2,211", "87", "1,093", "5", "44"]
    topics = "".join(
        f"<li><h3><a href=/t/{n}>{name}</a></h3><p>Replies: {n}</p><p>Views: {views[n]}</p></li>"
        for n, name in enumerate(NAMES)
    )
    offer, *_ = offers_of(f"<body>{NAV}<ol>{topics}</ol>")
    assert texts(offer, "views") == views
    fields = {one.name: (one.type, one.regex) for one in offer.fields}
    assert fields["replies"] == ("integer", r"^Replies:\s?(.*)$")
    assert fields["views"] == ("integer", r"^Views:\s?(.*)$")


def test_schemes_of_addresses_and_marks_of_replies_are_no_labels() -> None:
    topics = "".join(
        f"<li><h3><a href=/t/{n}>Re: {name}</a></h3><p class=site>https://{name}.example/{n}</p></li>"
        for n, name in enumerate(NAMES)
    )
    offer, *_ = offers_of(f"<body>{NAV}<ol>{topics}</ol>")
    assert texts(offer, "site") == [f"https://{name}.example/{n}" for n, name in enumerate(NAMES)]
    assert texts(offer, "title") == [f"Re: {name}" for name in NAMES]


def test_cards_with_hashed_classes_and_advertisements_between_them_are_one_list() -> None:
    advertisement = '<div class="promo"><a href="https://ads.example/"><img src=a.png></a></div>'
    cards = [card(number, name) for number, name in enumerate(NAMES)]
    cards.insert(3, advertisement)
    grid = f'<main><div class="grid">{"".join(cards)}</div>{PAGER}</main>'
    offer, *_ = offers_of(f'<html><head><base href="/shop/"></head><body>{NAV}{grid}')
    assert (offer.kind, offer.count) == (OfferKind.LIST, 6)
    assert texts(offer, "title") == [f"{name} lamp" for name in NAMES]
    assert texts(offer, "price") == ["$09.50", "$19.50", "", "$39.50", "$49.50", "$59.50"]
    assert {one.name: one.type for one in offer.fields} == {
        "image": "url",
        "link": "url",
        "title": "string",
        "price": "price",
        "text": "string",
    }
    assert all(len(one.locators) >= 2 for one in offer.fields)
    assert offer.links[0] == "https://shop.example/shop/p/amber.html"
    assert globs_of(offer.links) == ("/shop/p/*.html",)
    assert offer.paging is not None
    assert offer.paging.urls[1] == "https://shop.example/shop/?page=2"


def test_columns_of_a_table_are_named_by_its_head() -> None:
    rows = "".join(
        f"<tr><td>{name}</td><td>{number * 3}</td><td>2026-0{number + 1}-11</td></tr>"
        for number, name in enumerate(NAMES)
    )
    table, *_ = offers_of(
        f"<table><caption>Fleet</caption><tr><th>Name<th>Count<th>Built on</tr>{rows}</table>"
    )
    assert (table.kind, table.title, table.count) == (OfferKind.TABLE, "Fleet", 6)
    assert [(one.name, one.type) for one in table.fields] == [
        ("name", "string"),
        ("count", "integer"),
        ("built_on", "date"),
    ]


def test_values_in_definition_lists_are_found_by_their_terms_where_rows_lack_some() -> None:
    def row(number: int, name: str) -> str:
        price = "" if number == 1 else f"<dt>Price</dt><dd>{number},50 €</dd>"
        return f"<li><dl><dt>Name</dt><dd>{name}</dd>{price}<dt>Weight</dt><dd>{number + 1} kg</dd></dl></li>"

    offer, *_ = offers_of(f"<ul>{''.join(row(number, name) for number, name in enumerate(NAMES))}</ul>")
    assert texts(offer, "name") == list(NAMES)
    assert texts(offer, "price")[:3] == ["0,50 €", "", "2,50 €"]
    assert texts(offer, "weight")[:2] == ["1 kg", "2 kg"]


@pytest.mark.parametrize(
    ("html", "kind", "selector"),
    [
        ('<a rel="next" href="/l/2">2</a>', "next", 'a[rel~="next"]'),
        ('<ul class="pager"><li class="next"><a href="/l?p=2">weiter</a></ul>', "next", "li.next > a"),
        (PAGER, "numbers", "div.pager a[href]"),
        ('<p><a href="/l/page/2">Next page</a></p>', "numbers", 'a[href*="/page/"]'),
        ('<button class="more" data-next-url="/l?offset=20">Load more</button>', "more", "button.more"),
        ("<a href=/imprint>Imprint</a>", None, None),
    ],
)
def test_links_to_further_pages_are_found(html: str, kind: str | None, selector: str | None) -> None:
    cards = "".join(card(number, name) for number, name in enumerate(NAMES))
    offer, *_ = offers_of(f"<main>{cards}</main>{html}", "https://shop.example/l")
    found = offer.paging
    assert (found and found.kind, found and found.selector) == (kind, selector)


def test_a_detail_page_offers_its_labelled_values_on_all_pages_given() -> None:
    pages = [
        PageTree(parse(html_of(lamp, is_new=True), positions=False), f"https://shop.example/{lamp.key}")
        for lamp in LAMPS
    ]
    record = find_offers(pages)[-1]
    assert record.kind is OfferKind.PAGE
    assert texts(record, "title") == [lamp.title for lamp in LAMPS]
    assert texts(record, "weight") == [f"{lamp.weight} g" for lamp in LAMPS]


def product(number: int, *, is_rated: bool = True) -> PageTree:
    rating = f"<div><dt>Rating</dt><dd>4.{number}</dd></div>" if is_rated else ""
    terms = "".join(
        f"<div><dt>{name}</dt><dd>{name[0]}-{number}</dd></div>" for name in ("Sku", "Weight", "Depth")
    )
    html = (
        f"{NAV}<main><h1>{NAMES[number]}</h1>"
        f'<div class="price-box"><span class="price">{number}.50</span></div>'
        f'<p class="css-1x2y3z">Ships today</p><dl>{rating}{terms}</dl>'
        f'<p class="description">Of oak, {number}.</p><h2 class="more">Others</h2></main>'
    )
    return PageTree(parse(html, positions=False), f"https://shop.example/{number}")


def test_a_detail_page_offers_named_values_and_the_terms_that_half_of_the_pages_have() -> None:
    *lists, record = find_offers([product(1), product(2), product(3, is_rated=False)])
    assert not [one.items for one in lists if "dl" in one.items]
    assert [one.name for one in record.fields] == [
        "title", "price", "rating", "sku", "weight", "depth", "description",
    ]  # fmt: skip
    assert texts(record, "rating") == ["4.1", "4.2", ""]
    assert texts(record, "price") == ["1.50", "2.50", "3.50"]


def test_a_page_with_thousands_of_equal_labelled_values_offers_one_of_them() -> None:
    value = "<p><b>Price:</b> <span class='price'>12.50</span></p>"
    page = "".join(f"{value}<h3>Part {number}</h3>" for number in range(1_500))
    record = offers_of(f"<main>{page}</main>")[-1]  # takes minutes if selectors are written for each
    assert [one.name for one in record.fields] == ["price"]


@pytest.mark.parametrize(
    ("paths", "others", "globs"),
    [
        (["/p/a-1.html", "/p/b-2.html"], ["/list"], ("/p/*.html",)),
        (["/show?id=1", "/show?id=22"], ["/list?page=2"], ("/show?id=*",)),
        (["/a", "/b"], ["/list"], ()),
        (["/x/a", "/x/y/b"], ["/"], ("/x/a", "/x/y/b")),
        (["/item/bread", "/item/butter"], [], ("/item/*",)),
    ],
)
def test_globs_fit_the_details_and_no_other_page(
    paths: list[str], others: list[str], globs: tuple[str, ...]
) -> None:
    site = "https://shop.example"
    assert globs_of([site + one for one in paths], [site + one for one in others]) == globs


def _cards(count: int) -> str:
    return "".join(f"<li><a href='/q/{n}'>Lamp {n}</a><b>${n}.00</b></li>" for n in range(count))


def test_list_of_many_rows_is_offered_and_found_by_the_values_of_one() -> None:
    count = 3 * MAX_OFFERED_ROWS // 2
    index = SelectorIndex(PageTree(parse(f"<ul>{_cards(count)}</ul>", positions=False), "https://s.example/"))
    offer = find_lists(index)[0]
    assert (offer.count, [one.name for one in offer.fields]) == (count, ["link", "text", "price"])
    found = find_rows(index, [{"title": f"Lamp {count - 5}", "price": f"${count - 5}.00"}])
    assert found is not None
    assert (found.offer.count, found.places, found.missing) == (count, (count - 5,), ())


def _texts(markup: str) -> list[tuple[str, ...]]:
    offer = find_lists(SelectorIndex(PageTree(parse(markup, positions=False), "https://s.example/")))[0]
    return [tuple(row[0] if row else "" for row in one.texts) for one in offer.fields]


def test_columns_are_not_mixed_where_rows_lack_a_part() -> None:
    numbers = range(6)
    cells = "".join(
        f"<tr>{f'<td rowspan=2>Town {n}</td>' if n % 2 == 0 else ''}<td>Lamp {n}</td><td>{n} €</td></tr>"
        for n in numbers
    )
    names, prices = tuple(f"Lamp {n}" for n in numbers), tuple(f"{n} €" for n in numbers)
    assert _texts(f"<table>{cells}</table>")[1:] == [names, prices]
    badges = "".join(f"<li>{'<i>New</i>' * (n % 3 == 0)}<i>Lamp {n}</i><i>{n} €</i></li>" for n in numbers)
    assert _texts(f"<ul>{badges}</ul>") == [names, prices]


def test_price_in_several_elements_is_a_column() -> None:
    rows = "".join(f"<li><b>Lamp {n}</b><p><i>$</i><i>{n},299</i><sup>50</sup></p></li>" for n in range(1, 5))
    assert tuple(f"${n},29950" for n in range(1, 5)) in _texts(f"<ul>{rows}</ul>")
