"""How commands print JSON and plain lines, without loading Rich."""

from __future__ import annotations

import json
import sys

from agentic.core.terminal import harmless, harmless_json


def print_line(text: str) -> None:
    """Print a line on standard output, whole, with control characters written out."""
    sys.stdout.write(f"{harmless(text)}\n")


def print_json(value: object) -> None:
    """Print ``value`` as JSON on standard output; dates and the like become text."""
    write_json(value, indent=2)


def write_json(value: object, *, indent: int | None = None) -> None:
    """Write ``value`` as JSON on standard output, on one line unless ``indent`` is given."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, default=str)
    sys.stdout.write(harmless_json(text) + "\n")
