"""JSON that any reader accepts: in ASCII, which keeps text with invalid Unicode, and without NaN."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response


class JsonAnswer(Response):
    """An answer in JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:  # noqa: ANN401  # as Starlette has it
        """Return the body."""
        return json_text(content).encode("ascii")


def json_text(content: object) -> str:
    """Return a value as JSON in ASCII, on one line; a number that JSON does not have becomes null."""
    try:
        return json.dumps(content, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(_finite(content), allow_nan=False, separators=(",", ":"))


def _finite(value: object) -> object:
    match value:
        case float() if not math.isfinite(value):
            return None
        case Mapping():
            return {key: _finite(one) for key, one in value.items()}
        case list() | tuple():
            return [_finite(one) for one in value]
        case _:
            return value
