"""What the text of a field means."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Literal

from agentic.core.reading.addresses import absolute
from agentic.core.reading.dates import DateOrder, read_moment
from agentic.core.records import record
from agentic.core.types import JSONValue
from agentic.plugins.web.reading.digits import Decimal
from agentic.plugins.web.reading.numbers import parse_number, parse_price

FieldType = Literal[
    "string", "integer", "number", "boolean", "url", "date", "datetime", "price", "html", "json"
]


AMOUNTS = frozenset({"integer", "number", "price"})
"""Types that are read from the number in a text."""


UNTRUE = frozenset({"", "0", "false", "no", "off"})


@record(kw_only=True)
class Spelling:
    """How a site writes values.

    Attributes:
        date_format: Of dates, as for ``strptime``; None: the usual ways.
        date_order: Whether dates of digits begin with the day or with the month; None: as each date shows.
        decimal: The character before the fraction of a number; None: as the number shows.
        encoding: Of the page, for the query of an address.
    """

    date_format: str | None = None
    date_order: DateOrder | None = None
    decimal: Decimal | None = None
    encoding: str = "utf-8"


USUAL = Spelling()


def convert(value: JSONValue, kind: FieldType, base: str, spelling: Spelling = USUAL) -> JSONValue:
    """Return a value found on a page as a value of a type, or None.

    Args:
        value: A text, or the value in JSON-LD.
        kind: The type.
        base: Address of the page, for relative ones.
        spelling: How the site writes values.

    Raises:
        AmbiguousError: A text may mean several values; it says which ones.
    """
    if kind == "json":
        return value
    if kind == "boolean":
        return truth_of(value)
    if kind in AMOUNTS and isinstance(value, int | float):
        return None if isinstance(value, bool) else _amount(value, kind)
    text = _text(value)
    return None if text is None else _read(text, kind, base, spelling)


def truth_of(value: JSONValue) -> bool:
    """Return whether data say yes: ``"false"``, ``"no"``, 0 and the False of schema.org do not."""
    if isinstance(value, str):
        return value.strip().lower().rpartition("/")[2] not in UNTRUE
    return value is not None and value != 0


def _amount(value: float, kind: FieldType) -> JSONValue:
    """Return a number of a program, which needs no reading."""
    if not math.isfinite(value):
        return None
    if kind == "price":
        return {"amount": float(value), "currency": None}
    return _whole(value) if kind == "integer" else value


def _read(text: str, kind: FieldType, base: str, spelling: Spelling) -> JSONValue:
    match kind:
        case "url":
            return absolute(base, text, spelling.encoding)
        case "date" | "datetime":
            return _moment(text, kind, spelling)
        case "price":
            return parse_price(text, decimal=spelling.decimal)
        case "integer" | "number":
            return parse_number(text, whole=kind == "integer", decimal=spelling.decimal)
        case _:
            return text


def _text(value: JSONValue) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else None


def _whole(value: float) -> int | None:
    return int(value) if value == int(value) else None


def _moment(text: str, kind: FieldType, spelling: Spelling) -> str | None:
    found = read_moment(text, spelling.date_format, order=spelling.date_order, is_day=kind == "date")
    if found is None:
        return None
    if kind == "date":
        return (found.date() if isinstance(found, datetime) else found).isoformat()
    moment = found if isinstance(found, datetime) else datetime(found.year, found.month, found.day)  # noqa: DTZ001 - the page names no zone
    return moment.isoformat()
