"""Errors of writing rows to a file."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from agentic.executors.errors import ExecutionError


class ExportError(ExecutionError):
    """Rows cannot be written to their target."""


class UnknownTableError(ExportError, LookupError):
    """The platform has no such table, or none at all."""

    def __init__(self, table: str | None, platform: str, known: Sequence[str]) -> None:
        has = f"it has {', '.join(known)}" if known else "it stores no rows"
        wanted = "" if table is None else f" {table!r}"
        super().__init__(f"the platform {platform!r} has no table{wanted} to export; {has}")
        self.table = table
        self.platform = platform
        self.known = tuple(known)


def load_for_export(library: str, extra: str) -> Any:  # noqa: ANN401 - a module, of whatever shape
    """Return a library that only some targets need.

    Raises:
        ExportError: It is not installed; the message names the extra that brings it.
    """
    try:
        return import_module(library)
    except ImportError:
        message = f"{library} is not installed; run `pip install 'agentic-pipelines[{extra}]'`"
        raise ExportError(message) from None
