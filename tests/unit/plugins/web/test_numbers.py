"""Numbers and prices as the sites of many countries write them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.actors import ActorError
from agentic.core.reading.ambiguous import AmbiguousError
from agentic.plugins.web.actors.extract_detail import ExtractDetailActor
from agentic.plugins.web.reading.currencies import CODES, WORDS
from agentic.plugins.web.reading.numbers import parse_number, parse_price

PRICES: list[tuple[str, float, str | None]] = [
    # How digits are grouped.
    ("₹1,23,456.00", 123456.0, "INR"),
    ("₹ 12,34,567", 1234567.0, "INR"),
    ("CHF 1'290.50", 1290.5, "CHF"),
    ("CHF 1’290.50", 1290.5, "CHF"),
    ("1 290,50 €", 1290.5, "EUR"),
    ("1\u202f290,50\xa0€", 1290.5, "EUR"),
    ("1\u2009290,50 €", 1290.5, "EUR"),
    ("10.000,00 TL", 10000.0, "TRY"),
    ("1.234.567 ₫", 1234567.0, "VND"),
    ("1,234,567.89 USD", 1234567.89, "USD"),
    ("1.234,567 €", 1234.567, "EUR"),
    ("2 349,00 €", 2349.0, "EUR"),
    ("$ 19 . 99", 19.99, "USD"),
    ("19 , 99 €", 19.99, "EUR"),
    ("1 290 ,50 €", 1290.5, "EUR"),
    ("1,290 .50 USD", 1290.5, "USD"),
    ("£2·50", 2.5, "GBP"),
    ("12‚50 €", 12.5, "EUR"),
    ("1'290 , 50 CHF", 1290.5, "CHF"),
    ("-5 , 99 €", -5.99, "EUR"),
    ("€19.99·12 left", 19.99, "EUR"),
    # A dash for no whole units, and as a separator.
    ("-,99 €", 0.99, "EUR"),
    ("–,99 €", 0.99, "EUR"),
    ("ab -,99 €", 0.99, "EUR"),
    ("CHF -.95", 0.95, "CHF"),
    ("Fr. -.50", 0.5, "CHF"),
    ("–.95", 0.95, None),
    ("-.95", 0.95, None),
    ("—$19.99", 19.99, "USD"),
    ("–€19.99", 19.99, "EUR"),
    ("−€19.99", -19.99, "EUR"),
    # Cents behind the currency, or raised.
    ("5 € 50", 5.5, "EUR"),
    ("12 euros 05", 12.05, "EUR"),
    ("19⁹⁹ €", 19.99, "EUR"),
    ("$1,299⁹⁵", 1299.95, "USD"),
    # Units of ten thousand.
    ("1万2千円", 12000.0, "JPY"),
    ("3億5,000万円", 350000000.0, "JPY"),
    ("3千万円", 30000000.0, "JPY"),
    ("1억 2천만원", 120000000.0, "KRW"),
    ("1.5万元", 15000.0, None),
    ("3百円", 300.0, "JPY"),
    ("5千3百万円", 53000000.0, "JPY"),
    ("3만 5천원", 35000.0, "KRW"),
    ("12만3456원", 123456.0, "KRW"),
    # No cents.
    ("1.299,- €", 1299.0, "EUR"),
    ("1.299,--", 1299.0, None),
    ("1.299,—", 1299.0, None),
    ("5,–", 5.0, None),
    ("CHF 1’290.–", 1290.0, "CHF"),
    ("199:-", 199.0, None),
    ("$.99", 0.99, "USD"),
    ("€ ,99", 0.99, "EUR"),
    # Other digits and signs.
    ("１，２９９円", 1299.0, "JPY"),
    ("٣٤٫٥٠ د.إ", 34.5, "AED"),
    ("۱۲۳", 123.0, None),
    ("१,२३,४५६.०० ₹", 123456.0, "INR"),
    ("−5 €", -5.0, "EUR"),
    ("-$5", -5.0, "USD"),
    ("$-5", -5.0, "USD"),
    # Dollars.
    ("CA$ 20.00", 20.0, "CAD"),
    ("C$20", 20.0, "CAD"),
    ("$20 CAD", 20.0, "CAD"),
    ("20.00 $US", 20.0, "USD"),
    ("HK$ 450", 450.0, "HKD"),
    ("S$12.90", 12.9, "SGD"),
    ("NZ$5.50", 5.5, "NZD"),
    ("NT$ 1,200", 1200.0, "TWD"),
    ("MX$ 5", 5.0, "MXN"),
    ("AU$6", 6.0, "AUD"),
    ("R$ 1.299,90", 1299.9, "BRL"),
    ("US$1,299", 1299.0, "USD"),
    ("XY$ 5", 5.0, None),
    ("$20 EUR", 20.0, None),
    # Codes and words.
    ("EUR1.50", 1.5, "EUR"),
    ("USD1,299.00", 1299.0, "USD"),
    ("1299SEK", 1299.0, "SEK"),
    ("12,50 eur", 12.5, "EUR"),
    ("5 euros", 5.0, "EUR"),
    ("EUR 20 €", 20.0, "EUR"),
    ("Price (USD): 1,299.00", 1299.0, "USD"),
    ("Price in EUR, all taxes included: 20", 20.0, "EUR"),
    ("Fr. 12.50", 12.5, "CHF"),
    ("12,50 zł", 12.5, "PLN"),
    ("99 Kč", 99.0, "CZK"),
    ("5 000 Ft", 5000.0, "HUF"),
    ("Rp 99.000", 99000.0, "IDR"),
    ("500₫", 500.0, "VND"),
    ("₩1,000", 1000.0, "KRW"),
    ("1,299円", 1299.0, "JPY"),
    # Several currencies are written so: none is better than a wrong one.
    ("¥1,000", 1000.0, None),
    ("1 299 kr", 1299.0, None),
    ("Rs.1,500", 1500.0, None),
    ("300 lei", 300.0, None),
    ("TOP 10", 10.0, None),
    ("ALL 5 FOR $10", 10.0, "USD"),
    # A thousand, as amounts have two decimals at most.
    ("1.299 €", 1299.0, "EUR"),
    ("€ 1.299", 1299.0, "EUR"),
    ("€1,299", 1299.0, "EUR"),
    ("£1,299", 1299.0, "GBP"),
    ("$12.990 CLP", 12990.0, "CLP"),
    ("0.125 €", 0.125, "EUR"),
    ("1299.000", 1299.0, None),
    # The number at the currency.
    ("2 for $349", 349.0, "USD"),
    ("2 pairs from € 349", 349.0, "EUR"),
    ("16 GB 299 €", 299.0, "EUR"),
    ("A4 paper 5 €", 5.0, "EUR"),
    ("iPhone15 799", 799.0, None),
    ("-20% $15", 15.0, "USD"),
    ("19,99 € inkl. 19% MwSt.", 19.99, "EUR"),
    ("3.98 € (7.96 €/kg)", 3.98, "EUR"),
    ("19,99 € (1 kg = 3,98 €)", 19.99, "EUR"),
    ("19,99 € (3,98 €/100 g)", 19.99, "EUR"),
    ("$20.00$20.00", 20.0, "USD"),
    # Cents, and words that multiply.
    ("19€99", 19.99, "EUR"),
    ("99¢", 0.99, None),
    ("$1.5M", 1_500_000.0, "USD"),
    ("$10k", 10_000.0, "USD"),
    ("1.1 Mio. €", 1_100_000.0, "EUR"),
    ("₹1.5 lakh", 150_000.0, "INR"),
    ("3万円", 30_000.0, "JPY"),
]


@pytest.mark.parametrize(("text", "amount", "currency"), PRICES)
def test_a_price_is_read_as_its_country_writes_it(text: str, amount: float, currency: str | None) -> None:
    assert parse_price(text) == {"amount": amount, "currency": currency}


@pytest.mark.parametrize(
    ("text", "amount"), [(text, amount) for text, amount, currency in PRICES if currency]
)
def test_a_number_with_a_currency_is_the_amount_of_the_price(text: str, amount: float) -> None:
    assert parse_number(text, whole=False) == amount


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("$10 - $20", "several amounts (10, 20)"),
        ("10-20 €", "several amounts (10, 20)"),
        ("$10–20", "several amounts (10, 20)"),
        ("10 to 20 €", "several amounts (10, 20)"),
        ("was $20 now $15", "several amounts (15, 20)"),
        ("$25$20", "several amounts (20, 25)"),
        ("100 USD / 85 EUR", "several amounts (85, 100)"),
        ("2 pairs from 349", "several amounts (2, 349)"),
        ("1.299", "may be 1299 or 1.299"),
        ("1,299", "may be 1299 or 1.299"),
        ("$1.299", "may be 1299 or 1.299"),
        ("1,299 €", "may be 1299 or 1.299"),
        ("1,799 €/l", "may be 1799 or 1.799"),
        ("€1.799 / l", "may be 1799 or 1.799"),
        ("1.250 KWD", "may be 1250 or 1.250"),
        ("99p", "may be an amount or cents"),
        ("$5m", "may mean millions"),
        ("19:90 kr", "is not written like an amount"),
        ("19, 99 €", "may be one number or two"),
        ("$19. 99", "may be one number or two"),
        ("from 19 , 99 €", "may be one number or two"),
        ("19 ,99 € each", "may be one number or two"),
        ("$19 99", "may be one number or two"),
        ("5 €50", "may be one number or two"),
        ("3万5円", "may end with single units or with thousands"),
        ("100万 80万", "several amounts"),
        ("3億 5000万", "several amounts"),
        ("3천 2천", "several amounts"),
        ("5천 3백만", "several amounts"),
        ("$12B", "may mean billions"),
        ("4 , 12 reviews", "several amounts"),
    ],
)
def test_a_text_that_may_be_several_prices_is_none(text: str, reason: str) -> None:
    with pytest.raises(AmbiguousError) as caught:
        parse_price(text)
    assert reason in str(caught.value)


@pytest.mark.parametrize("text", ["", "Sold out", "Free", "20%", "12.10.2025", "1.2.3", "$", "192.168.1.1"])
def test_a_text_without_a_price_is_none(text: str) -> None:
    assert parse_price(text) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("£51.77", 51.77),
        ("1 234 567 people", 1_234_567),
        ("-3 degrees", -3),
        ("SKU-77", 77),
        ("12 34", 12),
        ("10-20 days", 10),
        ("1.234,5", 1234.5),
        ("1.234.567", 1_234_567),
        ("1.2k followers", 1200),
        ("3,4 Mio. Aufrufe", 3_400_000),
        ("5 m wide", 5),
        ("4,5 of 5", 4.5),
        ("20%", 20),
        ("1,2,3", None),
        ("1.2E+3", 1200),
        ("6e23", 6e23),
        ("2.5e-3 m", 0.0025),
        ("7e5", 700_000),
        ("Model 12E4", 12),
        ("1½ cups", 1.5),
        ("1 ¾", 1.75),
        ("⅓", 0.3333333333),
        ("-.5", -0.5),
        ("Change: -.5", -0.5),
        ("-,5", 0.5),
        ("CHF -.95", 0.95),
        ("–.95", 0.95),
        ("–12 °C", -12),
        ("— 12", 12),
        ("1·5", 1.5),
        ("1.2B views", 1_200_000_000),
        ("12 , 34 , 56", 12),
        ("2억 명", 200_000_000),
        ("1.2万 3千", 12_000),
        ("1.2万3千", 12_000),
        ("100万 80万", 1_000_000),
        ("1万2万", 10_000),
        ("1,5万", 15_000),
        ("2百十", 2),
        ("1兆2億", 1),
        ("4.5·12 reviews", 4.5),
        ("4·20 reviews", 4),
        ("4 , 12 reviews", 4),
        ("Sizes 36 , 38", 36),
        ("36 , 38", 36),
        ("3 , 85 m²", 3),
        ("Rated 4 . 20 reviews", 4),
        ("19 ,99", 19.99),
        ("8.336.817¹²", 8_336_817),
        ("10¹²", 10),
        ("1.79E10 €/l", 10),
        ("Super 1.79E10", 1.79),
        ("-1.5e6", -1_500_000),
        ("12B", 12),
        ("221B Baker Street", 221),
        ("Apartment 4B", 4),
        ("512B", 512),
        ("none", None),
    ],
)
def test_numbers_are_found_in_text(text: str, number: float | None) -> None:
    assert parse_number(text, whole=False) == number


@pytest.mark.parametrize(
    ("text", "number"), [("1,234 left", 1234), ("1.234", 1234), ("4.5", None), ("1.2k", 1200)]
)
def test_a_whole_number_has_no_fraction(text: str, number: int | None) -> None:
    assert parse_number(text, whole=True) == number


def test_the_character_before_a_fraction_can_be_given() -> None:
    assert parse_number("1.299", whole=False, decimal=",") == 1299
    assert parse_number("1.299", whole=False, decimal=".") == 1.299
    assert parse_price("1,299 €", decimal=",") == {"amount": 1.299, "currency": "EUR"}
    assert parse_number("1,50", whole=False, decimal=".") is None


@given(st.integers(-(10**12), 10**12))
def test_a_grouped_whole_number_is_read_as_what_it_is(number: int) -> None:
    assert parse_number(f"about {number:,} items", whole=True) == number


def _indian(whole: int) -> str:
    head, last = divmod(whole, 1000)
    text = f"{last:03d}"
    while head:
        head, group = divmod(head, 100)
        text = f"{group:02d},{text}"
    return text.lstrip("0,") or "0"


GROUPED = {
    ".": [
        lambda n: f"{n:,}",
        lambda n: f"{n:,}".replace(",", "'"),
        lambda n: f"{n:,}".replace(",", " "),
        _indian,
        str,
    ],
    ",": [lambda n: f"{n:,}".replace(",", "."), lambda n: f"{n:,}".replace(",", "\xa0"), str],
}
AROUND = ["{}", "${}", "{} €", "EUR {}", "{} kr", "2 for £{}", "{} CHF", "only {} zł*", "{} €/kg"]


@given(
    whole=st.integers(0, 10**9),
    cents=st.none() | st.integers(0, 99),
    style=st.sampled_from([(decimal, way) for decimal, ways in GROUPED.items() for way in ways]),
    around=st.sampled_from(AROUND),
)
def test_no_amount_is_a_hundred_or_a_thousand_times_off(
    whole: int, cents: int | None, style: tuple[str, Any], around: str
) -> None:
    decimal, way = style
    number = way(whole) + ("" if cents is None else f"{decimal}{cents:02d}")
    try:
        found = parse_price(around.format(number))
    except AmbiguousError:
        assert cents is None and 1000 <= whole < 10**6  # noqa: PT018 - the only case: one group, no cents
        return
    assert found is not None
    assert found["amount"] == float(f"{whole}.{cents or 0:02d}")


@given(st.text(max_size=60))
def test_any_text_is_a_number_or_none(text: str) -> None:
    with suppress(AmbiguousError):
        assert parse_price(text) is None or any(map(str.isnumeric, text))
    with suppress(AmbiguousError):
        assert parse_number(text, whole=False) is None or any(map(str.isnumeric, text))


@pytest.mark.parametrize("code", sorted(CODES - WORDS))
def test_each_code_is_read_glued_before_and_behind(code: str) -> None:
    assert parse_price(f"{code}1.50") == parse_price(f"1.50{code}") == {"amount": 1.5, "currency": code}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1" * 400_000, None),
        ("1.111" * 100_000, None),
        ("1," * 200_000, None),
        ("1 111 " * 300 + "x", 1111),
        (".111" * 100_000, None),
        ("$1 " * 600, 1),
        ("- " * 900, None),
    ],
)
def test_a_text_made_of_digits_is_read_at_once(text: str, number: float | None) -> None:
    # An engine that tries again from each digit takes minutes.
    assert parse_number(text, whole=False) == number


@pytest.mark.parametrize("whole", [True, False])
def test_a_number_that_no_program_could_use_is_none(whole: bool) -> None:
    assert parse_number("9" * 5_000, whole=whole) is None
    assert parse_number("1" + ".000" * 2_000, whole=whole) is None
    assert parse_number("9" * 300 + " billion", whole=whole) is None


async def price_of(act: Any, page: Any, html: str, **rule: object) -> Any:
    schema = {"price": {"selector": ".price", "type": "price", **rule}}
    return (
        await act(ExtractDetailActor, page=page(f'<span class="price">{html}</span>'), schema=schema)
    ).item["price"]


@pytest.mark.parametrize(
    ("html", "amount"),
    [
        ("$19<sup>99</sup>", 19.99),
        ("<span>68</span><span>50</span> €", 68.5),
        ("<b>1,299</b><sup>99</sup> $", 1299.99),
        ("<b>$</b><b>19</b><b>.</b><b>99</b>", 19.99),
        ("$<span>19</span>\n <sup>99</sup>", 19.99),
        ("$<span>19</span> <span class='price-cents'>99</span>", 19.99),
        ("<span>19,</span> <small>99</small> €", 19.99),
        ("€<div>19</div><div class=fraction>99</div>", 19.99),
        ("<i>$19.99</i><i>$<b>19<i>.</i></b><b>99</b></i>", 19.99),
        ("<del>$25.00</del> <ins>$20.00</ins>", 20.0),
        ("<s>25</s><span>20</span> €", 20.0),
        ("<span>$20</span><style>.a{top:5px}</style>", 20.0),
        ("<del>$25.00</del>", 25.0),
        ("<bdi><span>€</span>1.299,00</bdi>", 1299.0),
        ("<b>19</b>\n<b>,</b>\n<b>99</b> €", 19.99),
        ("19 <small>,99</small> €", 19.99),
        ("19,99 €<sup>1</sup>", 19.99),
        ("1.299,00 € <sup>12</sup>", 1299.0),
        ("1.299 €<sup>3</sup>", 1299.0),
        ("19 €<sup>99</sup>", 19.99),
    ],
)
async def test_cents_in_an_element_of_their_own_are_cents(
    act: Any, page: Any, html: str, amount: float
) -> None:
    assert (await price_of(act, page, html))["amount"] == amount
    xpath = {"selector": None, "xpath": "//*[@class='price']"}
    assert (await price_of(act, page, html, **xpath))["amount"] == amount


@pytest.mark.parametrize(
    "html",
    [
        "<span>6</span><span>8</span> €",
        "<span>1</span><span>299</span> €",
        "1.79<sup>9</sup> €",
        "<span>19</span> <span>99</span> €",
        "<b>25</b><b>20</b><b>15</b> €",
    ],
)
async def test_digits_of_several_elements_that_may_be_several_numbers_are_a_failure(
    act: Any, page: Any, html: str
) -> None:
    with pytest.raises(ActorError, match="may be one number or") as caught:
        await price_of(act, page, html, required=True)
    assert caught.value.failure_class == "schema_invalid"


async def test_a_pattern_reads_cents_behind_a_point(act: Any, page: Any) -> None:
    found = await price_of(act, page, "now $19<sup>99</sup> <i>12</i>", regex=r"now (\S+)")
    assert found == {"amount": 19.99, "currency": "USD"}


@pytest.mark.parametrize(
    "text", ["12", "12.5", "12,50", "€12,50", "1,234.50 EUR", "USD 1,234,567.89", "£0.99", "0.5€"]
)
def test_the_short_way_for_usual_prices_reads_as_the_long_way(text: str) -> None:
    assert parse_price(text) == parse_price(f" {text} ")  # blanks are none of the short way
