"""Failures of wrappers."""

from __future__ import annotations

from agentic.core.errors import AgenticError


class WrapperError(AgenticError):
    """A wrapper cannot be used."""


class WrapperVersionError(WrapperError, ValueError):
    """A newer version wrote a wrapper."""

    def __init__(self, found: object, known: int) -> None:
        super().__init__(
            f"a wrapper has version {found!r}, and this installation reads {known}; upgrade agentic-pipelines"
        )
        self.found = found
        self.known = known
