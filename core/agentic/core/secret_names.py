"""Names of secrets: one pattern, and one way to compare them.

A name is checked and looked up in the same form. Every character is ASCII, because letters of other alphabets
change with the way they are compared: U+017F stays itself in lower case and becomes ``S`` in upper case.
"""

from __future__ import annotations

import re

SECRET_NAME = r"[A-Za-z_][A-Za-z0-9_-]{0,99}"  # noqa: S105 - a pattern
"""Regular expression of a name, to be built into others."""

VARIABLE = "AGENTIC_SECRET_"
"""What the names of environment variables with secrets begin with."""

KEYS_VARIABLE = "AGENTIC_SECRET_KEYS"
"""Holds the keys that all secrets are encrypted with; no reference may read it."""

_NAME = re.compile(SECRET_NAME)


def secret_name_fault(name: str) -> str:
    """Return why no secret can have that name, "" if one can."""
    if _NAME.fullmatch(name) is None:
        return "it takes up to 100 letters from a to z, digits, - and _, and begins with no digit"
    if variable_of(name) == KEYS_VARIABLE:
        return f"{KEYS_VARIABLE} holds the keys themselves"
    return ""


def folded_name(name: str) -> str:
    """Return the form in which names are compared: names that differ in case only are one."""
    return name.lower()


def variable_of(name: str) -> str:
    """Return the environment variable that comes before a stored secret of that name."""
    return f"{VARIABLE}{name.upper().replace('-', '_')}"
