"""Amounts as pages write them, and the numbers that each may mean."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

MAX_AMOUNT_CHARS = 80
"""Longer texts have a number in them, but are not one."""

GROUP = 3
CENTS = 100
_NUMBER = re.compile(r"\d{1,3}(?:[ '’]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)*")
_BLANKS = str.maketrans("", "", " '’")
_WITH_CENTS = frozenset("$€£₹₽")
_FACTORS = (1_000, 1_000_000, 1_000_000_000)
_FACTOR = re.compile(
    r"(?:([kK])|(M)| ?(?i:(tsd|thousand)|(mio|mln|millions?|millionen)|(bn|mrd|billions?|milliarden)))"
    r"(?![a-zA-Z])"
)


class Amount(NamedTuple):
    """A number that a text may mean.

    Attributes:
        value: The number.
        step: From one such number to the next: 100 for ``1.2k``. 0 where it is not rounded.
        is_odd: Whether the text usually means another number.
    """

    value: float
    step: float = 0.0
    is_odd: bool = False


@lru_cache(maxsize=8_192)
def amounts_of(text: str) -> tuple[Amount, ...]:
    """Return the meanings of the first number in a text, the likeliest first.

    ``1.299`` is one and a bit or more than a thousand, ``15.2k`` is 15,200, and ``1999 €`` is 19.99 where the
    cents stand in an element of their own. A date or a version has no amount.
    """
    found = _NUMBER.search(text) if len(text) <= MAX_AMOUNT_CHARS else None
    if found is None:
        return ()
    digits = found[0].translate(_BLANKS)
    values = _readings(digits)
    times = _FACTOR.match(text, found.end())
    if times is not None and values:
        factor = _FACTORS[0 if times[1] or times[3] else 1 if times[2] or times[4] else 2]
        step = factor / 10.0 ** len(repr(values[0]).removesuffix(".0").partition(".")[2])
        return Amount(round(values[0] * factor, 6), step), *map(Amount, values)
    odd: list[float] = []
    if digits == found[0] and digits.isdigit() and len(digits) >= GROUP and not _WITH_CENTS.isdisjoint(text):
        odd.append(float(digits) / CENTS)
    if found[0] != digits:  # blanks may stand between two numbers
        odd.append(float(found[0].split(" ")[0].partition("'")[0].partition("’")[0]))
    return *map(Amount, values), *(Amount(value, is_odd=True) for value in odd)


def is_one_amount(text: str) -> bool:
    """Return whether a text has one number, and no other digits."""
    found = _NUMBER.search(text) if len(text) <= MAX_AMOUNT_CHARS else None
    return found is not None and not any(map(str.isdigit, text[: found.start()] + text[found.end() :]))


def _readings(digits: str) -> tuple[float, ...]:
    """Return the numbers of digits with points and commas between them; none for a date."""
    *ahead, last = digits.replace(",", ".").split(".")
    whole = float("".join((*ahead, last)))
    if not ahead:
        return (whole,)
    marks = [char for char in digits if char in ".,"]
    decimal = float(f"{''.join(ahead)}.{last}")
    if len(marks) == 1:
        if len(last) != GROUP or len(ahead[0]) > GROUP or ahead[0].startswith("0"):
            return (decimal,)
        return (whole, decimal) if marks[0] == "," else (decimal, whole)
    if marks[-1] in marks[:-1]:
        return (whole,) if _is_grouped((*ahead[1:], last), marks) else ()
    return (decimal,) if len(set(marks[:-1])) == 1 and _is_grouped(ahead[1:], marks[:-1]) else ()


def _is_grouped(groups: tuple[str, ...] | list[str], marks: list[str]) -> bool:
    """Return whether digits are grouped by three, or as in India: ``12,34,567``."""
    *inner, last = groups
    by_two = all(len(one) == GROUP - 1 for one in inner) and marks[0] == ","
    return len(set(marks)) == 1 and len(last) == GROUP and (by_two or all(len(one) == GROUP for one in inner))


def digits_in(number: float) -> int:
    """Return how many digits of a number say something: 3 of 120.5, 2 of 1200."""
    return len(f"{abs(number):.8f}".replace(".", "").strip("0"))
