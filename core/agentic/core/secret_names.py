"""Names of secrets: one pattern, and one way to compare them.

A name is checked and looked up in the same form. Every character is ASCII, because other letters depend on
the way they are compared: U+017F stays itself in lower case and becomes ``S`` in upper case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

SECRET_NAME = r"[A-Za-z_][A-Za-z0-9_-]{0,99}"  # noqa: S105 - a pattern
"""Regular expression of a name, for use in others."""

VARIABLE = "AGENTIC_SECRET_"
"""Prefix of environment variables with secrets."""

KEYS_VARIABLE = "AGENTIC_SECRET_KEYS"
"""Variable with the keys that encrypt all secrets; no reference may read it."""

_NAME = re.compile(SECRET_NAME)


def secret_name_fault(name: str) -> str:
    """Return why this is not a valid name of a secret; "" if it is valid."""
    if _NAME.fullmatch(name) is None:
        return "use up to 100 letters from a to z, digits, - and _, without a leading digit"
    if variable_of(name) == KEYS_VARIABLE:
        return f"{KEYS_VARIABLE} holds the keys themselves"
    return ""


def folded_name(name: str) -> str:
    """Return a name in the form for comparisons: names that differ only in case are equal."""
    return name.lower()


def variable_of(name: str) -> str:
    """Return the environment variable of a secret if there is a single project."""
    return f"{VARIABLE}{name.upper().replace('-', '_')}"


def project_variable(project: str, name: str) -> str:
    """Return the environment variable of one project's secret: ``AGENTIC_SECRET_<PROJECT>__<NAME>``.

    Names of projects are less strict than names of secrets: two of them may have the same variable, such as
    ``a-b`` and ``a.b``. See :func:`projects_of`.
    """
    return f"{_prefix_of(project)}{variable_of(name).removeprefix(VARIABLE)}"


def projects_of(variable: str, projects: Iterable[str]) -> list[str]:
    """Return the ``projects`` that a variable may be for; if there are several, none may read it."""
    return [project for project in projects if _names_secret_of(variable, project)]


def _names_secret_of(variable: str, project: str) -> bool:
    prefix = _prefix_of(project)
    return variable.startswith(prefix) and _NAME.fullmatch(variable.removeprefix(prefix)) is not None


def _prefix_of(project: str) -> str:
    # Letters of other alphabets change with their case in unexpected ways: U+017F would become S.
    folded = "".join(char.upper() if char.isascii() and char.isalnum() else "_" for char in project)
    return f"{VARIABLE}{folded}__"
