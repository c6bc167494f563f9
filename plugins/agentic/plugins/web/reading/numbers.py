"""Numbers and prices as people write them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from agentic.core.reading.ambiguous import AmbiguousError
from agentic.core.types import JSONValue
from agentic.plugins.web.reading.currencies import (
    DOLLARS,
    WITH_THREE_DECIMALS,
    WITHOUT_DECIMALS,
    WORDS,
    Mark,
    find_marks,
)
from agentic.plugins.web.reading.digits import (
    FACTOR,
    MAX_CHARS,
    MAX_DIGITS,
    Decimal,
    Number,
    find_numbers,
    has_b,
    plain,
    value_of,
)
from agentic.plugins.web.reading.odd_digits import JOINT

_NEAR = 40
"""Characters around a number in which its currency is looked for."""

# Most prices of most pages: what follows takes 20 times as long.
_USUAL = re.compile(
    r"(?:([$€£])|(EUR|USD|GBP) ?)?(\d{1,9}(?:[.,]\d\d?)?|\d{1,3}(?:,\d{3}){1,3}\.\d\d)"
    r"(?: ?(€)| ?(EUR|USD|GBP))?"
)
_USUAL_CURRENCIES = {"$": "USD", "€": "EUR", "£": "GBP"}

# Between a currency and its number, and between a number and its currency.
_TO_NUMBER = re.compile(r"[\s:()\-+.]{0,4}")
_TO_MARK = re.compile(rf"(?:[.,:]\s?[-–—―=]+)?[*)]?\s?(?:(?:{FACTOR})\s?)?")
_AS_DECIMAL = re.compile(r"(\d)([€$£])(\d\d)([^\d.,$€£]|\Z)")
_RANGE = re.compile(r" ?(?:[-–—~]|to|bis|до) ?\S{0,3}")
_UNIT = re.compile(r"[^0-9]{0,12}?(?:/ ?[a-z]|\b(?:per|pro|je|par|por|al|za)\s)", re.IGNORECASE)
_SUM = re.compile(r"=\s?\S{0,3}\s?\Z")
_CENT = re.compile(r"\s?(?:(¢|cents?\b|pence\b)|(?:p|c|ct|cts|m)\b)", re.IGNORECASE)
_CENTS = 100


class _Amount(NamedTuple):
    """A number that may be a price.

    Attributes:
        number: As it stands in the text.
        marks: The names of currencies at it, each with whether it stands before the number.
        is_rate: Whether it is for a unit: ``3.98 €/kg``.
    """

    number: Number
    marks: tuple[tuple[Mark, bool], ...]
    is_rate: bool

    @property
    def is_percentage(self) -> bool:
        return self.number.behind.lstrip()[:1] == "%"

    @property
    def is_in_word(self) -> bool:
        """Whether a letter stands right before it: ``A4``."""
        return not self.marks and self.number.before[-1:].isalpha()

    @property
    def is_negative(self) -> bool:
        """Whether a minus stands before its currency: ``-$5``."""
        first = next((mark for mark, is_before in self.marks if is_before), None)
        ahead = self.number.before
        return (
            first is not None
            and ahead.startswith("-")
            and self.number.start == len(ahead)
            and first.start == 1
        )


def parse_number(text: str, *, whole: bool, decimal: Decimal | None = None) -> int | float | None:
    """Return the number in ``text``: the one with a currency, otherwise the first; None if there is none.

    Args:
        text: Its digits may be grouped, in the ways of any country.
        whole: Refuse a number with a fraction.
        decimal: The character before a fraction; None: as the number shows.

    Raises:
        AmbiguousError: It may be one of several: ``1,234`` is 1234 in London and 1.234 in Berlin.
    """
    if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS:  # as most are
        return int(text) if whole else float(text)
    if not whole and (usual := _read_usual(text, decimal)) is not None:
        return usual[0]
    amounts = _amounts(text)
    if not amounts:
        return None
    if any(amount.marks for amount in amounts):
        value = _price(amounts, decimal)[0]
    else:
        number = amounts[0].number
        value = value_of(number, decimal, whole=whole)
        if value and f" {number.before}".endswith(" -."):  # at a currency, it is a price without whole units
            value = -value
    if value is None or not whole:
        return value
    return int(value) if value.is_integer() else None


def parse_price(text: str, *, decimal: Decimal | None = None) -> dict[str, JSONValue] | None:
    """Return ``{"amount", "currency"}`` of a price, None if there is no number in ``text``.

    The amount is the number that stands at a currency: 349 in ``2 pairs for $349``. The currency is an ISO
    4217 code, None where the text names none, or one of several: ``¥``, ``kr``.

    Args:
        text: It has one price.
        decimal: The character before a fraction; None: as the number and its currency show.

    Raises:
        AmbiguousError: It has several: ``$10 - $20``; or the price may be one of several: ``1.299``.
    """
    if (usual := _read_usual(text, decimal)) is not None:
        return {"amount": usual[0], "currency": usual[1]}
    amounts = _amounts(text)
    if not amounts:
        return None
    amount, currency = _price(amounts, decimal)
    return None if amount is None else {"amount": amount, "currency": currency}


def _read_usual(text: str, decimal: Decimal | None) -> tuple[float, str | None] | None:
    """Return amount and currency of a text that is nothing but a price; None if it is not."""
    found = _USUAL.fullmatch(text) if decimal is None else None
    if found is None:
        return None
    digits = found[3]
    before, behind = found[1] or found[2], found[4] or found[5]
    if before and behind:
        return None
    mark = before or behind
    plain_digits = digits.replace(",", "") if "." in digits else digits.replace(",", ".")
    return float(plain_digits), _USUAL_CURRENCIES.get(mark, mark)


def _amounts(text: str) -> list[_Amount]:
    if len(text) > MAX_CHARS:
        return []
    text = plain(text)
    if sum(map(text.count, "€$£")) == 1:
        text = _AS_DECIMAL.sub(_with_cents, text)
    numbers = find_numbers(text)
    if not numbers:
        return []
    gaps = [number.before for number in numbers] + [numbers[-1].behind]
    marks: list[list[tuple[Mark, bool]]] = [[] for _ in numbers]
    is_prefixed = False
    for place, gap in enumerate(gaps):
        for mark, is_before in _placed(gap, place, len(numbers), is_prefixed=is_prefixed):
            marks[place if is_before else place - 1].append((mark, is_before))
            is_prefixed = is_prefixed or (place == 0)
    if not any(marks) and len(numbers) == 1:
        # `Price in EUR, all taxes included: 20`
        marks[0] = [(m, True) for gap in gaps for m in find_marks(gap) if gap[m.start : m.end] not in WORDS][
            :1
        ]
    for number, one, other in zip(numbers[1:], marks, marks[1:], strict=False):
        if _RANGE.fullmatch(number.before) is not None:  # `10-20 €` has one currency for both
            one[:], other[:] = one or other, other or one
    others = [*map(bool, marks[1:]), True]
    return [
        _Amount(number, tuple(found), _is_rate(number, is_price_next=other))
        for number, found, other in zip(numbers, marks, others, strict=True)
    ]


def _is_rate(number: Number, *, is_price_next: bool) -> bool:
    behind = number.behind[:_NEAR]
    is_per = _UNIT.match(behind) is not None or (not is_price_next and behind.rstrip().endswith("/"))
    return is_per or _SUM.search(number.before[-_NEAR:]) is not None


def _placed(gap: str, place: int, count: int, *, is_prefixed: bool) -> Iterable[tuple[Mark, bool]]:
    """Yield the currencies between two numbers, and whether each belongs to the second one."""
    near = gap if len(gap) <= 2 * _NEAR else f"{gap[:_NEAR]} | {gap[-_NEAR:]}"
    for mark in find_marks(near):
        ahead, behind = near[: mark.start], near[mark.end :]
        before = (
            place < count
            and _TO_NUMBER.fullmatch(behind) is not None
            and near[mark.start : mark.end] not in WORDS
        )
        after = place > 0 and _TO_MARK.fullmatch(ahead) is not None
        if before and after:
            before = is_prefixed if bool(ahead) == bool(behind) else not behind
        if before or after:
            yield mark, before


def _price(amounts: Sequence[_Amount], decimal: Decimal | None) -> tuple[float | None, str | None]:
    """Return the amount and the currency of the only price among amounts."""
    wanted = [amount for amount in amounts if not amount.is_percentage]
    wanted = [amount for amount in wanted if amount.marks] or wanted
    wanted = [amount for amount in wanted if not amount.is_rate] or wanted
    wanted = [amount for amount in wanted if not amount.is_in_word] or wanted
    values = {id(amount): _value(amount, decimal) for amount in wanted}
    distinct = sorted({value for value in values.values() if value is not None})
    if len(distinct) > 1:
        listed = ", ".join(f"{value:g}" for value in distinct[:5])
        raise AmbiguousError(f"it has several amounts ({listed}); select the element of one, or use `regex`")
    if not distinct:
        return None, None
    currencies = {_currency(amount) for amount in wanted if values[id(amount)] is not None}
    return distinct[0], currencies.pop() if len(currencies) == 1 else None


def _value(amount: _Amount, decimal: Decimal | None) -> float | None:
    number = amount.number
    value = value_of(number, decimal, groups=_groups(amount))
    if value is None:
        if amount.marks:
            raise AmbiguousError(f"{number.text} is not written like an amount; use `regex` for a part of it")
        return None
    cents = _CENT.match(number.behind)
    is_before = any(is_before for _, is_before in amount.marks)
    if cents is not None and not is_before:
        if cents[1]:
            return value / _CENTS
        if not amount.marks:
            raise AmbiguousError(f"{number.text}{cents[0]} may be an amount or cents; use type: number")
    elif cents is not None and cents[0] == "m":
        raise AmbiguousError(f"{number.text}m may mean millions; use `regex` and type: number")
    elif is_before and "." not in number.text and has_b(number):
        raise AmbiguousError(f"{number.text}B may mean billions; use `regex` and type: number")
    return -value if amount.is_negative else value


def _groups(amount: _Amount) -> frozenset[str]:
    """Return the characters that group digits at a currency, where three digits follow.

    Amounts have two decimals at most, so ``1.299 €`` has a thousand. But the character that the country of
    the currency writes before a fraction may do so here: ``$3.459`` is a price of fuel, or one in Chile.
    """
    if not amount.marks or amount.is_rate:
        return frozenset()
    mark, is_before = amount.marks[0]
    currency = _currency(amount)
    if currency in WITHOUT_DECIMALS:
        return frozenset(".,")
    if currency in WITH_THREE_DECIMALS:
        return frozenset()
    if mark.decimal == ".":
        return frozenset(",")
    return frozenset(".,") if is_before or mark.is_code else frozenset(".")


def _currency(amount: _Amount) -> str | None:
    """Return the currency that all marks at a number name; a code says which dollars ``$`` are."""
    marks = [mark for mark, _ in amount.marks]
    codes = {mark.currency for mark in marks if not mark.is_dollar_sign}
    if any(mark.is_dollar_sign for mark in marks):
        if not codes:
            return "USD"
        return next(iter(codes)) if len(codes) == 1 and codes <= DOLLARS else None
    return codes.pop() if len(codes) == 1 else None


def _with_cents(found: re.Match[str]) -> str:
    """Return ``19€99`` with the currency behind the cents."""
    return f"{found[1]}{JOINT}{found[3]}{found[2]}{found[4]}"
