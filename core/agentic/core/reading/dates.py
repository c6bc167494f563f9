"""Dates and times in the formats of sites."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone

MAX_CHARS = 200
"""Longer texts are not dates; this bounds the work per page."""

_DAYS = ("%d %B %Y", "%B %d %Y", "%d %b %Y", "%b %d %Y", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:.*)?", re.IGNORECASE)
_FRINGES = re.compile(
    r"^(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.? |(?<=\d)(?:st|nd|rd|th)\b|\bat(?= )", re.IGNORECASE
)
_TIME = re.compile(
    r"\ (?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?"
    r"\ ?(?P<half>[ap]\.?m\.?)?\ ?(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})?$",
    re.IGNORECASE,
)


def parse_moment(text: str, pattern: str | None = None) -> date | None:
    """Return the moment that ``text`` names: a ``datetime`` if it has a time of day, otherwise a ``date``.

    ISO 8601, ``31 October 2026``, ``Sat, 31 Oct 2026 14:04:00 GMT``, ``October 31st, 2026 at 2:04 pm``,
    ``2026/10/31`` and ``31.10.2026`` are known. ``03/04/2026`` is not, it is ambiguous: give ``pattern``.

    Args:
        text: Blanks around and inside are ignored.
        pattern: Format for :meth:`datetime.datetime.strptime`.

    Returns:
        None if it names no moment. A time without a zone stays without one.
    """
    if len(text) > MAX_CHARS and len(text := text.strip()) > MAX_CHARS:
        return None
    plain = " ".join(text.split())
    try:
        if pattern is not None:
            found = datetime.strptime(plain, pattern)  # noqa: DTZ007 - the pattern says whether there is a zone
            return found if re.search("%[HIcXs]", pattern) else found.date()
        return _iso(plain) if _ISO.fullmatch(plain) else _written(plain)
    except ValueError:
        return None


def as_utc(moment: date) -> datetime:
    """Return ``moment`` with a zone; without one it is taken as UTC, a day as its beginning."""
    found = moment if isinstance(moment, datetime) else datetime.combine(moment, time())
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def iso_moment(text: str) -> str | None:
    """Return the moment that ``text`` names in ISO 8601, None if it names none."""
    found = parse_moment(text)
    return found.isoformat() if found else None


def _iso(text: str) -> date:
    return date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)


def _written(text: str) -> date | None:
    plain = " ".join(_FRINGES.sub("", text.replace(",", " ")).split())
    found = _TIME.search(plain)
    day = _day(plain[: found.start()] if found else plain)
    if day is None or found is None:
        return day
    return datetime.combine(day, _clock(found))


def _day(text: str) -> date | None:
    for pattern in _DAYS:
        try:
            return datetime.strptime(text, pattern).date()  # noqa: DTZ007 - a day has no zone
        except ValueError:
            continue
    return None


def _clock(found: re.Match[str]) -> time:
    hour = int(found["hour"])
    if half := found["half"]:
        hour = hour % 12 + (12 if half[0] in "pP" else 0)
    return time(hour, int(found["minute"]), int(found["second"] or 0), tzinfo=_zone(found["zone"]))


def _zone(name: str | None) -> timezone | None:
    if name is None:
        return None
    if name[0] not in "+-":
        return UTC
    digits = name[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if name[0] == "-" else offset)
