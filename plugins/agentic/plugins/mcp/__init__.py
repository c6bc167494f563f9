"""The Model Context Protocol: servers' tools for agents, programs over tools, and a server of a project.

from agentic.core.agents import ChatAgent
from agentic.plugins.mcp import McpToolset

shop = McpToolset(["python", "shop_server.py"], name="shop")
agent = ChatAgent("openai:NAME", tools=[shop])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from agentic.core.hooks import hookimpl
from agentic.core.lazily import loaded

if TYPE_CHECKING:
    import typer

    from agentic.core.agents import Tool, Toolset
    from agentic.core.agents.specs.toolsets import McpToolSpec
    from agentic.core.hooks.asgi import AsgiApp
    from agentic.executors.serving import ServedProject
    from agentic.plugins.mcp.client.errors import McpConnectionError, McpError
    from agentic.plugins.mcp.client.specs import CodeModeWhen
    from agentic.plugins.mcp.client.toolset import McpToolset
    from agentic.plugins.mcp.code.toolset import CodeMode

_HERE = "agentic.plugins.mcp"
_HOMES = {
    "CodeMode": "code.toolset",
    "McpConnectionError": "client.errors",
    "McpError": "client.errors",
    "McpToolset": "client.toolset",
}

__all__ = ["CodeMode", "McpConnectionError", "McpError", "McpToolset"]


@hookimpl
def agentic_toolsets() -> Mapping[str, Callable[..., Toolset]]:
    """Provide the tools of MCP servers, and code mode."""
    return {"mcp": _of_spec, "code_mode": _code_mode}


@hookimpl
def agentic_http() -> Mapping[str, Callable[[ServedProject], AsgiApp]]:
    """Provide ``/mcp`` of ``agentic serve``."""
    return {"mcp": _app}


@hookimpl
def agentic_commands(app: typer.Typer) -> None:
    """Add ``mcp``."""
    from agentic.core.cli.later import add_group_at

    summary = "Serve a project to MCP clients, and show the tools of MCP servers."
    add_group_at(app, f"{_HERE}.commands:mcp", name="mcp", help=summary)


def _of_spec(spec: McpToolSpec, secrets: Iterable[str] = ()) -> Toolset:
    from agentic.plugins.mcp.client.specs import toolset_of

    return toolset_of(spec, secrets)


def _code_mode(tools: Iterable[Tool | Toolset], mode: CodeModeWhen) -> Toolset:
    from agentic.plugins.mcp.client.specs import code_mode_of

    return code_mode_of(tools, mode)


def _app(project: ServedProject) -> AsgiApp:
    from agentic.plugins.mcp.client.errors import McpMissingError

    try:
        from agentic.plugins.mcp.serving.http import make_app
    except ModuleNotFoundError as exc:
        raise McpMissingError("/mcp") from exc
    return make_app(project)


def __getattr__(name: str) -> object:
    try:
        return loaded(__name__, _HOMES, name)
    except ModuleNotFoundError as exc:
        from agentic.plugins.mcp.client.errors import McpMissingError

        raise McpMissingError(f"{_HERE}.{name}") from exc
