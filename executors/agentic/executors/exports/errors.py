"""Errors of writing rows to a file."""

from __future__ import annotations

from collections.abc import Sequence

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
