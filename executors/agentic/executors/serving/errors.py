"""Errors of HTTP servers."""

from __future__ import annotations

from agentic.core.errors import AgenticError


class ServeError(AgenticError):
    """A server cannot start, or was refused its address."""


class ServeTokenError(ServeError, ValueError):
    """The token of a server cannot be used. Its value is never shown."""


def missing_library(error: ModuleNotFoundError) -> ServeError:
    """Return the error of a missing extra."""
    return ServeError(f"{error.name} is not installed; run `pip install 'agentic-pipelines[serve]'`")
