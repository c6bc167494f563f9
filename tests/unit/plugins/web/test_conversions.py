"""Dates and times as sites write them, and the types of fields."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.reading.dates import as_utc, parse_moment
from agentic.core.types import JSONValue
from agentic.plugins.web.reading.conversions import FieldType, convert

BASE = "http://shop.example/"


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
        (1.299, "number", 1.299),
        (1.299, "price", {"amount": 1.299, "currency": None}),
        (True, "number", None),
        (float("inf"), "integer", None),
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


def test_a_long_text_is_no_moment() -> None:
    assert parse_moment("31 October 2026" + " " * 500) is not None
    assert parse_moment("31 October 2026" + " at" * 200) is None
