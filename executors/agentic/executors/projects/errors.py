"""Errors of project files."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.errors import AgenticError
from agentic.core.pipeline import Fault


class ProjectFileError(AgenticError, ValueError):
    """The file of a project cannot be used; none of it was applied.

    Args:
        source: The file.
        faults: At least one, with line and column; none shows a value.
    """

    def __init__(self, source: str, faults: Sequence[Fault]) -> None:
        many = f" {len(faults)} faults:" + "".join(f"\n  - {fault}" for fault in faults)
        super().__init__(f"{source} cannot be imported:{many if len(faults) > 1 else f' {faults[0]}'}")
        self.source = source
        self.faults = tuple(faults)
