"""What the text of a field means."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Literal

from agentic.core.reading.addresses import absolute
from agentic.core.reading.dates import DateOrder, read_moment
from agentic.core.types import JSONValue
from agentic.plugins.web.reading.digits import Decimal
from agentic.plugins.web.reading.numbers import parse_number, parse_price

FieldType = Literal[
    "string", "integer", "number", "boolean", "url", "date", "datetime", "price", "html", "json"
]


AMOUNTS = frozenset({"integer", "number", "price"})
"""Types that are read from the number in a text."""


def convert(
    value: JSONValue,
    kind: FieldType,
    base: str,
    date_format: str | None = None,
    *,
    decimal: Decimal | None = None,
    date_order: DateOrder | None = None,
    encoding: str = "utf-8",
) -> JSONValue:
    """Return what a value found on a page is as a value of a type, None if it is none.

    Args:
        value: A text, or what JSON-LD had there.
        kind: What it is to be.
        base: What an address is relative to.
        date_format: How a date is written, as for ``strptime``; the usual ways when None.
        decimal: The character before the fraction of a number; None: as the number shows.
        date_order: Whether dates of digits begin with the day or with the month; None: as each date shows.
        encoding: Of the page, for the query of an address.

    Raises:
        AmbiguousError: A text may mean several values; it says which ones.
    """
    if kind in ("string", "html"):
        return _text(value)
    if kind == "json":
        return value
    if kind == "boolean":
        return value if isinstance(value, bool) else True
    if kind in ("date", "datetime"):
        text = _text(value)
        return None if text is None else _moment(text, kind, date_format, date_order)
    if kind in AMOUNTS and isinstance(value, int | float):
        return None if isinstance(value, bool) else _amount(value, kind)
    text = _text(value)
    if text is None:
        return None
    return absolute(base, text, encoding) if kind == "url" else _read(text, kind, decimal)


def _amount(value: float, kind: FieldType) -> JSONValue:
    """Return a number of a program, which needs no reading."""
    if kind == "price":
        return {"amount": float(value), "currency": None} if math.isfinite(value) else None
    return _whole(value) if kind == "integer" else value


def _read(text: str, kind: FieldType, decimal: Decimal | None) -> JSONValue:
    match kind:
        case "price":
            return parse_price(text, decimal=decimal)
        case _:
            return parse_number(text, whole=kind == "integer", decimal=decimal)


def _text(value: JSONValue) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else None


def _whole(value: float) -> int | None:
    return int(value) if math.isfinite(value) and value == int(value) else None


def _moment(text: str, kind: FieldType, date_format: str | None, date_order: DateOrder | None) -> str | None:
    found = read_moment(text, date_format, order=date_order, is_day=kind == "date")
    if found is None:
        return None
    if kind == "date":
        return (found.date() if isinstance(found, datetime) else found).isoformat()
    moment = found if isinstance(found, datetime) else datetime(found.year, found.month, found.day)  # noqa: DTZ001 - the page names no zone
    return moment.isoformat()
