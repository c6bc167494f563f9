"""Values of fields: read from a text, compared with a stored one, described by their shape."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from agentic.core.reading.ambiguous import AmbiguousError
from agentic.core.reading.dates import DateOrder, read_moment
from agentic.core.types import JSONValue
from agentic.core.wrappers.addresses import SAME_FILE, is_telling_address, same_address, same_addresses
from agentic.core.wrappers.amounts import MAX_AMOUNT_CHARS, amounts_of, digits_in
from agentic.core.wrappers.words import dice, plain, text_words

SAME_LIST = 0.7
SAME_LONG_TEXT = 0.85
AGREES = 0.9
"""From this a text is taken for the stored value."""

ROUNDED = 0.9
"""How far a number agrees with one that has more decimals."""

MIN_ITEMS = 3
MIN_CHARS = 40
WIDE = 3
MIN_WIDE = 8
"""Characters of scripts that part no words by blanks: eight of them are some words."""

MAX_COMPARED = 60
"""Items of a list that are compared letter by letter, when they are not equal."""

MAX_LONGER = 0.2
"""How much shorter than another one an item may be, to be the same."""

MAX_DATE_CHARS = 40
"""Longer texts have a date in them, but are not one."""

_PIECE = re.compile(
    r"(\d+(?:[.,]\d+)?)\s*(d(?:ays?|agen?)?\b|tage?\b|h(?:(?:ou)?rs?)?\b|std|stunden?|uur|uren|heures?|horas?|ore\b|timer?\b|"
    r"godz\w*|tim\b|m(?:in(?:ut\w*|s)?)?\b|min\w*)"
)
_ISO = re.compile(r"^P(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?$", re.IGNORECASE)
_DIGIT = re.compile(r"[0-9]")
_ORDERS: tuple[DateOrder, ...] = ("dmy", "mdy")
_YEAR = re.compile(r"(?:19|20)\d\d")
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::\d{2}(?:\.\d{1,9})?)? ?([ap]\.?m\b)?", re.IGNORECASE)
_ZONE = re.compile(r"\b(?:GMT|UTC|[A-Z]{1,3}[SD]?T)\b|\d[+-]\d\d:?\d\d\b|\dZ\b")
_STOPS = (".", "!", "?", "。")


class Kind(StrEnum):
    """The meaning of a field's texts."""

    TEXT = "text"
    NUMBER = "number"
    DURATION = "duration"
    ADDRESS = "address"

    @property
    def is_amount(self) -> bool:
        """Whether the texts are amounts, which are written in many ways."""
        return self in (Kind.NUMBER, Kind.DURATION)


def read_value(kind: Kind, text: str) -> JSONValue:
    """Return the value of a text: itself, its first number, or its minutes; None without a number."""
    if not kind.is_amount:
        return text or None
    if len(text) > MAX_AMOUNT_CHARS:
        return None
    if kind is Kind.DURATION:
        return read_minutes(text)
    found = amounts_of(text)
    return found[0].value if found else None


def amounts_in(kind: Kind, text: str) -> tuple[float, ...]:
    """Return all numbers that a text of a kind may mean."""
    if kind is Kind.NUMBER:
        return tuple(one.value for one in amounts_of(text))
    value = read_value(kind, text)
    return (float(value),) if isinstance(value, int | float) else ()


def read_minutes(text: str) -> int | None:
    """Return the minutes in a text such as ``1 h 20 min`` or ``PT1H20M``."""
    if iso := _ISO.match(text.strip()):
        days, hours, minutes, seconds = (int(part or 0) for part in iso.groups())
        return days * 1440 + hours * 60 + minutes + seconds // 60 or None
    total = 0.0
    for number, unit in _PIECE.findall(text.lower()):
        scale = 1 if unit[0] == "m" else 1440 if unit[0] == "d" or unit.startswith("tag") else 60
        total += float(number.replace(",", ".")) * scale
    return int(total) or None


def is_finite(number: float) -> bool:
    """Return whether a number, perhaps a whole one of any length, can be compared as a float."""
    return -sys.float_info.max <= number <= sys.float_info.max  # False for NaN


def agreement(
    kind: Kind, texts: Sequence[str], known: JSONValue, plain_texts: Sequence[str] | None = None
) -> float:
    """Return how far found texts agree with a stored value, from 0 to 1.

    Args:
        kind: The meaning of the texts.
        texts: As found.
        known: The stored value.
        plain_texts: The texts as letters and digits only, if they are known.
    """
    if isinstance(known, list):
        if kind is Kind.ADDRESS:
            return same_addresses(texts, [*map(str, known)])
        plain_texts = [*map(plain, texts)] if plain_texts is None else plain_texts
        return _lists(texts, plain_texts, _parts_of(tuple(map(str, known))))
    if not texts:
        return 0.0
    if kind is Kind.TEXT:
        return _texts(texts[0], plain_texts[0] if plain_texts else plain(texts[0]), str(known))
    return same_address(texts[0], str(known)) if kind is Kind.ADDRESS else _amounts(kind, texts[0], known)


