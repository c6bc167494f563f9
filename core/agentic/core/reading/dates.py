"""Dates and times in the formats of sites."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal, NamedTuple

from agentic.core.reading.ambiguous import AmbiguousError
from agentic.core.reading.clocks import Clock, clock_around
from agentic.core.reading.names_of_dates import DAYS, MONTHS, SEVERAL_MONTHS

DateOrder = Literal["dmy", "mdy"]

MAX_CHARS = 200
"""Longer texts are not dates; this bounds the work per page."""

EPOCHS = {"epoch": 1, "epoch_ms": 1_000}
"""Formats of numbers: seconds or milliseconds since 1970, in UTC."""

_YEARS = range(1600, 2400)
"""Years of written dates: 1404 and 2568 are years of other calendars."""

_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:.*)?", re.IGNORECASE)
_ISO_OTHER = re.compile(r"\d{4}-W\d{2}-[1-7]|\d{8}T\d{4}(?:\d{2})?(?:Z|[+-]\d{2}:?\d{2})?")
_DAY = r"(\d{1,2})(?:st|nd|rd|th|er|ème|[.ºª°])?"
_NAME = r"([^\W\d_]{3,12})\.?"
_OF = r"[\s.,/\-]*(?:(?:of|de|del|den)\b\s?|d['’])?"
_NOT_IN_NUMBER = r"(?<![\d.,:/\-])(?<!\d[ ])"
_SHAPES = (
    # Day, month, year; `5. November 2026`, `3 de noviembre de 2025`, `05-Nov-2026`.
    (re.compile(rf"(?<![\d.,:/])\b{_DAY}{_OF}{_NAME}{_OF}(\d{{4}})(?!\d)", re.IGNORECASE), "dny"),
    (re.compile(rf"\b{_NAME}[\s.,\-]*{_DAY}[\s,.\-]+(\d{{4}})(?![\d:])", re.IGNORECASE), "ndy"),
    (re.compile(rf"(?<!\d)(\d{{4}})[\s.,\-/]*{_NAME}[\s.,\-/]*{_DAY}(?![\d:])", re.IGNORECASE), "ynd"),
    # The date of Unix, with a time in it: `Thu Nov  5 14:30:00 EST 2026`.
    (
        re.compile(
            rf"\b{_NAME} {_DAY} (?=\d\d?:\d\d(?::\d\d)?(?: [A-Z]{{3,4}})? (\d{{4}})\b)", re.IGNORECASE
        ),
        "ndy",
    ),
    (
        re.compile(rf"{_NOT_IN_NUMBER}(\d{{4}})(\.|/| ?-) ?(\d{{1,2}})\2 ?(\d{{1,2}})(?![\d]|[.,/\-]\d)"),
        "y-md",
    ),
    (
        re.compile(rf"{_NOT_IN_NUMBER}(\d{{1,2}})( ?[\-/]|\.) ?(\d{{1,2}})\2 ?(\d{{4}})(?![\d]|[.,/\-]\d)"),
        "?-?y",
    ),
    # `5 tháng 11, 2026`, `ngày 5 tháng 11 năm 2026`.
    (re.compile(r"(?<!\d)(\d{1,2}) tháng (\d{1,2})(?:,| năm|/)? (\d{4})(?!\d)", re.IGNORECASE), "dmy"),
    (re.compile(r"(?<!\d)(\d{4}) ?[年년] ?(\d{1,2}) ?[月월] ?(\d{1,2}) ?(?:[日号號일])?"), "ymd"),
)
_RFC_822 = re.compile(
    rf"({'|'.join(DAYS)})[a-z]*,? (\d{{1,2}})[ \-]{_NAME}[ \-](\d\d)(?= \d\d?:)", re.IGNORECASE
)
_RANGE = re.compile(r"\d(?:st|nd|rd|th|\.)?\s?(?:[-–—/&+]|to|and|bis|und|et|y|e)\s?\Z", re.IGNORECASE)
_WEEKDAY = re.compile(rf"\b({'|'.join(DAYS)})[a-z]*\b", re.IGNORECASE)
_UNSEEN = dict.fromkeys((0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF))
_HYPHENS = dict.fromkeys((0x2010, 0x2011, 0x2212), "-")
_ASKS_FOR_TIME = re.compile("%[HIcXs]")


class _Found(NamedTuple):
    """A day in a text, and where it stands."""

    day: date
    start: int
    end: int


def read_moment(
    text: str, pattern: str | None = None, *, order: DateOrder | None = None, is_day: bool = False
) -> date | None:
    """Return the moment that ``text`` names: a ``datetime`` if it has a time of day, otherwise a ``date``.

    ISO 8601, RFC 5322 and the usual ways of writing day, month and year are known: with digits, or with names
    in 29 European languages, Arabic, Hebrew, Indonesian, Vietnamese, Japanese, Chinese and Korean. They may
    stand in a sentence: ``Posted on October 31st, 2026 at 2 pm EST``. Nothing is added: a text without a
    year, ``3 days ago`` and a lone number name no
    moment.

    Args:
        text: Blanks around and inside are ignored.
        pattern: Format for :meth:`datetime.datetime.strptime`, ``epoch`` or ``epoch_ms``.
        order: Whether ``03/04/2026`` begins with the day or with the month.
        is_day: Only the day counts, so a zone that is not known does no harm.

    Returns:
        None if it names no moment. A time without a zone stays without one.

    Raises:
        AmbiguousError: It may be one of several.
    """
    if len(text) > MAX_CHARS and len(text := text.strip()) > MAX_CHARS:
        return None
    plain = " ".join(text.split())
    try:
        if pattern is not None:
            return _by_pattern(plain, pattern)
        plain = _digits(plain)
        return _iso(plain) or _written(plain, order, is_day=is_day)
    except AmbiguousError:
        raise
    except (ValueError, OverflowError):
        return None


def parse_moment(text: str, pattern: str | None = None) -> date | None:
    """Return what :func:`read_moment` does, None also for a text that may mean several moments."""
    try:
        return read_moment(text, pattern)
    except AmbiguousError:
        return None


def is_whole_pattern(pattern: str) -> bool:
    """Whether a format has year, month and day: Python would invent the others."""
    if pattern in EPOCHS:
        return True
    moment = datetime(2023, 11, 25, 14, 5, 6, tzinfo=UTC)
    try:
        return datetime.strptime(moment.strftime(pattern), pattern).date() == moment.date()  # noqa: DTZ007 - a day
    except ValueError:
        return False


def as_utc(moment: date) -> datetime:
    """Return ``moment`` with a zone; without one it is taken as UTC, a day as its beginning."""
    found = moment if isinstance(moment, datetime) else datetime.combine(moment, time())
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def iso_moment(text: str) -> str | None:
    """Return the moment that ``text`` names in ISO 8601, None if it names none."""
    found = parse_moment(text)
    return found.isoformat() if found else None


def _by_pattern(text: str, pattern: str) -> date:
    if pattern in EPOCHS:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=float(text) / EPOCHS[pattern])
    found = datetime.strptime(text, pattern)  # noqa: DTZ007 - the pattern says whether there is a zone
    return found if _ASKS_FOR_TIME.search(pattern) else found.date()


def _iso(text: str) -> date | None:
    text = text.upper()
    with suppress(ValueError):
        if _ISO.fullmatch(text):
            found = date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)
            return found if found.year > 1 else None  # programs write the year 1 where there is no date
        if _ISO_OTHER.fullmatch(text):
            return datetime.fromisoformat(text) if "T" in text else date.fromisoformat(text)
    return None


def _digits(text: str) -> str:
    """Return a text with the digits of all scripts as ASCII ones, and without marks that are not seen."""
    if text.isascii():
        return text
    text = text.translate({**_UNSEEN, **_HYPHENS})
    return "".join(str(int(char)) if char.isdecimal() else char for char in text)


def _written(text: str, order: DateOrder | None, *, is_day: bool) -> date | None:
    found = list(_days(text, order)) or list(_short_years(text))
    if not found:
        return None
    moments = dict.fromkeys(each.day if is_day else _moment(each, text) for each in found)
    if len(moments) > 1:
        listed = ", ".join(moment.isoformat() for moment in moments)
        raise AmbiguousError(f"it has several dates ({listed}); select the element of one, or use `regex`")
    return next(iter(moments))


def _moment(found: _Found, text: str) -> date:
    clock: Clock | None = clock_around(text[: found.start], text[found.end :], found.day)
    if clock is None:
        return found.day
    moment = datetime.combine(found.day, clock.time)
    return moment + timedelta(days=1) if clock.is_midnight_after else moment


def _days(text: str, order: DateOrder | None) -> Iterator[_Found]:
    """Yield the days in a text; no two of them overlap."""
    taken = -1
    matches = [
        (match.start(), -match.end(), match, parts)
        for shape, parts in _SHAPES
        for match in shape.finditer(text)
    ]
    for start, _, match, parts in sorted(matches, key=lambda each: each[:2]):
        if start < taken or (taken < 0 and _RANGE.search(text[:start])):  # `3-5 November 2025`
            continue
        day = _day(match, parts, order, text)
        if day is not None:
            taken = match.end()
            yield _Found(day, start, taken)


def _day(match: re.Match[str], parts: str, order: DateOrder | None, text: str) -> date | None:
    groups = match.groups()
    if parts in ("dny", "ndy", "ynd"):
        by_name = dict(zip(parts, groups, strict=True))
        name = by_name["n"].lower()
        month = MONTHS.get(name)
        if name in SEVERAL_MONTHS and re.match(r"\d{1,2}\. ", match[0]):
            raise AmbiguousError(f"{by_name['n']} is October in Croatian and November elsewhere; use `regex`")
        return None if month is None else _date(by_name["y"], month, by_name["d"])
    if parts == "dmy":
        return _date(groups[2], int(groups[1]), groups[0])
    if parts in ("ymd", "y-md"):
        return _date(groups[0], int(groups[-2]), groups[-1])
    first, mark, second, year = groups
    return _by_order(int(first), int(second), year, order or ("dmy" if mark == "." else None), text)


def _by_order(first: int, second: int, year: str, order: DateOrder | None, text: str) -> date | None:
    if order == "mdy":
        return _date(year, first, str(second))
    if order == "dmy":
        return _date(year, second, str(first))
    days = {_date(year, first, str(second)), _date(year, second, str(first))} - {None}
    if len(days) > 1 and (named := _WEEKDAY.search(text)):
        days = {day for day in days if day and DAYS[day.weekday()] == named[1].lower()} or days
    if len(days) > 1:
        listed = " or ".join(sorted(day.isoformat() for day in days if day))
        raise AmbiguousError(f"it may be {listed}; set `date_order` to dmy or mdy")
    return days.pop() if days else None


def _short_years(text: str) -> Iterator[_Found]:
    """Yield the day of a text as in RFC 822 with a year of two digits; the weekday says which century."""
    for match in _RFC_822.finditer(text):
        weekday, day, name, year = match.groups()
        month = MONTHS.get(name.lower(), 0)
        for century in ("20", "19"):
            found = _date(century + year, month, day)
            if found is not None and DAYS[found.weekday()] == weekday.lower():
                yield _Found(found, match.start(), match.end())
                return


def _date(year: str, month: int, day: str) -> date | None:
    if int(year) not in _YEARS:
        return None
    with suppress(ValueError):
        return date(int(year), month, int(day))
    return None
