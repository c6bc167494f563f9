"""Times of day beside a date, with their zones."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import NamedTuple

from agentic.core.reading.ambiguous import AmbiguousError
from agentic.core.reading.names_of_dates import NAMES_OF_DAYS, SEASONAL, SEVERAL_ZONES, ZONES

_CLOCK = r"""
    (?P<lead>午前|午後|上午|下午|오전|오후)?[ ]?
    (?P<hour>\d{1,2})
    (?:
        (?:[:hH時时点點]|[ ]?h[ ]|시[ ]?)(?P<minute>\d{2})
        (?:(?::|분[ ]?|分)(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?[分秒분초]?
      | (?P<sharp>[ ]?(?:Uhr|[h時时시点點])(?!\w))
      | \.(?P<dotted>\d{2})(?=\s?(?:Uhr|[AaPp]\.?\s?[Mm]\b))
      | \.(?P<pointed>\d{2})(?![\d.,]|\s?[€$£%])
    )?
    (?:\s?(?P<half>[AaPp])\.?\s?[Mm]\b\.?)?
    (?:\s?(?:Uhr|hrs|h)\b)?
"""
_ZONE = r"""
    (?P<zone>
        \s?(?:UTC|GMT)?[+-]\d{1,2}(?::?\d{2})?(?![\d:])
      | \s?[A-Z][a-z]+/[A-Z][A-Za-z_]+
      | \s?\(?[A-Z]{1,5}\b
    )?
"""
_WORDS = r"at|um|à|a[ ]las?|às|alle|ore|kl\.?|klo|o|v|в|о|from|on|am|den|le|el|em|du|del"
# What stands between date and time is taken once and for all, as `*+` says: no way of it is tried again.
_BEHIND = re.compile(
    rf"(?:[\s,T·•|–—:\-]|\([^)\d]{{1,12}}\)|\b(?:г|р|r)\b\.?"
    rf"|(?P<clock>\b(?:kl\b\.?|klo\b|klokken\b|ore\b|alle\b|pukul\b))|\b(?:{_WORDS})\b)*+{_CLOCK}{_ZONE}",
    re.VERBOSE,
)
_DAY_NAME = re.compile(r"[\s,.]*(?:(?:г|р|r)\b\.?[\s,]*)?([^\W\d_]{4,14})\b,?")
_AHEAD = re.compile(
    rf"(?<![\d:.,+\-]){_CLOCK}{_ZONE}(?:[\s,·•|–—]|\b(?:{_WORDS})\b|\b[^\W\d]{{2,12}},)*+\Z", re.VERBOSE
)

_AFTERNOON = frozenset({"午後", "下午", "오후"})
_NOON = 12
_HOURS = 24


class Clock(NamedTuple):
    """A time of day; ``is_midnight_after`` for 24:00, which is the next day."""

    time: time
    is_midnight_after: bool = False


def clock_around(ahead: str, behind: str, day: date) -> Clock | None:
    """Return the time that stands behind a date, or before it, or None.

    Raises:
        AmbiguousError: Its zone is unknown, or one of several.
        ValueError: The time does not exist.
    """
    named = _DAY_NAME.match(behind)
    if named is not None and named[1].lower() in NAMES_OF_DAYS:
        behind = behind[named.end() :]
    found = _BEHIND.match(behind)
    if found is None or not _is_time(found):
        found = next((match for match in _AHEAD.finditer(ahead) if _is_time(match)), None)
    return None if found is None else _clock(found, day)


def _is_time(found: re.Match[str]) -> bool:
    is_pointed = bool(found["pointed"]) and bool(found.groupdict().get("clock"))
    return is_pointed or any(found[name] for name in ("minute", "sharp", "dotted", "half"))


def _clock(found: re.Match[str], day: date) -> Clock:
    hour = int(found["hour"])
    minute = int(found["minute"] or found["dotted"] or found["pointed"] or 0)
    is_afternoon = (found["half"] or "").lower() == "p" or found["lead"] in _AFTERNOON
    if found["half"] or found["lead"]:
        if hour > _NOON and not is_afternoon:
            raise ValueError(hour)
        hour = hour % _NOON + (_NOON if is_afternoon else 0)
    is_next = (hour, minute, int(found["second"] or 0)) == (_HOURS, 0, 0)
    fraction = int(f"{found['fraction'] or 0:0<6}"[:6])
    second = 59 if found["second"] == "60" else int(found["second"] or 0)  # a leap second
    clock = time(0 if is_next else hour, minute, second, fraction)
    return Clock(clock.replace(tzinfo=_zone(found, datetime.combine(day, clock))), is_next)


def _zone(found: re.Match[str], moment: datetime) -> tzinfo | None:
    name = (found["zone"] or "").strip().lstrip("(")
    if not name:
        return None
    if "/" in name:
        return _place(name, moment)
    if "+" in name or "-" in name:
        return _offset(name, has_seconds=found["second"] is not None)
    if name in SEASONAL:
        return _place(SEASONAL[name], moment)
    if name in SEVERAL_ZONES or name not in ZONES:
        several = "is the name of several time zones" if name in SEVERAL_ZONES else "is not a known time zone"
        raise AmbiguousError(f"{name} {several}; use `regex` for the part before it, or `date_format`")
    minutes = ZONES[name]
    return timezone(timedelta(minutes=minutes)) if minutes else UTC


def _place(name: str, moment: datetime) -> tzinfo:
    """Return the zone of a place at a moment, as an offset: others store no names."""
    from zoneinfo import ZoneInfo

    try:
        offset = ZoneInfo(name).utcoffset(moment)
    except (OSError, LookupError):
        offset = None
    if offset is None:
        raise AmbiguousError(f"{name} is not a known time zone; use `regex` for the part before it")
    return timezone(offset)


def _offset(name: str, *, has_seconds: bool) -> tzinfo:
    sign = "-" if "-" in name else "+"
    digits = name.partition(sign)[2].replace(":", "")
    hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "0")
    if sign == "-" and ":" in name and not has_seconds and name[0] == sign:
        # `10:00-11:00` may be a meeting.
        raise AmbiguousError(f"{name} may be a time zone or the end of a range; use `regex`")
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return UTC if not offset else timezone(-offset if sign == "-" else offset)
