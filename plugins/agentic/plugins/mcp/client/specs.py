"""Toolsets of agents that are data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from agentic.core.agents import Tool, Toolset
from agentic.core.agents.specs.toolsets import McpToolSpec
from agentic.plugins.mcp.client.errors import McpMissingError

CodeModeWhen = Literal["auto", "always"]


def toolset_of(spec: McpToolSpec, secrets: Iterable[str]) -> Toolset:
    """Return the tools of a server.

    Args:
        spec: The server, with the values of its secrets.
        secrets: These values.

    Raises:
        McpMissingError: The SDK is not installed.
    """
    try:
        from agentic.plugins.mcp.client.toolset import McpToolset
    except ModuleNotFoundError as exc:
        raise McpMissingError("an MCP server") from exc
    return McpToolset(
        spec.mcp,
        name=spec.name,
        token=spec.token,
        headers=spec.headers,
        env=spec.env,
        only=spec.only,
        without=spec.without,
        rename=spec.rename,
        approval=spec.approval,
        timeout_s=spec.timeout_s,
        optional=spec.optional,
        secrets=secrets,
    )


def code_mode_of(tools: Iterable[Tool | Toolset], mode: CodeModeWhen) -> Toolset:
    """Return code mode over tools.

    Raises:
        McpMissingError: Its interpreter is not installed.
    """
    from agentic.plugins.mcp.code.toolset import CodeMode

    return CodeMode(*tools, mode=mode)
