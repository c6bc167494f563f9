"""``page.json`` in expressions: the body of a fetched page as data, parsed when an expression uses it."""

from __future__ import annotations

from collections.abc import Mapping

from typing_extensions import TypeIs

from agentic.core.reading.json_text import parse_json
from agentic.core.types import JSONValue

JSON = "json"


def is_page(value: object) -> TypeIs[Mapping[str, JSONValue]]:
    """Whether a value is a page, as results hold it."""
    return isinstance(value, Mapping) and "text" in value and "content_hash" in value and JSON not in value


def json_of(page: Mapping[str, JSONValue]) -> JSONValue:
    """Return the body of a page as data.

    Raises:
        ValueError: It is not JSON; the message names the page and its type.
    """
    try:
        return parse_json(str(page["text"]))
    except ValueError as exc:
        kind = page.get("content_type") or "without a content type"
        raise ValueError(f"{page.get('final_url')} is {kind}, not JSON: {exc}") from None
