"""Errors of MCP servers."""

from __future__ import annotations

from agentic.core.agents import AgentError
from agentic.core.errors import line_of


class McpError(AgentError):
    """Base class of the errors of MCP servers."""


class McpConnectionError(McpError, ConnectionError):
    """An MCP server cannot be reached, or the connection to it was lost.

    Attributes:
        server: Its name.
        reason: Why.
    """

    def __init__(self, server: str, reason: str) -> None:
        super().__init__(f"the MCP server {server} cannot be used: {reason}")
        self.server = server
        self.reason = reason


class McpMissingError(McpError, ImportError):
    """The library for MCP, or for code mode, is not installed."""

    def __init__(self, subject: str) -> None:
        super().__init__(f"{subject} needs another library: pip install 'agentic-pipelines[mcp]'")
        self.subject = subject


class McpProtocolError(McpError, ValueError):
    """An MCP server sent something that is not allowed."""

    is_retriable = False


def reason_of(error: BaseException) -> str:
    """Return why a connection failed: the first cause in the groups of a task group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return "it did not reply in time"
    if isinstance(error, FileNotFoundError):
        return f"the program {error.filename or ''} does not exist; install it, or give its path"
    return line_of(error)