def _amounts(kind: Kind, text: str, known: JSONValue) -> float:
    wanted = (known,) if isinstance(known, int | float) else amounts_in(kind, str(known))
    best = max((_same(one, other) for one in amounts_in(kind, text) for other in wanted), default=0.0)
    if best == 1.0 and kind is Kind.NUMBER:
        usual = [one.value for one in amounts_of(text) if not one.is_odd]
        return best if any(_same(one, other) == 1.0 for one in usual for other in wanted) else ROUNDED
    if best < ROUNDED and kind is Kind.NUMBER:
        steps = [(one, other) for one in amounts_of(text) if one.step for other in wanted]
        return ROUNDED if any(abs(one.value - other) < one.step for one, other in steps) else best
    return best


def _same(found: float, wanted: float) -> float:
    if abs(found - wanted) <= 1e-6 * max(1.0, abs(wanted)):
        return 1.0
    return ROUNDED if _is_rounded(found, wanted) else 0.0


def _is_rounded(found: float, wanted: float) -> bool:
    """Return whether a number with decimals is another one with fewer of them: 4.7 is 4.67."""
    decimals = len(repr(found).partition(".")[2])
    return (
        found % 1 != 0
        and decimals < len(repr(float(wanted)).partition(".")[2])
        and round(wanted, decimals) == found
    )


def is_telling(known: JSONValue, agrees: float, kind: Kind = Kind.TEXT) -> bool:
    """Return whether an agreement is more than chance: of a long text, or of a list of three or more.

    If all is equal, four words are enough, and two items. Of an address, the name of a file is enough.
    """
    if kind is Kind.ADDRESS and isinstance(known, str):
        return agrees >= SAME_FILE and is_telling_address(known)
    if isinstance(known, list):
        is_same = agrees == 1.0 and len(known) > 1 and sum(map(len, map(str, known))) >= MIN_CHARS / 2
        return is_same or (agrees >= SAME_LIST and len(known) >= MIN_ITEMS)
    if not isinstance(known, str) or agrees < SAME_LONG_TEXT:
        return False
    own = plain(known)
    count = _weight(own)
    has_words = known.count(" ") >= MIN_ITEMS or count - len(own) >= MIN_WIDE * (WIDE - 1)
    return count >= MIN_CHARS or (agrees == 1.0 and count >= MIN_CHARS / 2 and has_words)


def _weight(text: str) -> int:
    """Return how many letters a text has; kana, hanzi and hangul say as much as a syllable each."""
    if text.isascii():
        return len(text)
    return len(text) + (WIDE - 1) * sum(
        "\u3040" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7a3" for char in text
    )


def telling_digits(known: JSONValue) -> int:
    """Return how many digits of a stored value say something, up to 4: 3 of 120.5, 2 of 1200; 4 of a day."""
    if isinstance(known, bool) or not isinstance(known, int | float | str):
        return 0
    if isinstance(known, str):
        digits = len(_digits_of(known)) if len(known) <= MAX_DATE_CHARS else 0
        return 4 if days_of(known) else min(4, digits)
    return min(4, digits_in(known))


def _texts(found: str, a: str, known: str) -> float:
    b = plain(known)
    if not a or not b:
        return 0.0
    if a == b:
        return 1.0
    short, long = sorted((_weight(a), _weight(b)))
    if (days := _dates(found, known)) is not None:
        return days
    if short < 0.4 * long:
        return 0.0
    words, wanted = text_words(found), text_words(known)
    shared = dice(words, wanted)
    lacks_digits = len(a) < len(b) and _digits_of(a) != _digits_of(b)  # `2024` is not all of `2024-03-05`
    if (a in b or b in a) and long - short <= max(12, 0.5 * short) and not lacks_digits:
        return max(0.9 if abs(len(words) - len(wanted)) <= 3 else 0.0, 0.97 * shared)
    return 0.97 * shared


def _dates(found: str, known: str) -> float | None:
    """Return how far two dates agree: another day, or another time of it, is another value.

    None if one is not a date, or both may be one of two days.
    """
    days, others = days_of(known), days_of(found)
    if not days or not others or (min(len(days), len(others)) > 1 and not days.isdisjoint(others)):
        return None
    moment, wanted = _instant(found), _instant(known)
    if moment is not None and wanted is not None:
        return float(moment == wanted)
    if days.isdisjoint(others) or _differ_in_time(found, known):
        return 0.0
    return 1.0 if len(found) <= MAX_DATE_CHARS / 2 else AGREES


