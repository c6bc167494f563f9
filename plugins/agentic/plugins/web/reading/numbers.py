"""Numbers and prices as people write them."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.linear import LinearPattern
from agentic.core.types import JSONValue

# What stands after a number belongs to what is matched, as nothing looks ahead; so the number is a group.
_NUMBER = LinearPattern(
    r"""(?x)
        ([-+]? \d{1,3}(?:[.\s]\d{3})+,\d{1,2}) (?:\D|\Z)
      | ([-+]? \d+,\d{1,2}) (?:[^\d,]|\Z)
      | ([-+]? \d{1,3}(?:\.\d{3}){2,}) (?:\D|\Z)
      | ([-+]? \d{1,3}(?:[,\s]\d{3})+(?:\.\d+)?) (?:\D|\Z)
      | ([-+]? \d+(?:\.\d+)?)
    """
)
COMMA_FORMS = 3
"""Number forms with a comma before the fraction."""

MAX_DIGITS = 300
"""Longer numbers are useless, and too large for a float."""

_SYMBOLS = {
    "$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₩": "KRW", "₽": "RUB", "₺": "TRY",
    "₴": "UAH", "₪": "ILS", "₫": "VND", "฿": "THB", "zł": "PLN", "Kč": "CZK", "R$": "BRL", "A$": "AUD",
    "C$": "CAD",
}  # fmt: skip
_CODES = frozenset({
    "AED", "ARS", "BGN", "CHF", "CLP", "CNY", "COP", "DKK", "EGP", "HKD", "HUF", "IDR", "ISK", "MAD",
    "MXN", "MYR", "NGN", "NOK", "NZD", "PEN", "PHP", "PKR", "RON", "RSD", "SAR", "SEK", "SGD", "TWD",
    "ZAR", *_SYMBOLS.values(),
})  # fmt: skip
_CURRENCY = LinearPattern(
    r"\b[A-Z]{3}\b|"
    + "|".join(symbol.replace("$", r"\$") for symbol in sorted(_SYMBOLS, key=len, reverse=True))
)


def parse_number(text: str, *, whole: bool) -> int | float | None:
    """Return the first number in ``text``; ``"1,234.50 EUR"`` is 1234.5. None if there is none.

    A comma stands before a fraction if one or two digits follow it and no more: ``"1.234,5"`` is 1234.5,
    ``"1,234"`` is 1234.

    Args:
        text: Its digits may be grouped.
        whole: Refuse a number with a fraction.
    """
    if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS:  # as most are
        return int(text) if whole else float(text)
    found = _NUMBER.search(text)
    if found is None:
        return None
    digits = _plain(found.groups)
    if len(digits) > MAX_DIGITS:
        return None
    if "." not in digits:
        return int(digits) if whole else float(digits)
    return None if whole else float(digits)


def parse_price(text: str) -> dict[str, JSONValue] | None:
    """Return ``{"amount", "currency"}`` of a price, None if there is no number in ``text``.

    The currency is an ISO 4217 code, None where the text names none that is known.
    """
    amount = parse_number(text, whole=False)
    if amount is None:
        return None
    words = (_SYMBOLS.get(found.whole, found.whole) for found in _CURRENCY.finditer(text))
    return {"amount": amount, "currency": next((word for word in words if word in _CODES), None)}


def _plain(forms: Sequence[str | None]) -> str:
    """Return a number without what groups its digits, a point before its fraction."""
    form, text = next((form, text) for form, text in enumerate(forms) if text is not None)
    grouping = "." if form < COMMA_FORMS else ","
    return "".join(text.replace(grouping, "").split()).replace(",", ".")
