"""Text from outside on a terminal: without what a terminal would obey.

A page, a message or the name of a task may hold escape sequences, which change titles, colours, or what is on
the screen already.
"""

from __future__ import annotations

import re

# C0 but tab and line feed; DEL; C1, whose U+009B begins a sequence by itself; and what turns lines around.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    """Return ``text`` with control characters written out, as ``\\x1b``; tabs and line feeds stay."""
    return _OBEYED.sub(_written_out, text)


def harmless_json(text: str) -> str:
    """Return JSON with the control characters escaped that JSON itself allows in strings."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def _written_out(found: re.Match[str]) -> str:
    return repr(found.group())[1:-1]
