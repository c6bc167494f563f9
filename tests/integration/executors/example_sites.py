"""Small sites of many shapes, each with its records: for pipelines that are built from example values."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agentic.executors.testing.sites import Site

Value = str | float | list[str] | None
Record = Mapping[str, Value]
COUNT = 12
PER_PAGE = 4
PLANTS = [
    "Amber",
    "Birch",
    "Coral",
    "Dune",
    "Ember",
    "Fjord",
    "Grove",
    "Heath",
    "Iris",
    "Juniper",
    "Kelp",
    "Larch",
]
THINGS = ("Desk Lamp", "Chair", "Shelf with 3 Boards", "Rug", "Table", "Bed")
TITLES = [f"{plant} {THINGS[n % len(THINGS)]}" for n, plant in enumerate(PLANTS)]
PRICES = [19.5, 1299.0, 45.99, 45.99, 7.0, 310.25, 88.4, 2450.0, 12.0, 64.9, 5.75, 999.99]
RATINGS = [4.5, 3.9, 4.5, 5.0, 2.1, 4.0, 3.3, 4.8, 4.5, 1.0, 3.7, 4.2]
COUNTS = [12, 4, 120, 33, 7, 0, 12, 81, 5, 1204, 9, 64]
TOWNS = [("Oslo", "Lyon", "Graz", "Porto", "Turin")[n % 5] for n in range(COUNT)]
MAKERS = [
    "Ines Holt",
    "Tom Abara",
    "Maren Voss",
    "Ines Holt",
    "Bo Li",
    "Tom Abara",
    "Zoe Park",
    "Ada Lind",
    "Bo Li",
    "Ines Holt",
    "Kai Ross",
    "Ada Lind",
]
DAYS = [f"2026-0{1 + n % 9}-{10 + n}" for n in range(COUNT)]
MENU = (
    "<header><nav><ul><li><a href='/'>Home</a></li><li><a href='/about'>About us</a></li></ul></nav></header>"
)
FOOT = "<footer><p>© 2026 Shop</p><a href='/terms'>Terms</a> <a href='/privacy'>Privacy</a></footer>"
NUMBERS = range(COUNT)


@dataclass(frozen=True)
class ExampleSite:
    """A site.

    Attributes:
        pages: Address -> markup, or bytes with their type; ``{}`` in addresses stands for its folder.
        records: Its records, with the values that a person would write down.
        urls: Of the page of each record; empty if all are rows of the list.
        shown: The records that are shown as examples.
        key: The field that tells records apart.
        headers: Of all answers.
    """

    pages: Mapping[str, str | bytes]
    records: Sequence[Record]
    urls: Sequence[str] = ()
    shown: Sequence[int] = (1, 2, 3)
    key: str = "title"
    moved: Mapping[str, str] = field(default_factory=dict)


SITES: dict[str, ExampleSite] = {}


def site(make: Callable[[], ExampleSite]) -> Callable[[], ExampleSite]:
    """Add a site under the name of its function."""
    SITES[make.__name__] = make()
    return make


def serve(server: Site, name: str) -> None:
    """Serve the pages of a site in a folder of its name."""
    here = SITES[name]
    for path, page in here.pages.items():
        content = page if isinstance(page, bytes) else page.replace("{}", f"/{name}")
        kind = "text/html" if isinstance(page, bytes) else "text/html; charset=utf-8"
        server.serve(f"/{name}{path}", content, headers={"Content-Type": kind})
    for path, target in here.moved.items():
        server.serve(f"/{name}{path}", "", status=302, headers={"Location": f"/{name}{target}"})


def dollars(amount: float) -> str:
    return f"${amount:,.2f}"


def euros(amount: float) -> str:
    return f"{amount:,.2f}".translate(str.maketrans(",.", ".,")) + " €"


def shell(body: str, head: str = "") -> str:
    return (
        f"<!doctype html><html><head><title>Shop</title>{head}</head><body>{MENU}{body}{FOOT}</body></html>"
    )


def records(**fields: Sequence[Value]) -> list[Record]:
    return [dict(zip(fields, values, strict=True)) for values in zip(*fields.values(), strict=True)]


def listed(
    rows: Sequence[str], around: Callable[[str, str], str], next_page: Callable[[int, int], tuple[str, str]]
) -> dict[str, str]:
    """Return the pages of a list: ``next_page`` gives the address of a page, and its links to others."""
    last = len(rows) // PER_PAGE
    cut = [rows[at : at + PER_PAGE] for at in range(0, len(rows), PER_PAGE)]
    found = {}
    for number, some in enumerate(cut):
        path, links = next_page(number, last)
        found[path] = around("".join(some), links)
    return found


def item(number: int) -> str:
    return f"/item-{number}.html"


def detailed(page: Callable[[int], str], path: Callable[[int], str] = item) -> dict[str, str]:
    """Return a list of links, and the pages of the records."""
    links = "".join(f"<li><a href='{{}}{path(n)}'>{TITLES[n]}</a></li>" for n in NUMBERS)
    return {"/": shell(f"<ul>{links}</ul>"), **{path(n): page(n) for n in NUMBERS}}


ITEMS = [item(n) for n in NUMBERS]
IN_DOLLARS = [dollars(price) for price in PRICES]
IN_EUROS = [euros(price) for price in PRICES]

# Lists.


@site
def cards_without_classes() -> ExampleSite:
    rows = [
        f"<div><div><a href='{{}}/p/{n}'><img src='/i/{n}.jpg' alt='{TITLES[n]}'></a></div><div><div>"
        f"<a href='{{}}/p/{n}'>{TITLES[n]}</a></div><div>{IN_DOLLARS[n]}</div></div></div>"
        for n in NUMBERS
    ]
    pages = listed(
        rows,
        lambda rows, links: shell(f"<h1>Lamps</h1><div>{rows}</div>{links}"),
        lambda n, last: (
            f"/page/{n + 1}" if n else "/",
            f"<div><a href='{{}}/page/{n + 2}'>Next</a></div>" * (n + 1 < last),
        ),
    )
    return ExampleSite(pages, records(title=TITLES, price=IN_DOLLARS))


@site
def amounts_within_texts() -> ExampleSite:
    rows = [
        f"<li><a href='{{}}/p/{n}'>{TITLES[n]}</a><p>{IN_DOLLARS[n]} <s>{dollars(PRICES[n] * 2)}</s></p>"
        f"<p>Rated {RATINGS[n]} of 5</p></li>"
        for n in NUMBERS
    ]
    pages = listed(
        rows,
        lambda rows, links: shell(f"<ul>{rows}</ul><p>{links}</p>"),
        lambda n, last: (
            f"/?p={n + 1}" if n else "/",
            "".join(f"<a href='{{}}/?p={one + 1}'>{one + 1}</a> " for one in range(last)),
        ),
    )
    return ExampleSite(pages, records(title=TITLES, price=PRICES, rating=RATINGS))


@site
def values_within_sentences() -> ExampleSite:
    rows = "".join(
        f"<div class=job><h3>{TITLES[n]} (m/f/d)</h3><p>Posted by {MAKERS[n]} in {TOWNS[n]}</p></div>"
        for n in NUMBERS
    )
    return ExampleSite({"/": shell(rows)}, records(title=TITLES, author=MAKERS, town=TOWNS))


@site
def cells_that_span_rows() -> ExampleSite:
    rows = "".join(
        f"<tr>{f'<td rowspan=2>{TOWNS[n]}</td>' if n % 2 == 0 else ''}"
        f"<td>{TITLES[n]}</td><td>{IN_EUROS[n]}</td></tr>"
        for n in NUMBERS
    )
    table = f"<table><tr><th>Town</th><th>Product</th><th>Price</th></tr>{rows}</table>"
    return ExampleSite({"/": shell(table)}, records(title=TITLES, price=IN_EUROS))


@site
def heads_of_groups_and_a_total() -> ExampleSite:
    rows = "".join(
        (f"<tr><th colspan=3>{TOWNS[n]}</th></tr>" if n % 4 == 0 else "")
        + f"<tr><td>{TITLES[n]}</td><td>{IN_DOLLARS[n]}</td><td>{COUNTS[n]}</td></tr>"
        for n in NUMBERS
    )
    total = f"<tr><td>Total</td><td>{dollars(sum(PRICES))}</td><td></td></tr>"
    table = f"<table><tr><th>Product</th><th>Price</th><th>Count</th></tr>{rows}{total}</table>"
    return ExampleSite(
        {"/": shell(table)}, records(title=TITLES, price=IN_DOLLARS, count=list(map(str, COUNTS)))
    )


@site
def lists_of_terms() -> ExampleSite:
    rows = "".join(
        f"<dl><dt>Name</dt><dd>{TITLES[n]}</dd>"
        + (f"<dt>Maker</dt><dd>{MAKERS[n]}</dd>" if n % 3 else "")
        + f"<dt>Price</dt><dd>{IN_EUROS[n]}</dd></dl>"
        for n in NUMBERS
    )
    makers = [maker if n % 3 else None for n, maker in enumerate(MAKERS)]
    return ExampleSite(
        {"/": shell(f"<div>{rows}</div>")},
        records(title=TITLES, price=IN_EUROS, maker=makers),
        shown=(1, 2, 4),
    )


@site
def prices_in_several_spans() -> ExampleSite:
    def price(n: int) -> str:
        whole, cents = f"{PRICES[n]:,.2f}".split(".")
        return (
            f"<span class=a-price><span class=sym>$</span><span class=whole>{whole}"
            f"<span class=dec>.</span></span><span class=frac>{cents}</span></span>"
        )

    rows = [f"<div class=s-item><h2><a href='/dp/{n}'>{TITLES[n]}</a></h2>{price(n)}</div>" for n in NUMBERS]
    pages = listed(
        rows,
        lambda rows, links: shell(f"<div class=results>{rows}</div>{links}"),
        lambda n, last: (
            f"/?page={n + 1}" if n else "/",
            f"<a class=pages-next href='{{}}/?page={n + 2}'>Next</a>" * (n + 1 < last),
        ),
    )
    return ExampleSite(pages, records(title=TITLES, price=IN_DOLLARS))


@site
def cents_in_a_superscript() -> ExampleSite:
    def price(n: int) -> str:
        whole, cents = f"{PRICES[n]:.2f}".split(".")
        return f"<p class=price><b>{whole}</b><sup>{cents}</sup> <small>EUR</small></p>"

    rows = "".join(f"<article><h3>{TITLES[n]}</h3>{price(n)}</article>" for n in NUMBERS)
    return ExampleSite({"/": shell(f"<div>{rows}</div>")}, records(title=TITLES, price=PRICES))


@site
def links_below_a_base() -> ExampleSite:
    rows = "".join(
        f"<li><a href='p/{n}.html'>{TITLES[n]}</a> <em>{IN_DOLLARS[n]}</em> <img src='i/{n}.png'></li>"
        for n in NUMBERS
    )
    page = shell(f"<ul>{rows}</ul>", head="<base href='{}/base/'>")
    links = [f"{{}}/base/p/{n}.html" for n in NUMBERS]
    return ExampleSite(
        {"/": page},
        records(title=TITLES, link=links, image=[f"{{}}/base/i/{n}.png" for n in NUMBERS]),
    )


@site
def promoted_items_twice() -> ExampleSite:
    def card(n: int, more: str = "") -> str:
        return f"<div class=card><h3><a href='/x/{n}'>{TITLES[n]}</a></h3><b>{IN_DOLLARS[n]}</b>{more}</div>"

    promoted = "".join(card(n, "<em>Sponsored</em>") for n in (1, 9))
    pages = listed(
        [card(n) for n in NUMBERS],
        lambda rows, links: shell(
            f"<section class=promo>{promoted}</section><section class=list>{rows}</section>{links}"
        ),
        lambda n, last: (
            f"/{n + 1}" if n else "/",
            f"<a rel=next href='{{}}/{n + 2}'>&raquo;</a>" * (n + 1 < last),
        ),
    )
    return ExampleSite(pages, records(title=TITLES, price=IN_DOLLARS))


@site
def best_sellers_beside_the_list() -> ExampleSite:
    def row(n: int, more: str = "") -> str:
        return f"<li><a href='/y/{n}'>{TITLES[n]}</a><span>{IN_DOLLARS[n]}</span>{more}</li>"

    beside = "".join(row(n) for n in (0, 3, 7, 8, 10))
    rows = "".join(row(n, f"<i>{TOWNS[n]}</i>") for n in NUMBERS)
    page = shell(f"<aside><h4>Best sellers</h4><ul>{beside}</ul></aside><main><ul>{rows}</ul></main>")
    return ExampleSite({"/": page}, records(title=TITLES, price=IN_DOLLARS, town=TOWNS), shown=(3, 7, 0))


@site
def values_in_attributes_only() -> ExampleSite:
    rows = "".join(
        f"<div class=tile data-sku='SKU-{n * 7}'><img alt='{TITLES[n]}' src='/t/{n}.webp'>"
        f"<i aria-label='{RATINGS[n]} out of 5 stars'></i></div>"
        for n in NUMBERS
    )
    codes = [f"SKU-{n * 7}" for n in NUMBERS]
    return ExampleSite({"/": shell(f"<div>{rows}</div>")}, records(title=TITLES, sku=codes, rating=RATINGS))


@site
def cut_titles() -> ExampleSite:
    rows = "".join(
        f"<li><h3><a title='{TITLES[n]}' href='b/{n}.html'>{TITLES[n][:8]}...</a></h3>"
        f"<p>{IN_EUROS[n]}</p></li>"
        for n in NUMBERS
    )
    return ExampleSite({"/": shell(f"<ol>{rows}</ol>")}, records(title=TITLES, price=IN_EUROS))


@site
def badges_before_equal_parts() -> ExampleSite:
    rows = "".join(
        f"<li>{'<span>New</span>' if n % 3 == 0 else ''}"
        f"<span>{TITLES[n]}</span><span>{IN_DOLLARS[n]}</span></li>"
        for n in NUMBERS
    )
    return ExampleSite(
        {"/": shell(f"<ul class=g>{rows}</ul>")}, records(title=TITLES, price=IN_DOLLARS), shown=(1, 2, 4)
    )


@site
def badges_behind_equal_parts() -> ExampleSite:
    rows = "".join(
        f"<a class=card href='{{}}/w/{n}'><span>{TOWNS[n]}</span>"
        f"<span>{TITLES[n]}</span><span>{IN_DOLLARS[n]}</span>"
        f"{'<span>New</span>' if n % 3 == 0 else ''}</a>"
        for n in NUMBERS
    )
    links = [f"{{}}/w/{n}" for n in NUMBERS]
    return ExampleSite(
        {"/": shell(f"<div>{rows}</div>")},
        records(title=TITLES, price=IN_DOLLARS, town=TOWNS, link=links),
        shown=(1, 2, 4),
    )


@site
def layout_tables_in_a_legacy_charset() -> ExampleSite:
    titles = [f"{title} für Größe {n}" for n, title in enumerate(TITLES)]
    rows = [
        f"<tr><td><a href='a.php?id={n}'>{titles[n]}</a></td><td>{IN_EUROS[n]}</td></tr>" for n in NUMBERS
    ]
    charset = "<meta http-equiv=Content-Type content='text/html; charset=windows-1252'>"
    menu = "<td width=20%><a href=/>Startseite</a><br><a href=/agb>AGB</a></td>"
    pages = listed(
        rows,
        lambda rows, links: (
            f"<html><head>{charset}</head><body><table><tr><td colspan=2>Menü</td></tr>"
            f"<tr>{menu}<td><table border=1>{rows}</table>{links}</td></tr></table></body></html>"
        ),
        lambda n, last: (
            f"/liste.php?seite={n + 1}" if n else "/",
            f"<a href='liste.php?seite={n + 2}'>weiter &gt;&gt;</a>" * (n + 1 < last),
        ),
    )
    encoded = {path: page.encode("windows-1252") for path, page in pages.items()}
    return ExampleSite(encoded, records(title=titles, price=IN_EUROS))


@site
def japanese_in_shift_jis() -> ExampleSite:
    titles = [f"商品{one}ランプ" for one in "あいうえおかきくけこさし"]
    prices = [f"{int(price * 100):,}円" for price in PRICES]
    rows = "".join(f"<li><a href='/j/{n}'>{titles[n]}</a><span>{prices[n]}</span></li>" for n in NUMBERS)
    menu = "<ul class=navi><li><a href=/>ホーム</a></li></ul>"
    page = (
        f"<html><head><meta charset=shift_jis></head><body>{menu}<ul class=ichiran>{rows}</ul></body></html>"
    )
    return ExampleSite({"/": page.encode("shift_jis")}, records(title=titles, price=prices))


@site
def pages_by_offset_with_signs() -> ExampleSite:
    rows = [
        f"<tr><td>{n + 1}</td><td><a href='/o/{n}'>{TITLES[n]}</a></td><td>{DAYS[n]}</td></tr>"
        for n in NUMBERS
    ]
    pages = listed(
        rows,
        lambda rows, links: shell(
            f"<table><tr><th>#</th><th>Name</th><th>Added</th></tr>{rows}</table>{links}"
        ),
        lambda n, last: (
            f"/?offset={n * PER_PAGE}" if n else "/",
            f"<div><a href='{{}}/?offset={(n + 1) * PER_PAGE}'>&gt;</a></div>" * (n + 1 < last),
        ),
    )
    return ExampleSite(pages, records(title=TITLES, added=DAYS))


@site
def days_in_attributes_and_numbered_paths() -> ExampleSite:
    rows = [
        f"<article><h2><a href='{{}}/n/{n}'>{TITLES[n]}</a></h2>"
        f"<time datetime='{DAYS[n]}T08:00:00Z'>{n} h ago</time>"
        f"<p>{MAKERS[n]} writes about {TOWNS[n]}</p></article>"
        for n in NUMBERS
    ]
    paths = ["/", "/page-2.html", "/page-3.html"]
    links = "".join(
        f"<li class=page-item><a href='{{}}{path}'>{number}</a></li>" for number, path in enumerate(paths, 1)
    )
    pages = listed(
        rows,
        lambda rows, links: shell(f"<div id=list>{rows}</div><nav class=pagination><ul>{links}</ul></nav>"),
        lambda n, _: (paths[n], links),
    )
    return ExampleSite(pages, records(title=TITLES, date=DAYS))


@site
def links_between_breaks() -> ExampleSite:
    rows = "<br>".join(f"<a href='{{}}/z/{n}'>{TITLES[n]}</a> - {IN_DOLLARS[n]}" for n in NUMBERS)
    links = [f"{{}}/z/{n}" for n in NUMBERS]
    return ExampleSite({"/": shell(f"<div>{rows}</div>")}, records(title=TITLES, link=links))


# Pages of records.


@site
def data_that_disagree_with_the_page() -> ExampleSite:
    def page(n: int) -> str:
        offer = {"@type": "Offer", "price": str(PRICES[n] + 5), "priceCurrency": "EUR"}
        data = {"@context": "https://schema.org", "@type": "Product", "name": TITLES[n], "offers": offer}
        return shell(
            f"<h1>{TITLES[n]}</h1><div><span class=old>{euros(PRICES[n] * 2)}</span>"
            f"<span class=now>{IN_EUROS[n]}"
            f"</span></div><table><tr><th>Maker</th><td>{MAKERS[n]}</td></tr></table>",
            head=f"<script type='application/ld+json'>{json.dumps(data)}</script>",
        )

    return ExampleSite(detailed(page), records(title=TITLES, price=PRICES, maker=MAKERS), ITEMS)


@site
def data_of_a_script_only() -> ExampleSite:
    def page(n: int) -> str:
        product = {"id": n, "name": TITLES[n], "price": PRICES[n], "maker": {"name": MAKERS[n]}}
        data = json.dumps({"props": {"pageProps": {"product": product}}})
        script = f"<script id='__NEXT_DATA__' type='application/json'>{data}</script>"
        return f"<!doctype html><html><body><div id='__next'></div>{script}</body></html>"

    return ExampleSite(detailed(page), records(title=TITLES, price=PRICES, maker=MAKERS), ITEMS)


@site
def value_that_is_there_many_times() -> ExampleSite:
    def page(n: int) -> str:
        near = "".join(
            f"<li><a href='/i'>{TITLES[one]}</a> {IN_DOLLARS[one]}</li>" for one in (n, (n + 1) % COUNT)
        )
        return shell(
            f"<div><a>Home</a> / <a>{TITLES[n]}</a></div><h1>{TITLES[n]}</h1>"
            f"<p>{TITLES[n]} costs {IN_DOLLARS[n]}.</p>"
            f"<div><span>List</span><span>{dollars(PRICES[n] + 10)}</span>"
            f"<span>Price</span><span>{IN_DOLLARS[n]}"
            f"</span></div><div><span>Total</span><span>{IN_DOLLARS[n]}</span></div><ul>{near}</ul>"
        )

    return ExampleSite(detailed(page), records(title=TITLES, price=IN_DOLLARS), ITEMS)


@site
def two_fields_with_one_value() -> ExampleSite:
    stars, reviews = "543215432154", "547918236429"

    def page(n: int) -> str:
        return shell(
            f"<div id=p><h2>{TITLES[n]}</h2><ul><li><span>{stars[n]}</span> stars</li>"
            f"<li><span>{reviews[n]}</span> reviews</li></ul></div>"
        )

    found = records(title=TITLES, stars=list(stars), reviews=list(reviews))
    return ExampleSite(detailed(page), found, ITEMS, shown=(1, 2, 5))


@site
def pages_behind_redirects() -> ExampleSite:
    paths = [f"/goods/{title.lower().replace(' ', '-')}" for title in TITLES]
    links = "".join(f"<li><a href='{{}}/go/{n}'>{TITLES[n]}</a></li>" for n in NUMBERS)
    pages = {
        "/": shell(f"<ul>{links}</ul>"),
        **{
            paths[n]: shell(
                f"<h1>{TITLES[n]}</h1><p class=price>{IN_DOLLARS[n]}</p><p class=by>By {MAKERS[n]}</p>"
            )
            for n in NUMBERS
        },
    }
    moved = {f"/go/{n}": paths[n] for n in NUMBERS}
    found = records(title=TITLES, price=IN_DOLLARS, author=MAKERS)
    return ExampleSite(pages, found, [*moved], moved=moved)


@site
def paragraphs_of_articles() -> ExampleSite:
    bodies = [
        [
            f"{TITLES[n]} says in part {part} that {TOWNS[n]} has changed since {2000 + n}."
            for part in range(2 + n % 2)
        ]
        for n in NUMBERS
    ]

    def page(n: int) -> str:
        months = ("January", "February", "March", "April", "May", "June", "July", "August", "September")
        day = f"{int(DAYS[n][8:])} {months[int(DAYS[n][5:7]) - 1]} 2026"
        text = "".join(f"<p>{one}</p>" for one in bodies[n])
        return shell(
            f"<article><header><h1>{TITLES[n]}</h1><p>By <a rel=author href=/a>{MAKERS[n]}</a></p>"
            f"<p>{day}</p>"
            f"</header>{text}<div class=ad><p>Subscribe now!</p></div></article>"
        )

    found = records(title=TITLES, author=MAKERS, date=DAYS, body=bodies)
    return ExampleSite(detailed(page), found, ITEMS)


@site
def classes_that_change_on_each_page() -> ExampleSite:
    def page(n: int) -> str:
        name = ("a8f3x", "b81kq", "c0zz9")[n % 3]
        more = "<div class=sc-9a8b7c><p>Free shipping!</p></div>" * (n % 2)
        return shell(
            f"<div class=css-{name}1>{more}<div class=css-{name}2><h1>{TITLES[n]}</h1></div>"
            f"<div class=css-{name}4><div>Price</div><div>{IN_DOLLARS[n]}</div></div>"
            f"<div class=css-{name}4><div>Maker</div><div>{MAKERS[n]}</div></div></div>"
        )

    return ExampleSite(detailed(page), records(title=TITLES, price=IN_DOLLARS, maker=MAKERS), ITEMS)


@site
def labelled_items_that_pages_lack() -> ExampleSite:
    def page(n: int) -> str:
        author = f"<li>Author: {MAKERS[n]}</li>" if n % 3 else ""
        return shell(
            f"<h1>{TITLES[n]}</h1><ul>{author}<li>Town: {TOWNS[n]}</li><li>Rating: {RATINGS[n]}/5</li></ul>"
        )

    authors = [maker if n % 3 else None for n, maker in enumerate(MAKERS)]
    found = records(title=TITLES, author=authors, town=TOWNS, rating=RATINGS)
    return ExampleSite(detailed(page), found, ITEMS)


@site
def labels_within_paragraphs() -> ExampleSite:
    def page(n: int) -> str:
        note = str(RATINGS[n]).replace(".", ",")
        return shell(
            f"<div><h1>{TITLES[n]}</h1><p><strong>Prix :</strong> {IN_EUROS[n]}</p>"
            f"<p><strong>Ville :</strong> {TOWNS[n]}</p><p><strong>Note :</strong> {note} / 5</p></div>"
        )

    return ExampleSite(detailed(page), records(title=TITLES, price=IN_EUROS, ville=TOWNS), ITEMS)


@site
def microdata() -> ExampleSite:
    def page(n: int) -> str:
        return shell(
            f"<div itemscope itemtype='https://schema.org/Product'><h1 itemprop=name>{TITLES[n]}</h1>"
            f"<div itemprop=offers itemscope><meta itemprop=price content='{PRICES[n]}'>"
            f"<i>{IN_EUROS[n]}</i></div></div>"
        )

    return ExampleSite(detailed(page), records(title=TITLES, price=PRICES), ITEMS)


@site
def values_in_meta_only() -> ExampleSite:
    def page(n: int) -> str:
        return shell(f"<h1>{TITLES[n]}</h1><p>A thing.</p>", head=f"<meta name=author content='{MAKERS[n]}'>")

    return ExampleSite(detailed(page), records(title=TITLES, author=MAKERS), ITEMS)


@site
def pages_without_any_names() -> ExampleSite:
    def path(n: int) -> str:
        return f"/view.php?id={100 + n}&lang=en"

    def page(n: int) -> str:
        return shell(
            f"<font size=5>{TITLES[n]}</font><table><tr><td><b>Price:</b></td><td>{IN_DOLLARS[n]}</td></tr>"
            f"<tr><td><b>Town:</b></td><td>{TOWNS[n]}</td></tr></table>"
        )

    urls = [path(n) for n in NUMBERS]
    return ExampleSite(detailed(page, path), records(title=TITLES, price=IN_DOLLARS, town=TOWNS), urls)


@site
def tags_and_first_pictures() -> ExampleSite:
    tags: list[Value] = [[TOWNS[n], PLANTS[n], "sale"] for n in NUMBERS]

    def page(n: int) -> str:
        pictures = "".join(f"<img src='{{}}/v/{n}-{one}.jpg'>" for one in range(1 + n % 3))
        marks = "".join(f"<li>{one}</li>" for one in (TOWNS[n], PLANTS[n], "sale"))
        return shell(f"<h1>{TITLES[n]}</h1><div class=gallery>{pictures}</div><ul class=tags>{marks}</ul>")

    pictures = [f"{{}}/v/{n}-0.jpg" for n in NUMBERS]
    return ExampleSite(detailed(page), records(title=TITLES, tags=tags, image=pictures), ITEMS)


@site
def one_record_a_page() -> ExampleSite:
    def page(n: int) -> str:
        more = f"<a href='{{}}/{n + 1}'>Next →</a>" if n + 1 < COUNT else ""
        return shell(f"<div class=quote><p class=say>“{TITLES[n]}”</p><small>{MAKERS[n]}</small></div>{more}")

    pages = {f"/{n}": page(n) for n in NUMBERS}
    return ExampleSite(
        pages, records(text=[f"“{one}”" for one in TITLES], author=MAKERS), [*pages], key="text"
    )
