"""Dates and times as sites write them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentic.core.reading.ambiguous import AmbiguousError
from agentic.core.reading.dates import as_utc, parse_moment, read_moment
from agentic.core.reading.names_of_dates import MONTHS


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


def test_a_long_text_is_no_moment() -> None:
    assert parse_moment("31 October 2026" + " " * 500) is not None
    assert parse_moment("31 October 2026" + " at" * 200) is None


DAY = date(2025, 11, 3)


@pytest.mark.parametrize(
    "text",
    [
        "Nov 3, 2025",
        "3 November 2025",
        "3. Nov. 2025",
        "03.11.2025",
        "3. 11. 2025",
        "2025/11/03",
        "2025.11.03",
        "3rd November 2025",
        "November 3rd 2025",
        "3rd of November, 2025",
        "Monday, 3 November 2025",
        "Mon Nov 3 2025",
        "03-Nov-2025",
        "Nov-03-2025",
        "2025-Nov-03",
        "2025-W45-1",
        "13/11/2025",
        "Montag, 3. November 2025",
        "den 3. November 2025",
        "3 novembre 2025",
        "lun. 3 nov. 2025",
        "3 de noviembre de 2025",
        "3 de novembro de 2025",
        "3 noviembre, 2025",
        "3 ноября 2025 г.",
        "3 листопада 2025",
        "3 listopada 2025",
        "3. listopadu 2025",
        "3 Kasım 2025",
        "3. marraskuuta 2025",
        "2025. november 3.",
        "3 november 2025",
        "3 noiembrie 2025",
        "3 Νοεμβρίου 2025",
        "3 ноември 2025",
        "3. novembar 2025",
        "2025 lapkričio 3",
        "3. novembris 2025",
        "3 نوفمبر 2025",
        "3 בנובמבר 2025",
        "3 November 2025, Monday",
        "3 tháng 11, 2025",
        "ngày 3 tháng 11 năm 2025",
        "2025. 11. 3.",
        "2025 - 11 - 03",
        "2025\u201111\u201103",
        "\u200e3\u200f November\u200e 2025",
        "\u200e2025\u200e/\u200e11\u200e/\u200e3",
        "2025年11月3日",
        "2025年11月3日(月)",
        "2025년 11월 3일",
        "Posted on November 3, 2025",
        "Published: 3 Nov 2025 by Ann",
        "Nov 3, 2025 · 5 min read",
        "٣ نوفمبر",
        "Nov 3, 2025 4.50 stars",
    ],
)
def test_a_day_is_read_in_the_languages_of_sites(text: str) -> None:
    expected = {"13/11/2025": date(2025, 11, 13), "٣ نوفمبر": None}
    assert parse_moment(text) == expected.get(text, DAY)


@pytest.mark.parametrize(("accented", "plain"), [("août", "aout"), ("Şubat", "Subat"), ("únor", "unor")])
def test_the_accents_of_a_month_may_be_missing(accented: str, plain: str) -> None:
    assert parse_moment(f"3 {plain} 2025") == parse_moment(f"3 {accented} 2025") is not None


@pytest.mark.parametrize("text", ["2016-12-31T23:59:60Z", "Sat, 31 Dec 2016 23:59:60 GMT"])
def test_a_leap_second_is_the_one_before_it(text: str) -> None:
    assert parse_moment(text) == datetime(2016, 12, 31, 23, 59, 59, tzinfo=UTC)


def test_a_number_with_a_point_behind_a_date_is_no_time() -> None:
    assert parse_moment("Nov 3, 2025 10.15") == DAY


def test_the_first_of_a_month_is_read_in_french() -> None:
    assert parse_moment("1er novembre 2025") == date(2025, 11, 1)


def _zone(hours: float) -> timezone:
    return timezone(timedelta(hours=hours))


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("Mon, 03 Nov 2025 10:15:00 +0100", _zone(1)),
        ("Mon, 3 Nov 25 10:15:00 EST", _zone(-5)),
        ("Monday, 3rd November 2025 10:15 AM PST", _zone(-8)),
        ("3 Nov 2025 10:15 GMT+2", _zone(2)),
        ("Mon Nov 03 2025 10:15:00 GMT+0100 (Central European Standard Time)", _zone(1)),
        ("Mon Nov  3 10:15:00 EST 2025", _zone(-5)),
        ("Mon Nov  3 10:15:00 2025", None),
        ("3/Nov/2025:10:15:00 +0000", UTC),
        ("2025-11-03T10:15-05:00", _zone(-5)),
        ("2025-11-03 10:15:00 UTC", UTC),
        ("2025-11-03T10:15:00 +02:00", _zone(2)),
        ("2025-11-03 10:15:00+00", UTC),
        ("20251103T101500Z", UTC),
        ("3 Nov 2025 10:15 Europe/Paris", _zone(1)),
        ("3 Nov 2025 at 10:15 ET", _zone(-5)),
        ("le 3 novembre 2025 à 10h15", None),
        ("3 de novembro de 2025 às 10:15", None),
        ("3. November 2025, 10:15 Uhr", None),
        ("3. November 2025, 10.15 Uhr CET", _zone(1)),
        ("3 ноября 2025, 10:15 MSK", _zone(3)),
        ("2025-11-03t10:15:00z", UTC),
        ("Monday, 03-Nov-25 10:15:00 GMT", UTC),
        ("le 3 novembre 2025 à 10 h 15", None),
        ("3. november 2025 kl. 10.15", None),
        ("3.11.2025 klo 10.15", None),
        ("3 ноября 2025 г., 10:15", None),
        ("3 listopada 2025 r., 10:15", None),
        ("3 Kasım 2025 Pazartesi 10:15", None),
        ("2025年11月3日(月) 10時15分", None),
        ("2025年11月3日 午前10時15分", None),
        ("10:15 AM, Nov 3, 2025", None),
        ("10:15 · 3 Nov 2025", None),
        ("Updated: Nov 3 2025 10:15AM", None),
    ],
)
def test_a_time_is_read_with_its_zone_beside_any_day(text: str, zone: timezone | None) -> None:
    assert parse_moment(text) == datetime(2025, 11, 3, 10, 15, tzinfo=zone)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("03/04/2025", "it may be 2025-03-04 or 2025-04-03; set `date_order`"),
        ("3-4-2025", "it may be 2025-03-04 or 2025-04-03"),
        ("3 Nov 2025 - 5 Nov 2025", "several dates (2025-11-03, 2025-11-05)"),
        ("Published 3 Nov 2025, updated 4 Nov 2025", "several dates"),
        ("3. listopada 2025", "October in Croatian"),
        ("3 / 4 / 2025", "it may be 2025-03-04 or 2025-04-03"),
        ("3 Nov 2025 10:15 IST", "IST is the name of several time zones"),
        ("3 Nov 2025 10:15 XYZ", "XYZ is not a known time zone"),
        ("3 Nov 2025 10:15 Europe/Nowhere", "not a known time zone"),
        ("Nov 3, 2025 10:00-11:00", "may be a time zone or the end of a range"),
    ],
)
def test_a_text_that_may_be_several_moments_is_none(text: str, reason: str) -> None:
    with pytest.raises(AmbiguousError, match=re.escape(reason)):
        read_moment(text)
    assert parse_moment(text) is None


def test_the_day_of_the_week_decides_between_two_days() -> None:
    assert parse_moment("Thu 03/04/2025") == date(2025, 4, 3)
    assert parse_moment("Tue 03/04/2025") == date(2025, 3, 4)


def test_a_day_is_read_whatever_its_zone_is() -> None:
    assert read_moment("3 Nov 2025 10:15 IST", is_day=True) == DAY


@pytest.mark.parametrize(
    "text",
    [
        "1",
        "7",
        "2024",
        "20251103",
        "1762165800",
        "November 2025",
        "3 November",
        "Nov 3",
        "10:15",
        "3 days ago",
        "yesterday",
        "today",
        "just now",
        "last Monday",
        "3-5 November 2025",
        "November 3-5, 2025",
        "11/3/25",
        "3 Nov 25",
        "2026-02-30",
        "31 Foo 2026",
        "iPhone 15 Pro 2025",
        "27 LED 2024",
        "set 10 2025",
        "0000-00-00 00:00:00",
        "0001-01-01",
        "0001-01-01T00:00:00Z",
        "Mon, 01 Jan 0001 00:00:00 +0000",
        "1.2.2025.3",
        "192.168.10.2025",
        "۱۴۰۴/۰۸/۱۲",
        "03/11/2568",
        "Nov 3, 2025 25:99",
        "$3.11.2025,50",
        "12 2025",
        "May",
        "may 12",
    ],
)
def test_no_day_is_invented(text: str) -> None:
    assert parse_moment(text) is None


WORDS = st.sampled_from(
    [
        *MONTHS,
        "May",
        "PST",
        "UTC",
        "of",
        "at",
        "am",
        "pm",
        "ago",
        "days",
        "T",
        "Z",
        "Monday",
        ",",
        ".",
        ":",
        "-",
        "/",
        "年",
        "月",
        "日",
    ]
)
NUMBERS = (
    st.integers(0, 40).map(str) | st.integers(0, 99).map("{:02d}".format) | st.integers(1000, 2999).map(str)
)


@given(st.lists(WORDS | NUMBERS | st.text(max_size=4), max_size=9), st.sampled_from(["", " "]))
@example(["3", "November"], " ")
def test_each_part_of_a_moment_stands_in_its_text(parts: list[str], between: str) -> None:
    text = between.join(parts)
    found = parse_moment(text)
    if found is None:
        return
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    if isinstance(found, datetime) and found.time() == datetime.min.time() and 24 in numbers:
        found -= timedelta(days=1)  # 24:00 is the next day
    words = re.findall(r"[^\W\d_]+", text.lower())
    compact = re.search(rf"{found.year:04d}\D?{found.month:02d}\D?{found.day:02d}", text)
    assert compact or found.year in numbers or re.search(r"\d{4}-W", text)
    assert compact or found.month in numbers or found.month in map(MONTHS.get, words) or "W" in text
    assert compact or found.day in numbers or "W" in text
    if isinstance(found, datetime):
        assert {found.minute, found.second} <= {*numbers, 0} or "T" in text


@pytest.mark.parametrize(
    "repeated", ["at ", "on,", "10:15 ", "1.", "12 May ", "1 ", "a", ". ", "T", "(a)", "Nov 3, "]
)
@pytest.mark.parametrize("around", ["{}", "Nov 3, 2025 {}", "{} Nov 3, 2025", "Nov 3, 2025 {}10:15x"])
def test_a_text_of_many_parts_is_read_at_once(repeated: str, around: str) -> None:
    # An engine that tries each way again takes longer than the universe is old.
    parse_moment(around.format(repeated * (170 // len(repeated))))