def _instant(text: str) -> datetime | None:
    """Return the moment that an ISO date with time and zone names; None for other texts."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.astimezone(UTC).replace(microsecond=0) if moment.tzinfo is not None else None


def is_day(text: str, days: frozenset[str]) -> bool:
    """Return whether a text names one of some days."""
    return bool(days) and not days.isdisjoint(days_of(text))


def _differ_in_time(one: str, other: str) -> bool:
    """Return whether two days have different times of day; the hours of two zones may differ."""
    a, b = _TIME.search(one), _TIME.search(other)
    if a is None or b is None:
        return False
    zones = [_ZONE.findall(text) for text in (one, other)]
    is_moved = zones[0] != zones[1] and a[2] == b[2]
    return not is_moved and (_hour(a), a[2]) != (_hour(b), b[2])


def _hour(time: re.Match[str]) -> int:
    """Return the hour of a day that has 24."""
    half = (time[3] or "").lower()[:1]
    return int(time[1]) % 12 + 12 * (half == "p") if half else int(time[1])


def _digits_of(text: str) -> str:
    return "".join(filter(str.isdigit, text))


@lru_cache(maxsize=4_096)
def days_of(text: str) -> frozenset[str]:
    """Return the days that a text may name, if they are most of it: 03/04/2024 may be one of two."""
    if len(text) > MAX_DATE_CHARS or _YEAR.search(text) is None:
        return frozenset()
    found = (_moment(text, order) for order in _ORDERS)
    return frozenset(one.isoformat()[:10] for one in found if one is not None)


def _moment(text: str, order: DateOrder) -> date | None:
    try:
        return read_moment(text, order=order, is_day=True)
    except AmbiguousError:
        return None


class _Parts(NamedTuple):
    plain: tuple[str, ...]
    chars: int
    words: tuple[str, ...]


@lru_cache(maxsize=64)
def _parts_of(items: tuple[str, ...]) -> _Parts:
    """Return the items of a stored list, ready to be compared with many others."""
    own = tuple(text for item in items if (text := plain(item)))
    return _Parts(own, sum(map(len, own)), tuple(word for item in items for word in text_words(item)))


def _lists(found: Sequence[str], plain_found: Sequence[str], known: _Parts) -> float:
    """Return the share of common items, or of common words where the items are split otherwise."""
    a, b = [text for text in plain_found if text], known.plain
    if not a or not b:
        return 0.0
    left = Counter(b)
    hits, unmatched = 0, []
    for text in a:
        if left[text] > 0:
            left[text] -= 1
            hits += 1
        else:
            unmatched.append(text)
    rest = [*left.elements()][:MAX_COMPARED]
    for text in unmatched[:MAX_COMPARED]:
        low, high = (1 - MAX_LONGER) * len(text), len(text) / (1 - MAX_LONGER)
        fit = next((one for one in rest if low <= len(one) <= high and _is_close(text, one)), None)
        if fit is not None:
            rest.remove(fit)
            hits += 1
    by_item = 2 * hits / (len(a) + len(b))
    if by_item >= 0.9:
        return by_item
    chars = sum(map(len, a))
    if min(chars, known.chars) < 0.6 * max(chars, known.chars):
        return by_item
    words = dice((word for text in found for word in text_words(text)), known.words)
    return max(by_item, words * words)


def _is_close(one: str, other: str) -> bool:
    if one in other or other in one:
        return True
    a, b = _trigrams(one), _trigrams(other)
    return bool(a and b) and 2 * len(a & b) >= 0.85 * (len(a) + len(b))


@lru_cache(maxsize=1_024)
def _trigrams(text: str) -> frozenset[str]:
    return frozenset([text[start : start + 3] for start in range(len(text) - 2)])


Shape = tuple[float, float, float, float, float, float]


def shape_of(texts: Sequence[str]) -> Shape:
    """Return how texts look: digits first, digits at all, full stops, words, commas, capitals first."""
    if len(texts) == 1:  # as most candidates
        return _shape_of_one(texts[0])
    count = len(texts) or 1
    numeric = digits = stops = words = commas = capitals = 0
    for text in texts:
        first = text[:1]
        numeric += first.isnumeric()
        digits += _has_digit(text)
        stops += text.endswith(_STOPS)
        words += text.count(" ") + 1
        commas += text.count(",")
        capitals += first.isupper()
    return (
        numeric / count,
        digits / count,
        stops / count,
        math.log1p(words / count) / 3,
        min(1.0, commas / count / 3),
        capitals / count,
    )


def _shape_of_one(text: str) -> Shape:
    first = text[:1]
    return (
        float(first.isnumeric()),
        float(_has_digit(text)),
        float(text.endswith(_STOPS)),
        math.log1p(text.count(" ") + 1) / 3,
        min(1.0, text.count(",") / 3),
        float(first.isupper()),
    )


def _has_digit(text: str) -> bool:
    return _DIGIT.search(text) is not None or (not text.isascii() and any(map(str.isdigit, text)))


def likeness(one: Shape, other: Shape) -> float:
    """Return how alike two shapes are, from 0 to 1."""
    a, b, c, d, e, f = one
    u, v, w, x, y, z = other
    return math.exp(-1.5 * (abs(a - u) + abs(b - v) + abs(c - w) + abs(d - x) + abs(e - y) + abs(f - z)))
