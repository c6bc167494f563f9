"""``agentic mcp``: the tools of MCP servers, and a server of a project."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import print_rows
from agentic.core.types import JSONValue
from agentic.executors.commands.shared.options import AsJson, OptionError

if TYPE_CHECKING:
    from agentic.core.agents import Tool
    from agentic.plugins.mcp.client.toolset import McpToolset

mcp = typer.Typer(
    help="Serve a project to MCP clients, and show the tools of MCP servers.", no_args_is_help=True
)


@mcp.command("tools", context_settings={"ignore_unknown_options": True})
def show_tools(
    server: Annotated[
        list[str],
        typer.Argument(metavar="SERVER...", help="The URL of a server, or a command and its arguments."),
    ],
    *,
    token_env: Annotated[
        str | None, typer.Option(metavar="NAME", help="Environment variable with the token for a URL.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the tools of an MCP server, as an agent gets them."""
    from agentic.plugins.mcp import McpToolset

    is_url = len(server) == 1 and server[0].startswith(("http://", "https://"))
    token = None
    if token_env is not None:
        token = os.environ.get(token_env)
        if not token:
            raise OptionError(f"--token-env: the environment variable {token_env} is not set")
    tools = asyncio.run(_listed(McpToolset(server[0] if is_url else server, token=token)))
    if as_json:
        rows = [
            {"name": one.name, "description": one.description, "parameters": one.parameters} for one in tools
        ]
    else:
        rows = [
            {"name": one.name, "arguments": _arguments(one.parameters), "description": one.description}
            for one in tools
        ]
    print_rows("Tools", ("name", "arguments", "description"), rows, as_json=as_json)


async def _listed(toolset: McpToolset) -> Sequence[Tool]:
    async with toolset:
        return await toolset.tools()


def _arguments(parameters: Mapping[str, JSONValue]) -> str:
    properties, required = parameters.get("properties"), parameters.get("required")
    wanted = required if isinstance(required, list) else []
    names = properties if isinstance(properties, dict) else {}
    return ", ".join(name if name in wanted else f"[{name}]" for name in names)
