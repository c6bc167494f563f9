"""Makes text from outside safe for a terminal.

A page, a message or the name of a task may contain escape sequences, which change titles, colours, or
existing text on the screen.
"""

from __future__ import annotations

import re

# C0 except tab and line feed; DEL; C1, where U+009B starts a sequence by itself; text direction marks;
# and halves of surrogate pairs, which no terminal and no file takes.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def harmless(text: str) -> str:
    """Return ``text`` with escaped control characters, such as ``\\x1b``; tabs and line feeds stay."""
    return _OBEYED.sub(_written_out, text)


def harmless_json(text: str) -> str:
    """Return JSON and escape the control characters that JSON itself allows in strings."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def _written_out(found: re.Match[str]) -> str:
    return repr(found.group())[1:-1]
