"""JSON as APIs send it: in guards, as JSONP, as JSON lines."""

from __future__ import annotations

import json
from typing import cast

from agentic.core.linear import LinearPattern
from agentic.core.types import JSONValue

GUARD_CHARACTERS = 100
"""Characters that may be a guard."""

# It keeps other sites from running the answer as a script: )]}' and while(1); and for(;;);
_GUARD = LinearPattern(r"\A\s*(?:\)\]\}'?,?|(?:while|for)\s*\([1;]*\)\s*;)")
_CALLBACK = LinearPattern(r"\s*(?:/\*[^*/]*\*/\s*)?[\w$.]+\s*\(((?:.|\n)*)\)\s*;?\s*")


def parse_json(text: str) -> JSONValue:
    """Return the data of a text: JSON, without the guard before it; JSONP; or JSON lines, as a list.

    ``NaN`` and ``Infinity`` become None: they are not JSON, and databases refuse them.

    Raises:
        ValueError: It is not one of these, or nested too deep.
    """
    text = text.removeprefix("\ufeff")
    if guard := _GUARD.search(text[:GUARD_CHARACTERS]):
        text = text[len(guard.whole) :]
    try:
        return _parsed(text)
    except ValueError as exc:
        fault = exc
    called = _CALLBACK.fullmatch(text)
    lines = [line.removeprefix("\x1e") for line in text.splitlines() if line.strip()]
    try:
        if called is not None:
            return _parsed(called.groups[0] or "")
        if len(lines) > 1:
            return [_parsed(line) for line in lines]
    except ValueError:
        pass
    raise fault


def _parsed(text: str) -> JSONValue:
    try:
        return cast(JSONValue, json.loads(text, strict=False, parse_constant=lambda _: None))
    except RecursionError:
        raise ValueError("it is nested too deep") from None
