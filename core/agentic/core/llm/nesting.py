"""The depth of JSON from models and tools: stores and runs keep no value that is nested without end."""

from __future__ import annotations

from agentic.core.types import JSONValue

MAX_NESTING = 64
"""Levels of lists and objects in the arguments or the result of a call. A run stores 100 in all."""


def is_too_deep(value: JSONValue) -> bool:
    """Whether a value has more than ``MAX_NESTING`` levels of lists and objects."""
    level = [value]
    for _ in range(MAX_NESTING + 1):
        holders = [one for one in level if isinstance(one, (list, dict))]
        if not holders:
            return False
        level = [part for one in holders for part in (one.values() if isinstance(one, dict) else one)]
    return True
