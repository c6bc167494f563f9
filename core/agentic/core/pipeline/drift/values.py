"""The values of a page's fields, as drift tests see them: shape, size and a mark for equality."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from zlib import crc32

from agentic.core.types import JSONValue

MISSING = ""
"""The shape of a field without a value."""

ITEM_COUNT = "(items)"
"""Stands among the fields for the number of items on a page with several; no field can have this name."""

LONG_TEXT = 300
"""Longer texts have another shape: a selector that finds a whole block gives one."""

COMPARED = 50
"""Items of a page that are looked at."""

NUMBER_START = frozenset("0123456789+-.,$€£¥₹ ")
"""Begins texts that are amounts: ``$12``, ``-3``."""


class SeenValue(NamedTuple):
    """A field on a page.

    Attributes:
        shape: A letter for its kind; "" if it has no value.
        size: The number itself, the length of a text, the number of entries; None for others.
        mark: Equal for equal values, and for hardly any others.
    """

    shape: str
    size: float | None = None
    mark: int = 0


NO_VALUE = SeenValue(MISSING)

BOUNDLESS = SeenValue("N", None, 1)
"""NaN, infinity, or more digits than a float has room for: they would widen a range for good."""

LARGEST = sys.float_info.max


def seen(value: JSONValue) -> SeenValue:
    """Return a value as the tests see it."""
    if isinstance(value, str):
        return _seen_text(value) if value else NO_VALUE
    if value is None:
        return NO_VALUE
    if isinstance(value, _NUMBER):
        if isinstance(value, bool):
            return SeenValue("b", None, int(value))
        is_plain = -LARGEST <= value <= LARGEST  # False for NaN
        return _new(SeenValue, ("n", float(value), hash(value) & 0xFFFFFFFF)) if is_plain else BOUNDLESS
    if not value:
        return NO_VALUE
    shape = "l" if isinstance(value, list) else "o"
    return _new(SeenValue, (shape, float(len(value)), crc32(repr(value).encode())))


def seen_items(items: Sequence[Mapping[str, JSONValue]]) -> Mapping[str, SeenValue]:
    """Return the fields of a page by name, without ``url``, which every item has.

    Of several items, a field has the first value that any of them has: it is missing where all lack it.
    """
    if len(items) == 1:
        return {name: seen(value) for name, value in items[0].items() if name != "url"}
    found: dict[str, SeenValue] = {}
    for item in items[:COMPARED]:
        for name, value in item.items():
            if name != "url" and not found.get(name, NO_VALUE).shape:
                found[name] = seen(value)
    found[ITEM_COUNT] = SeenValue("n", float(len(items)), 0) if items else NO_VALUE
    return found


def _seen_text(text: str) -> SeenValue:
    size = len(text)
    mark = crc32(text.encode("utf-8", "surrogatepass"))
    if size > LONG_TEXT:
        return _new(SeenValue, ("T", size, mark))
    first = text[0]
    if first in NUMBER_START and any(map(str.isdigit, text[:4])):
        return _new(SeenValue, ("d", size, mark))
    if first == "h" and text.startswith(("http://", "https://")):
        return _new(SeenValue, ("u", size, mark))
    # A label beside the value makes several words of one: "SKU: A-1".
    return _new(SeenValue, ("w" if " " in text else "t", size, mark))


_new = tuple.__new__  # in half of the time
_NUMBER = (int, float)  # ``int | float`` would make a new object at each call
