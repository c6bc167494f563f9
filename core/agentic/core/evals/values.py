"""Values of answers: parts by their path, comparison, numbers, texts."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from agentic.core.types import JSONValue


class MissingPartError(LookupError):
    """A value has no such part."""


def part_of(value: JSONValue, path: str) -> JSONValue:
    """Return a part of a value: ``items.0.price``; all of it for an empty path.

    Raises:
        MissingPartError: It has no part of that name.
    """
    found = value
    for key in path.split(".") if path else ():
        if isinstance(found, Mapping) and key in found:
            found = found[key]
        elif isinstance(found, list) and key.isascii() and key.isdigit() and int(key) < len(found):
            found = found[int(key)]
        else:
            raise MissingPartError(f"the answer has no {path!r}")
    return found


def text_of_value(value: JSONValue) -> str:
    """Return a text as it is, and other data as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def is_same(one: JSONValue, other: JSONValue, *, ignore_case: bool = False) -> bool:
    """Whether two values are equal as JSON: 1 and 1.0 are, 1 and true are not.

    White space at both ends of texts does not count.
    """
    if isinstance(one, str) and isinstance(other, str):
        return plain_text(one, ignore_case=ignore_case) == plain_text(other, ignore_case=ignore_case)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(
            is_same(value, other[key], ignore_case=ignore_case) for key, value in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(
            is_same(left, right, ignore_case=ignore_case) for left, right in zip(one, other, strict=True)
        )
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def plain_text(text: str, *, ignore_case: bool) -> str:
    """Return a text without white space at its ends, and perhaps without upper case."""
    stripped = text.strip()
    return stripped.casefold() if ignore_case else stripped


def number_in(value: JSONValue) -> float | None:
    """Return a number, or a text that is one; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
