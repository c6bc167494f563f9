"""The value of a key of the shared state after a write to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentic.core.graph.codec.payload import Payload, pack

Reducer = Callable[[Any, Any], object]
"""Joins the value of a key with the value that is written."""


def reduced(reducers: Mapping[str, Reducer], current: Payload | None, key: str, written: Payload) -> Payload:
    """Return a key's new value: the written one, or its reducer's result for both."""
    reducer = reducers.get(key)
    if reducer is None or current is None:
        return written
    return pack(reducer(current.copy_value(), written.copy_value()))
