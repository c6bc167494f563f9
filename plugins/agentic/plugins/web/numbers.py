"""Numbers and prices as people write them."""

from __future__ import annotations

import re

from agentic.core.types import JSONValue

_NUMBER = re.compile(
    r"""[-+]?(?:
        (?P<comma> \d{1,3}(?:[.\s]\d{3})+,\d{1,2}(?!\d) | \d+,\d{1,2}(?![\d,])
                 | \d{1,3}(?:\.\d{3}){2,}(?!\d) )
      | (?P<point> \d{1,3}(?:[,\s]\d{3})+(?:\.\d+)?(?!\d) | \d+(?:\.\d+)? )
    )""",
    re.VERBOSE,
)
_GROUPING = {"comma": re.compile(r"[.\s]"), "point": re.compile(r"[,\s]")}
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
_CURRENCY = re.compile("|".join([r"\b[A-Z]{3}\b", *map(re.escape, sorted(_SYMBOLS, key=len, reverse=True))]))


def parse_number(text: str, *, whole: bool) -> int | float | None:
    """Return the first number in ``text``; ``"1,234.50 EUR"`` is 1234.5. None if there is none.

    A comma stands before a fraction if one or two digits follow it and no more: ``"1.234,5"`` is 1234.5,
    ``"1,234"`` is 1234.

    Args:
        text: Its digits may be grouped.
        whole: Refuse a number with a fraction.
    """
    if text.isascii() and text.isdigit():  # as most are
        return int(text) if whole else float(text)
    found = _NUMBER.search(text)
    if found is None:
        return None
    digits = _GROUPING[found.lastgroup or "point"].sub("", found.group()).replace(",", ".")
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
    words = (_SYMBOLS.get(word, word) for word in _CURRENCY.findall(text))
    return {"amount": amount, "currency": next((word for word in words if word in _CODES), None)}
