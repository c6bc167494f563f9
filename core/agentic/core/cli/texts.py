"""Values from outside as words on one line of a terminal."""

from __future__ import annotations

import json
from typing import cast

from agentic.core.graph.model.events import CONTENT_KEY
from agentic.core.types import JSONValue

MAX_CHARS = 300
"""Longer values are truncated."""

_HASH_CHARS = 12


def visible(text: str) -> str:
    """Return ``text`` with what a terminal would obey (escape sequences, line ends) written out."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def shown(value: JSONValue, max_chars: int = MAX_CHARS) -> str:
    """Return a value as JSON on one line; of a long one the beginning, and where all of it is."""
    if (beside := _kept_beside(value)) is not None:
        return beside
    return short(json.dumps(value, ensure_ascii=False), max_chars)


def short(text: str, max_chars: int = MAX_CHARS) -> str:
    """Return what is visible of a text; of a long one the beginning, and where all of it is."""
    whole = visible(text)
    if len(whole) <= max_chars:
        return whole
    return f"{whole[:max_chars]}… ({len(whole):,} characters; --json has all)"


def _kept_beside(value: JSONValue) -> str | None:
    """Return words for a value that its event names by hash only."""
    if not isinstance(value, dict) or value.keys() != {CONTENT_KEY, "bytes"}:
        return None
    name = str(value[CONTENT_KEY])[:_HASH_CHARS]
    return f"<{cast(int, value['bytes']):,} bytes, sha256 {visible(name)}…: too large for an event>"
