"""Amounts, days and signs as sites write them, compared with the values that a run stored."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.types import JSONValue
from agentic.core.wrappers import Kind
from agentic.core.wrappers.amounts import amounts_of
from agentic.core.wrappers.values import agreement


@pytest.mark.parametrize(
    ("shown", "stored"),
    [
        ("$1,299.00", 1299.0),
        ("1.299,00 €", 1299.0),
        ("1\u202f299,00 €", 1299.0),
        ("1 299,00 € 1 499,00 €", 1299.0),
        ("CHF 1'299.50", 1299.5),
        ("₹1,29,900", 129900.0),
        ("1.299 €", 1299.0),
        ("1.299", 1.299),
        ("4,5 von 5", 4.5),
        ("5 421 000", 5421000),
        ("12 345 reviews", 12345),
        ("482.4 bn", 482.4),
        ("3 Mio.", 3_000_000),
    ],
)
def test_number_is_read_in_the_ways_of_any_country(shown: str, stored: float) -> None:
    assert agreement(Kind.NUMBER, [" ".join(shown.split())], stored) == 1.0


@pytest.mark.parametrize(
    ("shown", "stored", "agrees"),
    [
        ("15.2k views", 15230, 0.9),
        ("15.2k views", 15400, 0.0),
        ("1.2M", 1_234_567, 0.9),
        ("12k", 12_900, 0.9),
        ("1,234k", 1_234_567, 0.9),
        ("1999 €", 19.99, 0.9),  # the cents may stand in an element of their own
        ("¥1999", 19.99, 0.0),
        ("12 345", 12, 0.9),
    ],
)
def test_text_agrees_less_with_numbers_that_it_may_stand_for(
    shown: str, stored: float, agrees: float
) -> None:
    assert agreement(Kind.NUMBER, [shown], stored) == agrees


@pytest.mark.parametrize("text", ["05.03.2024", "1.2.3", "no number", "9" * 100])
def test_dates_versions_and_long_texts_are_not_amounts(text: str) -> None:
    assert amounts_of(text) == ()


@pytest.mark.parametrize(
    ("shown", "is_same"),
    [
        ("5 Mar 2024 10:00", True),
        ("2024-03-05", True),
        ("2024-03-05 18:30", False),
        ("5 Mar 2024, 9:00", False),
    ],
)
def test_two_moments_of_a_day_are_not_the_same(shown: str, *, is_same: bool) -> None:
    assert (agreement(Kind.TEXT, [shown], "2024-03-05 10:00") == 1.0) is is_same


@given(st.integers(0, 10**12))
def test_whole_number_is_read_whether_its_digits_are_grouped_or_not(number: int) -> None:
    forms = (str(number), f"{number:,}", f"{number:,}".replace(",", " "))
    assert all(agreement(Kind.NUMBER, [form], number) == 1.0 for form in forms)


@given(st.text(max_size=90))
def test_every_text_has_some_amounts_or_none(text: str) -> None:
    assert all(one.value >= 0 for one in amounts_of(text))


@pytest.mark.parametrize(
    "shown",
    [
        "March 5, 2024",
        "5. März 2024",
        "05.03.2024",
        "03/05/2024",
        "Posted on 5 Mar 2024",
        "2024-03-05T08:00:00Z",
    ],
)
def test_day_that_is_written_otherwise_is_the_stored_day(shown: str) -> None:
    assert agreement(Kind.TEXT, [shown], "2024-03-05") >= 0.9


@pytest.mark.parametrize(
    ("shown", "stored"),
    [
        ("2024", "2024-03-05"),
        ("June 30, 2024", "2024-03-05"),
        ("AL", "AL-4001"),
        ("€70,000", "€70,000 - €90,000"),
    ],
)
def test_part_of_a_stored_value_is_not_the_value(shown: str, stored: JSONValue) -> None:
    assert agreement(Kind.TEXT, [shown], stored) < 0.9
