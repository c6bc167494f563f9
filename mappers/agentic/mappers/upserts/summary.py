"""The summary of a result, for the one row of an execution."""

from __future__ import annotations

from collections.abc import Mapping

from agentic.core.types import JSONValue
from agentic.mappers.content import clean

MAX_LISTED = 20
MAX_TEXT = 2_000


def summarise(results: Mapping[str, object]) -> tuple[dict[str, JSONValue], list[str]]:
    """Return a summary of ``results``, and a sentence for each part that is not JSON.

    A list of up to 20 plain values stays; any other list becomes its length, under its name plus
    ``_count``, because its items are rows of the platform's tables. Text is cut after 2,000 characters.
    """
    plain, removed = clean(dict(results))
    return (_short_mapping(plain) if isinstance(plain, dict) else {}), removed


def _short_mapping(mapping: Mapping[str, JSONValue]) -> dict[str, JSONValue]:
    short: dict[str, JSONValue] = {}
    for name, value in mapping.items():
        if isinstance(value, list) and not _is_listable(value):
            short[f"{name}_count"] = len(value)
        else:
            short[name] = _short(value)
    return short


def _is_listable(values: list[JSONValue]) -> bool:
    return len(values) <= MAX_LISTED and not any(isinstance(value, dict | list) for value in values)


def _short(value: JSONValue) -> JSONValue:
    if isinstance(value, dict):
        return _short_mapping(value)
    if isinstance(value, list):
        return [_short(item) for item in value]
    if isinstance(value, str) and len(value) > MAX_TEXT:
        return f"{value[:MAX_TEXT]}…"
    return value
