"""Prices, dates, missing fields and JSON-LD as shops write them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from tests.bench.web.model import Answer, Case, ExpectedRow, Field, OneOf, Value, page

TITLE = {"title": Field("h1")}
PRICE = {"price": Field(".price", "price")}
DAY = {"day": Field(".day", "date")}
PRODUCT = {"name": Field(jsonld="Product.name"), "price": Field(kind="number", jsonld="Product.offers.price")}


def of_values(
    name: str,
    trouble: str,
    expects: str,
    fields: dict[str, Field],
    pages: Sequence[tuple[str, Value | OneOf]],
    *,
    kind: str,
    must_report: bool = False,
) -> Case:
    """Return the case of pages with one field each; the first page leads to the others."""
    (field, rule), *_ = fields.items()
    links = "".join(f"<a href='/{number}'>x</a>" for number in range(1, len(pages)))
    bodies = [f"<h1>Item</h1><p class={rule.css[1:]}>{markup}</p>" for markup, _ in pages]
    return Case(
        name=name,
        kind=kind,
        trouble=trouble,
        expects=expects,
        routes={
            "/": Answer(body=page(bodies[0] + links)),
            **{f"/{number}": Answer(body=page(body)) for number, body in enumerate(bodies) if number},
        },
        fields={**TITLE, **fields},
        rows=[{field: value} for _, value in pages],
        named_by=(field,),
        must_report=must_report,
    )


def money(amount: float, *currencies: str | None) -> OneOf:
    """Return a price whose currency may be any of these."""
    return OneOf(tuple({"amount": amount, "currency": one} for one in currencies))


PRICES = (
    of_values(
        "price-groups",
        "`₹2,45,000.00`, `CHF 1'450.50`, `1 450,50 €`, `1.450,50 €`",
        "245000 INR, 1450.5 CHF, 1450.5 EUR twice",
        PRICE,
        [
            ("₹2,45,000.00", money(245_000, "INR")),
            ("CHF 1'450.50", money(1450.5, "CHF")),
            ("1\u00a0450,50 €", money(1450.5, "EUR")),
            ("1.450,50 €", money(1450.5, "EUR")),
        ],
        kind="prices",
    ),
    of_values(
        "price-dollars",
        "`HK$ 380`, `CA$24.00`, `NZ$7.50`, `20 US$`",
        "the amounts, each in its own dollars or without a currency",
        PRICE,
        [
            ("HK$ 380", money(380, "HKD", None)),
            ("CA$24.00", money(24, "CAD", None)),
            ("NZ$7.50", money(7.5, "NZD", None)),
            ("20 US$", money(20, "USD", None)),
        ],
        kind="prices",
    ),
    of_values(
        "price-cents",
        "cents in an element of their own: `<b>$24</b><sup>95</sup>`",
        "24.95 USD and 18.5 EUR",
        PRICE,
        [
            ("<b>$24</b><sup>95</sup>", money(24.95, "USD")),
            ("<span>18</span><span class=cents>50</span> €", money(18.5, "EUR")),
        ],
        kind="prices",
    ),
    of_values(
        "price-count",
        "another number comes first: `4 chairs for $260`",
        "the amount at the currency",
        PRICE,
        [("4 chairs for $260", money(260, "USD")), ("Pack of 6: €14.90", money(14.9, "EUR"))],
        kind="prices",
    ),
    of_values(
        "price-old",
        "the old price is struck: `<del>$30</del> $24`",
        "24 USD",
        PRICE,
        [("<del>$30.00</del> $24.00", money(24, "USD"))],
        kind="prices",
    ),
    of_values(
        "price-range",
        "two prices: `$15 - $40`",
        "no price, and a report",
        PRICE,
        [("$15 - $40", None)],
        kind="prices",
        must_report=True,
    ),
    Case(
        name="price-sold",
        kind="prices",
        trouble="the page says `Sold out` in place of the price, on the second visit",
        expects="the row has no price",
        routes={
            "/": (
                Answer(body=page("<h1>Lamp</h1><p class=price>$45</p>")),
                Answer(body=page("<h1>Lamp</h1><p class=price>Sold out</p>")),
            )
        },
        fields={**TITLE, **PRICE},
        rounds=2,
        rows=[{"title": "Lamp", "price": None}],
        named_by=("price",),
    ),
)

DATES = (
    of_values(
        "date-spellings",
        "`7. März 2026`, `Sept. 9, 2026`, `Published on March 7th, 2026`, `2026年3月7日`",
        "these days",
        DAY,
        [
            ("7. März 2026", "2026-03-07"),
            ("Sept. 9, 2026", "2026-09-09"),
            ("Published on March 7th, 2026", "2026-03-07"),
            ("2026年3月7日", "2026-03-07"),
        ],
        kind="dates",
    ),
    of_values(
        "date-zone",
        "`Sat, 07 Mar 2026 09:30:00 EST`",
        "14:30 UTC",
        {"moment": Field(".moment", "datetime")},
        [("Sat, 07 Mar 2026 09:30:00 EST", "2026-03-07T14:30:00+00:00")],
        kind="dates",
    ),
    of_values(
        "date-part",
        "not a whole date: `March 2026`, `from 9 to 17`",
        "no date, or a report: no day is invented",
        DAY,
        [("March 2026", None), ("from 9 to 17", None)],
        kind="dates",
    ),
    of_values(
        "date-ago",
        "`5 days ago`",
        "that day",
        DAY,
        [("5 days ago", (datetime.now(UTC) - timedelta(days=5)).date().isoformat())],
        kind="dates",
    ),
)


def of_product(name: str, trouble: str, expects: str, *scripts: str, rows: Sequence[ExpectedRow]) -> Case:
    """Return the case of a product page with scripts of JSON-LD."""
    markup = "".join(f'<script type="application/ld+json">{script}</script>' for script in scripts)
    return Case(
        name=name,
        kind="JSON-LD",
        trouble=trouble,
        expects=expects,
        routes={"/": Answer(body=page("", markup))},
        fields=PRODUCT,
        rows=rows,
        named_by=("json",),
    )


GOOD: Sequence[ExpectedRow] = [{"name": "Oak desk", "price": 310.0}]

SCRIPTS = (
    of_product(
        "jsonld-commas",
        "a comma too many, and a comment",
        "its values",
        '{"@type": "Product", "name": "Oak desk", /* net */ "offers": {"price": "310.00",},}',
        rows=GOOD,
    ),
    of_product(
        "jsonld-quotes",
        'quotes that are not escaped: `"27" screen"`',
        "its values",
        '{"@type": "Product", "name": "27" screen", "offers": {"price": "310.00"}}',
        rows=[{"name": '27" screen', "price": 310.0}],
    ),
    of_product(
        "jsonld-cdata",
        "wrapped in `//<![CDATA[`, with a line break inside a text",
        "its values",
        '//<![CDATA[\n{"@type": "Product", "name": "Oak\ndesk", "offers": {"price": "310.00"}}\n//]]>',
        rows=[{"name": OneOf(("Oak desk", "Oak\ndesk")), "price": 310.0}],
    ),
    of_product(
        "jsonld-half",
        "one script is cut off, the next one is whole",
        "the values of the whole one",
        '{"@type": "BreadcrumbList", "itemListElement": [{"@type": "ListItem", "na',
        '{"@type": "Product", "name": "Oak desk", "offers": {"price": "310.00"}}',
        rows=GOOD,
    ),
)

CASES = (*PRICES, *DATES, *SCRIPTS)
