"""JSON as APIs send it: in guards, as JSONP, as JSON lines."""

from __future__ import annotations

import json
import re
from typing import cast

from agentic.core.types import JSONValue

# Keeps other sites from running the answer as a script: )]}' and while(1); and for(;;);
_GUARD = re.compile(r"\s*(?:\)\]\}'?,?|(?:while|for)\s*\([1;]*\)\s*;)")
_CALLBACK = re.compile(r"\s*(?:/\*.*?\*/\s*)?[\w$.]+\s*\((.*)\)\s*;?\s*", re.DOTALL)


def parse_json(text: str) -> JSONValue:
    """Return the data of a text: JSON, without the guard before it; JSONP; or JSON lines, as a list.

    ``NaN`` and ``Infinity`` become None: they are not JSON, and databases refuse them.

    Raises:
        ValueError: It is not one of these, or nested too deep.
    """
    text = text.removeprefix("\ufeff")
    if guard := _GUARD.match(text):
        text = text[guard.end() :]
    try:
        return _parsed(text)
    except ValueError as exc:
        fault = exc
    called = _CALLBACK.fullmatch(text)
    lines = [line.removeprefix("\x1e") for line in text.splitlines() if line.strip()]
    try:
        if called is not None:
            return _parsed(called[1])
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
