"""Numbers, prices, dates and times as sites write them."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.reading.dates import as_utc, parse_moment
from agentic.core.types import JSONValue
from agentic.plugins.web.reading.conversions import FieldType, convert
from agentic.plugins.web.reading.numbers import parse_number, parse_price

BASE = "http://shop.example/"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("£51.77", 51.77),
        ("1 234 567 people", 1_234_567),
        ("-3 degrees", -3),
        ("1,234.50 EUR", 1234.5),
        ("12 34", 12),
        ("12,50 €", 12.5),
        ("1.234,5", 1234.5),
        ("1 234,50 zł", 1234.5),
        ("1.234.567", 1_234_567),
        ("1,2,3", 1),
        ("none", None),
    ],
)
def test_numbers_are_found_in_text(text: str, number: float | None) -> None:
    assert parse_number(text, whole=False) == number


@given(st.integers(-(10**12), 10**12))
def test_a_grouped_number_is_read_as_what_it_is(number: int) -> None:
    assert parse_number(f"about {number:,} items", whole=True) == number


@given(st.floats(0, 10**9).map(lambda x: round(x, 2)))
def test_a_price_is_read_as_what_it_is_wherever_it_is_written(price: float) -> None:
    english = f"{price:,.2f} EUR"
    german = english.replace(",", "_").replace(".", ",").replace("_", ".")
    assert parse_number(english, whole=False) == parse_number(german, whole=False) == price


@pytest.mark.parametrize(
    ("text", "amount", "currency"),
    [
        ("from 1,299.00 USD", 1299.0, "USD"),
        ("12,50 €", 12.5, "EUR"),
        ("R$ 10", 10.0, "BRL"),
        ("NOW 5 PLN", 5.0, "PLN"),
        ("7 gold coins", 7.0, None),
    ],
)
def test_a_price_has_an_amount_and_a_currency_if_one_is_named(
    text: str, amount: float, currency: str | None
) -> None:
    assert parse_price(text) == {"amount": amount, "currency": currency}


@pytest.mark.parametrize(
    "text",
    [
        "2026-10-31",
        " 31 October 2026 ",
        "October 31st, 2026",
        "Sat, 31 Oct 2026",
        "Saturday 31 October 2026",
        "2026/10/31",
        "31.10.2026",
    ],
)
def test_a_day_is_read_however_it_is_written(text: str) -> None:
    assert parse_moment(text) == date(2026, 10, 31)


@pytest.mark.parametrize(
    "text",
    [
        "2026-10-31T14:04:00+00:00",
        "2026-10-31 14:04:00Z",
        "Sat, 31 Oct 2026 14:04:00 GMT",
        "31 October 2026 16:04 +0200",
        "October 31, 2026 at 2:04 pm UTC",
    ],
)
def test_a_time_is_read_with_its_zone(text: str) -> None:
    assert parse_moment(text) == datetime(2026, 10, 31, 14, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [("1 May 2026 12:30 am", (2026, 5, 1, 0, 30)), ("1 May 2026 12:30 pm", (2026, 5, 1, 12, 30))],
)
def test_noon_and_midnight_are_told_apart(text: str, moment: tuple[int, int, int, int, int]) -> None:
    assert parse_moment(text) == datetime(*moment)  # noqa: DTZ001 - the text names no zone


@pytest.mark.parametrize("text", ["03/04/2026", "soon", "", "2026-13-01", "31 Foo 2026", "2026-10-31T99:00"])
def test_what_may_mean_two_days_or_none_is_no_day(text: str) -> None:
    assert parse_moment(text) is None


@pytest.mark.parametrize(("pattern", "day"), [("%d/%m/%Y", date(2026, 4, 3)), ("%m/%d/%Y", date(2026, 3, 4))])
def test_a_pattern_says_how_a_date_is_written(pattern: str, day: date) -> None:
    assert parse_moment("03/04/2026", pattern) == day


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_time_in_iso_8601_is_read_as_what_it_is(moment: datetime) -> None:
    assert parse_moment(moment.isoformat()) == moment


def test_a_moment_without_a_zone_is_taken_for_utc() -> None:
    assert as_utc(date(2026, 1, 2)) == datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "kind", "converted"),
    [
        (5, "string", "5"),
        (True, "string", "true"),
        (5.0, "integer", 5),
        (5.5, "integer", None),
        ({"a": 1}, "string", None),
        ({"a": 1}, "json", {"a": 1}),
        (False, "boolean", False),
        ("../a", "url", "http://shop.example/a"),
        ("31.10.2026", "datetime", "2026-10-31T00:00:00"),
        ("31 Oct 2026 10:00", "date", "2026-10-31"),
    ],
)
def test_what_json_ld_has_becomes_the_type_that_is_asked_for(
    value: JSONValue, kind: FieldType, converted: JSONValue
) -> None:
    assert convert(value, kind, BASE) == converted


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1" * 400_000, None),
        ("1.111" * 100_000, 1.1111),
        ("1," * 200_000, 1),
        ("1 111 " * 60_000 + "x", 1111),
        (".111" * 100_000, None),
    ],
)
def test_a_text_made_of_digits_is_read_at_once(text: str, number: float | None) -> None:
    # An engine that tries again from each digit takes minutes.
    assert parse_number(text, whole=False) == number
    assert parse_price(text) == (None if number is None else {"amount": number, "currency": None})


@pytest.mark.parametrize("whole", [True, False])
def test_a_number_that_no_program_could_use_is_none(whole: bool) -> None:
    assert parse_number("9" * 5_000, whole=whole) is None
    assert parse_number("1" + ".000" * 2_000, whole=whole) is None


def test_a_long_text_is_no_moment() -> None:
    assert parse_moment("31 October 2026" + " " * 500) is not None
    assert parse_moment("31 October 2026" + " at" * 200) is None
