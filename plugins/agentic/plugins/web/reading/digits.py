"""The digits of numbers, grouped as in any country."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

from agentic.core.reading.ambiguous import AmbiguousError
from agentic.plugins.web.reading.currencies import find_marks
from agentic.plugins.web.reading.odd_digits import GAP, JOINT, with_usual_digits

Decimal = Literal[".", ","]

MAX_DIGITS = 300
"""Longer numbers are useless, and too large for a float."""

MAX_CHARS = 2_000
"""Longer texts are not numbers; this bounds the work for each page."""

GROUP = 3
CENTS = 2

# Digits of other scripts become ASCII ones; `٬` and apostrophes group digits, `٫` stands before a fraction.
_PLAIN: dict[int, str | int | None] = {
    **dict.fromkeys(map(ord, "’‘ʼ′`´＇٬ʹ"), "'"),
    **str.maketrans("，．：％٪＄￥￡￦−－﹣،‚﹐․﹒", ",.:%%$¥£₩---,,,.."),
    **dict.fromkeys((0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " "),
    **dict.fromkeys(
        (0xAD, *range(0x200B, 0x2010), 0x061C, *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFEFF)
    ),
}

_LONGEST_MARK = 8
_ATOM = re.compile(r"[0-9]+(?:[.,'٫:\x1e\x1f][0-9]+)*")

# What stands behind a number and multiplies it; a single letter has no blank in front of it.
_WORDS = (
    (10**3, r"tsd\.?|тыс\.?|thousand|千|천"),
    (10**6, "mio|mln|millions?|millionen|millones|млн|百万|백만"),
    (10**9, "bn|mrd|mld|billions?|milliarden|млрд|十亿|십억"),
    (10**5, "lakhs?|lacs?"),
    (10**7, "crores?"),
    (10**4, "万|萬|만"),
    (10**8, "億|亿|억"),
)
FACTOR = r"[kKM]|(?i:" + "|".join(words for _, words in _WORDS) + r")\.?"
"""Expression for a word that multiplies a number."""

_TIMES = re.compile(
    "(?:([kK])|(M)| ?(?i:" + "|".join(f"({words})" for _, words in _WORDS) + "))(?:[^a-zA-Zа-я]|\\Z)"
)
_BILLIONS = re.compile(r"B(?![A-Za-z])")
_FACTORS = (10**3, 10**6, *(factor for factor, _ in _WORDS))
_CENTS = re.compile(rf"(\d){JOINT}(\d\d)([^\d.,{JOINT}]|\Z)")
_WHOLE = re.compile(r"[.,:]\s?[-–—―=]+")
"""These signs end a number without a fraction: ``1.299,-``."""


class Number(NamedTuple):
    """A number in a text, not yet read.

    Attributes:
        text: Its digits, and the characters between them.
        start: Where it begins.
        end: Where it ends.
        before: The text from the number before it.
        behind: The text up to the next number.
    """

    text: str
    start: int
    end: int
    before: str
    behind: str

    @property
    def is_negative(self) -> bool:
        """Whether a minus stands before it: no hyphen, and no dash between two numbers."""
        ahead = self.before.rstrip()
        if not ahead.endswith("-"):
            return False
        word = ahead[:-1]
        return (
            word.strip() != "" and not word[-1].isalnum()
            if self.start > len(self.before)
            else not word[-1:].isalnum()
        )


def plain(text: str) -> str:
    """Return a text with usual digits, blanks and apostrophes in place of their kin."""
    if not text.isascii():
        digits = {ord(char): str(int(char)) for char in set(text) if char.isdecimal() and not char.isascii()}
        text = text.translate({**_PLAIN, **digits})
    return with_usual_digits(text)


def without_joints(text: str) -> str:
    """Return a text for a pattern of the user: a point before cents, nothing between other digits."""
    if JOINT in text:
        text = _CENTS.sub(lambda found: f"{found[1]}.{found[2]}{found[3]}", text).replace(JOINT, "")
    return text.replace(GAP, " ")


def shown(text: str) -> str:
    """Return the beginning of a text for a message, with blanks between the digits of two elements."""
    return text.replace(JOINT, " ").replace(GAP, " ")[:100]


def find_numbers(text: str) -> list[Number]:
    """Return the numbers of a text that is :func:`plain`; blanks may group their digits."""
    spans = list(_joined(text))
    ends = [0, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), len(text)]
    return [
        Number(text[start:end], start, end, text[ends[n] : start], text[end : starts[n + 1]])
        for n, (start, end) in enumerate(spans)
    ]


def _joined(text: str) -> Iterator[tuple[int, int]]:
    """Yield where numbers stand; ``1 234,50`` is one, ``12 34`` are two."""
    start = end = -1
    for found in _ATOM.finditer(text):
        here, there = found.start(), found.end()
        if start >= 0 and _goes_on(text[start:end], text[end:here], found[0]) and _is_apart(text[:start]):
            end = there
            continue
        if start >= 0:
            yield start, end
        start, end = here, there
    if start >= 0:
        yield start, end


def _is_apart(ahead: str) -> bool:
    """Whether a number stands apart, or at a currency: ``EUR15 799``, but not ``iPhone15 799``."""
    if not ahead[-1:].isalpha():
        return True
    near = ahead[-_LONGEST_MARK:]
    return any(mark.end == len(near) for mark in find_marks(near))


def _goes_on(head: str, between: str, atom: str) -> bool:
    if between != " ":
        return False
    digits = len(atom) - len(atom.lstrip("0123456789"))
    groups = head.split(" ")
    is_group = digits == GROUP and (len(atom) == digits or atom[digits] in ".,٫\x1f\x1e")
    return is_group and len(groups[0]) <= GROUP and groups[0][0] != "0" and all(map(str.isdigit, groups))


def value_of(
    number: Number, decimal: Decimal | None, *, whole: bool = False, groups: frozenset[str] = frozenset()
) -> float | None:
    """Return the value of a number; None for a date or a version: ``1.2.3``.

    Args:
        number: Of a text.
        decimal: The character before a fraction; None if that is not known.
        whole: It has no fraction.
        groups: Characters that group digits, if three digits follow and nothing else decides.

    Raises:
        AmbiguousError: It may be one of several.
    """
    digits = number.text
    if whole or (decimal is None and _WHOLE.match(number.behind) is not None):
        groups = frozenset(".,")
    if not digits.isdigit():
        found = _digits(digits, decimal, groups)
        if found is None:
            return None
        digits = found
    elif number.before[-1:] in (".", ",") and _begins_with_fraction(number):
        digits = f"0.{digits}"
    if len(digits) > MAX_DIGITS:
        return None
    value = float(digits) * (_factor(number.behind) or _billions(number))
    if math.isinf(value):
        return None
    value = round(value, 10)  # 1.1 million is 1100000.0000000002
    return -value if number.is_negative else value


def _begins_with_fraction(number: Number) -> bool:
    """Whether a number has nothing before its fraction: ``$.99``, but not ``No.5``."""
    ahead = number.before[:-1]
    return not ahead or not (ahead[-1].isalnum() or ahead[-1] in ".,")


@lru_cache(maxsize=1024)
def _digits(text: str, decimal: Decimal | None, groups: frozenset[str]) -> str | None:  # noqa: PLR0911 - one for each form
    """Return a number without what groups its digits, a point before its fraction; None for other texts."""
    if GAP in text:
        first, second = text.split(GAP, 1)
        raise AmbiguousError(f"{first} and {second} may be one number or two; select one element")
    if JOINT in text:
        return _with_cents(text, decimal)
    marks = [char for char in text if not char.isdigit()]
    last = marks[-1]
    if ":" in marks or marks.count("٫") > (last == "٫"):
        return None
    head, _, fraction = text.rpartition(last)
    if last in ("٫", decimal):
        return _plain_head(head, fraction, frozenset(" '.,") - {last})
    if last in " '" or decimal is not None:
        return _grouped(text, frozenset(marks))
    if len(set(marks)) > 1 or len(marks) > 1:
        # `1,234.50` and `1'234.50`; `1.234.567` has groups alone, and `1.2.3` is no number.
        if last in marks[:-1]:
            return _grouped(text, frozenset(marks))
        return _plain_head(head, fraction, frozenset(marks[:-1]))
    if len(fraction) != GROUP or len(head) > GROUP or head[0] == "0":
        return f"{head}.{fraction}"
    if last in groups:
        return head + fraction
    raise AmbiguousError(
        f"{text} may be {head}{fraction} or {head}.{fraction}; set `decimal` to the character before a "
        'fraction: "." or ","'
    )


def _plain_head(head: str, fraction: str, grouping: frozenset[str]) -> str | None:
    whole = head if head.isdigit() else _grouped(head, grouping)
    return None if whole is None else f"{whole}.{fraction}"


def _grouped(text: str, grouping: frozenset[str]) -> str | None:
    """Return a whole number without what groups its digits: by three, or as in India; or None."""
    marks = {char for char in text if not char.isdigit()}
    if len(marks) != 1 or not marks <= grouping:
        return None
    first, *inner, last = text.split(marks.pop())
    sizes = set(map(len, inner))
    by_three = len(first) <= GROUP and sizes <= {GROUP}
    as_in_india = len(first) <= CENTS and sizes == {CENTS} and "," in text
    if len(last) != GROUP or not (by_three or as_in_india):
        return None
    return "".join((first, *inner, last))


def _with_cents(text: str, decimal: Decimal | None) -> str:
    """Return a number whose cents stand in an element of their own."""
    head, *others = text.split(JOINT)
    if len(others) == 1 and len(others[0]) == CENTS:
        whole = head if head.isdigit() else _digits(head, decimal, frozenset(".,"))
        if whole is not None and whole.isdigit():
            return f"{whole}.{others[0]}"
    parts = " and ".join(text.split(JOINT))
    raise AmbiguousError(
        f"{parts} stand in several elements and may be one number or several; select one element"
    )


def _factor(behind: str) -> int:
    """Return by how much the text behind a number multiplies it: ``1.2k``, ``3 Mio. €``; 0 for no factor."""
    found = _TIMES.match(behind) if behind else None
    if found is None:
        return 0
    return next(factor for factor, group in zip(_FACTORS, found.groups(), strict=True) if group)


def _billions(number: Number) -> int:
    """Return the factor of ``1.2B``; ``512B`` may be bytes, and ``221B`` a house."""
    return 10**9 if "." in number.text and has_b(number) else 1


def has_b(number: Number) -> bool:
    """Whether a B stands right behind a number."""
    return _BILLIONS.match(number.behind) is not None
