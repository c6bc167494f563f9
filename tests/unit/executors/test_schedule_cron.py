"""When a cron line is due: examples from the days on which clocks change, and what holds in every zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice, pairwise, takewhile
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentic.executors.schedules.cron import ScheduleTimesError, cron_times, find_zone, parse_cron

BERLIN_SPRING = datetime(2026, 3, 29, tzinfo=UTC)  # 02:00 becomes 03:00 at 01:00 UTC
BERLIN_AUTUMN = datetime(2026, 10, 24, 23, tzinfo=UTC)  # 03:00 becomes 02:00 at 01:00 UTC

# Days around which a zone changes its clock: by an hour, by half of one, by two, by a day; at midnight, at
# one past midnight and to the day before; with a summer that has a winter in it; and days of no change.
CHANGES = [
    ("Europe/Berlin", datetime(2026, 3, 29, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 10, 25, tzinfo=UTC)),
    ("America/New_York", datetime(2027, 3, 14, tzinfo=UTC)),
    ("America/New_York", datetime(2027, 11, 7, tzinfo=UTC)),
    ("America/St_Johns", datetime(2005, 4, 3, tzinfo=UTC)),
    ("America/St_Johns", datetime(2005, 10, 30, tzinfo=UTC)),
    ("America/Santiago", datetime(2026, 9, 6, tzinfo=UTC)),
    ("America/Santiago", datetime(2026, 4, 5, tzinfo=UTC)),
    ("America/Havana", datetime(2026, 11, 1, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 10, 3, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 4, 4, tzinfo=UTC)),
    ("Antarctica/Troll", datetime(2026, 3, 29, tzinfo=UTC)),
    ("Antarctica/Troll", datetime(2026, 10, 25, tzinfo=UTC)),
    ("Pacific/Apia", datetime(2011, 12, 30, tzinfo=UTC)),
    ("Africa/Casablanca", datetime(2026, 2, 15, tzinfo=UTC)),
    ("Africa/Casablanca", datetime(2026, 3, 22, tzinfo=UTC)),
    ("Asia/Kolkata", datetime(2026, 3, 29, tzinfo=UTC)),
    ("UTC", datetime(2026, 2, 28, tzinfo=UTC)),
]
SPAN = timedelta(hours=36)
MINUTE = timedelta(minutes=1)


def local(cron: str, timezone: str, after: datetime, count: int) -> list[str]:
    zone = ZoneInfo(timezone)
    moments = islice(cron_times(cron, timezone, after), count)
    return [f"{moment.astimezone(zone):%d %H:%M %Z}" for moment in moments]


def test_a_time_of_day_keeps_its_hour_when_the_clocks_change() -> None:
    assert local("30 8 * * *", "Europe/Berlin", BERLIN_SPRING - timedelta(days=1), 3) == [
        "28 08:30 CET",
        "29 08:30 CEST",
        "30 08:30 CEST",
    ]


@pytest.mark.parametrize(
    ("cron", "due"),
    [
        ("30 2 * * *", ["29 03:00 CEST", "30 02:30 CEST"]),
        ("*/20 2 * * *", ["29 03:00 CEST", "30 02:00 CEST"]),
        ("0 */2 * * *", ["29 03:00 CEST", "29 04:00 CEST"]),
        ("0,30 2,3 * * *", ["29 03:00 CEST", "29 03:30 CEST"]),
    ],
)
def test_what_falls_into_the_gap_of_spring_is_due_once_when_it_ends(cron: str, due: list[str]) -> None:
    assert local(cron, "Europe/Berlin", BERLIN_SPRING, 2) == due


@pytest.mark.parametrize(
    ("cron", "due"),
    [
        ("30 2 * * *", ["25 02:30 CEST", "26 02:30 CET"]),
        ("*/30 2 * * *", ["25 02:00 CEST", "25 02:30 CEST", "26 02:00 CET"]),
        ("0 2,3 * * *", ["25 02:00 CEST", "25 03:00 CET"]),
    ],
)
def test_what_comes_twice_in_autumn_is_due_the_first_time(cron: str, due: list[str]) -> None:
    assert local(cron, "Europe/Berlin", BERLIN_AUTUMN, len(due)) == due


def test_a_line_for_every_hour_keeps_its_rhythm_in_autumn_and_in_spring() -> None:
    autumn = local("*/30 * * * *", "Europe/Berlin", BERLIN_AUTUMN + timedelta(minutes=30), 6)
    assert [due[3:] for due in autumn] == [
        "02:00 CEST",
        "02:30 CEST",
        "02:00 CET",
        "02:30 CET",
        "03:00 CET",
        "03:30 CET",
    ]
    spring = local("30 * * * *", "Europe/Berlin", BERLIN_SPRING, 3)
    assert [due[3:] for due in spring] == ["01:30 CET", "03:30 CEST", "04:30 CEST"]


def test_days_of_the_month_and_of_the_week_add_up_as_in_cron() -> None:
    friday_13 = local("0 0 13 * FRI", "UTC", datetime(2026, 11, 1, tzinfo=UTC), 3)
    assert [due[:2] for due in friday_13] == ["06", "13", "20"]


@pytest.mark.parametrize(
    ("cron", "named"),
    [
        ("", "'' has 0 fields"),
        ("* * * *", "has 4 fields"),
        ("0 0 * * * *", "has 6 fields"),
        ("@daily", "has 1 fields"),
        ("61 * * * *", "the minute of the cron line '61 [*] [*] [*] [*]'"),
        ("0 24 * * *", "the hour"),
        ("0 0 30 2 *", "the day-of-month"),
        ("0 0 * * MOON", "the day-of-week"),
        ("0 0 * * 5-1", "the day-of-week"),
        ("R * * * *", "the minute"),
        ("*/0 * * * *", "the minute"),
    ],
)
def test_a_bad_line_is_refused_with_the_field_and_an_example(cron: str, named: str) -> None:
    with pytest.raises(ScheduleTimesError, match=f"{named}.*give five fields"):
        parse_cron(cron, datetime(2026, 1, 1))  # noqa: DTZ001 - as parse_cron takes it


@pytest.mark.parametrize(
    ("zone", "advice"),
    [
        ("Europe/Berlinn", "did you mean Europe/Berlin"),
        ("../etc/passwd", "give one as"),
        ("Europe", "Europe"),
        ("", "give one as"),
    ],
)
def test_an_unknown_zone_is_refused_with_those_alike(zone: str, advice: str) -> None:
    with pytest.raises(ScheduleTimesError, match=f"unknown time zone '{zone}'.*{advice}"):
        find_zone(zone)


def fields(low: int, high: int) -> st.SearchStrategy[str]:
    numbers = st.integers(low, high)
    spans = st.tuples(numbers, numbers).filter(lambda ends: ends[0] < ends[1])
    return st.one_of(
        st.just("*"),
        st.integers(1, high - low).map("*/{}".format),
        st.lists(numbers, min_size=1, max_size=3).map(lambda found: ",".join(map(str, found))),
        spans.map("{0[0]}-{0[1]}".format),
        st.tuples(spans, st.integers(1, 5)).map("{0[0][0]}-{0[0][1]}/{0[1]}".format),
    )


lines = st.tuples(fields(0, 59), fields(0, 23), st.sampled_from(["*", "1-15", "*/2"])).map(
    lambda parts: f"{parts[0]} {parts[1]} {parts[2]} * *"
)


def values(field: str, low: int, high: int) -> set[int]:
    """Read a field of a cron line, without the library that is tested."""
    found: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = ("-".join(map(str, (low, high))) if span == "*" else span).partition("-")
        found |= set(range(int(first), int(last or first) + 1, int(step or 1)))
    return found


@cache
def clock(timezone: str, day: datetime) -> list[tuple[datetime, datetime, int]]:
    """Return each minute around ``day``: in UTC, as the clock of the zone shows it, and how many are new."""
    zone = ZoneInfo(timezone)
    shown = []
    latest = (day - 2 * SPAN).astimezone(zone).replace(tzinfo=None)
    for number in range(1, 4 * SPAN // MINUTE):
        moment = day - 2 * SPAN + number * MINUTE
        wall = moment.astimezone(zone).replace(tzinfo=None)
        shown.append((moment, wall, (wall - latest) // MINUTE))
        latest = max(latest, wall)
    return shown


def walked(cron: str, timezone: str, day: datetime) -> list[datetime]:
    """Find what is due around ``day`` by watching the clock of a zone minute after minute."""
    minute, hour, date, _, _ = cron.split()
    minutes, hours, dates = values(minute, 0, 59), values(hour, 0, 23), values(date, 1, 31)

    def matches(wall: datetime) -> bool:
        return wall.minute in minutes and wall.hour in hours and wall.day in dates

    if len(hours) == 24:
        return [moment for moment, wall, _ in clock(timezone, day) if matches(wall)]
    return [
        moment
        for moment, wall, news in clock(timezone, day)
        if any(matches(wall - number * MINUTE) for number in range(news))
    ]


@pytest.mark.requirement("BR07")
@settings(max_examples=40)
@given(cron=lines, change=st.sampled_from(CHANGES), shift=st.integers(-1500, 1500))
@example(cron="15 * * * *", change=("Australia/Lord_Howe", datetime(2026, 4, 4, tzinfo=UTC)), shift=0)
@example(cron="40 * * * *", change=("Australia/Lord_Howe", datetime(2026, 10, 3, tzinfo=UTC)), shift=0)
@example(cron="*/7 * * * *", change=("America/St_Johns", datetime(2005, 10, 30, tzinfo=UTC)), shift=0)
def test_due_times_are_those_the_clock_of_the_zone_shows(
    cron: str, change: tuple[str, datetime], shift: int
) -> None:
    timezone, day = change
    start = day + timedelta(minutes=shift)
    end = start + SPAN

    due = list(takewhile(lambda moment: moment <= end, cron_times(cron, timezone, start)))

    assert due == [moment for moment in walked(cron, timezone, day) if start < moment <= end]


@settings(max_examples=25)
@given(
    cron=lines,
    change=st.sampled_from(CHANGES),
    shifts=st.lists(st.integers(-1500, 1500), min_size=2, max_size=4),
)
def test_due_times_do_not_depend_on_where_one_begins_to_count(
    cron: str, change: tuple[str, datetime], shifts: list[int]
) -> None:
    timezone, day = change
    first, *later = (day + timedelta(minutes=shift) for shift in sorted(shifts))
    due = list(takewhile(lambda moment: moment <= day + SPAN, cron_times(cron, timezone, first)))

    assert all(early < late for early, late in pairwise(due))
    for start in later:
        again = takewhile(lambda moment: moment <= day + SPAN, cron_times(cron, timezone, start))
        assert list(again) == [moment for moment in due if moment > start]
