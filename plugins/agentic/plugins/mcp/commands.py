"""``agentic mcp``: the tools of MCP servers, and a server of a project."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import print_rows
from agentic.core.settings import Settings, load_settings
from agentic.core.types import JSONValue
from agentic.executors.commands.shared.listening import (
    LOOPBACK,
    BehindProxy,
    HostNames,
    OnHost,
    OnPort,
    Origins,
    TlsCertificate,
    TlsKey,
    guard_rules,
    print_address,
)
from agentic.executors.commands.shared.options import AsJson, InProject, OptionError

if TYPE_CHECKING:
    from agentic.core.agents import Tool
    from agentic.executors.serving import GuardRules, Listening
    from agentic.plugins.mcp.client.toolset import McpToolset

PORT = 8721

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


@mcp.command("serve")
def serve(  # noqa: PLR0913  # one parameter for each option
    *,
    http: Annotated[
        bool,
        typer.Option(
            "--http",
            help="Use HTTP instead of standard streams; --port to --behind-proxy need it.",
        ),
    ] = False,
    port: OnPort = PORT,
    host: OnHost = LOOPBACK,
    host_name: HostNames = None,
    allow_origin: Origins = None,
    tls_cert: TlsCertificate = None,
    tls_key: TlsKey = None,
    behind_proxy: BehindProxy = False,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Offer no tool that starts, answers or cancels anything.")
    ] = False,
    project: InProject = None,
) -> None:
    """Serve a project to MCP clients, on standard streams or with --http, until they or Ctrl-C end it."""
    from agentic.executors.serving import Listening
    from agentic.plugins.mcp.client.errors import McpMissingError

    if find_spec("mcp") is None:
        raise McpMissingError("an MCP server")
    settings = load_settings()
    if not http:
        asyncio.run(_serve_streams(settings, project, is_read_only=read_only))
        return
    listening = Listening(
        host=host, port=port, certificate=tls_cert, key=tls_key, is_behind_proxy=behind_proxy
    )
    rules = guard_rules(settings, host, host_name, allow_origin)
    with listening.bind() as bound:
        asyncio.run(_serve_http(settings, project, rules, bound, listening, is_read_only=read_only))


async def _serve_streams(settings: Settings, project: str | None, *, is_read_only: bool) -> None:
    from mcp.server.stdio import stdio_server

    from agentic.executors.serving import opened_project
    from agentic.plugins.mcp.serving.server import make_server

    async with opened_project(settings, project, url="stdio:") as served:
        server = make_server(served, is_read_only=is_read_only)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())


async def _serve_http(  # the parts of one server
    settings: Settings,
    project: str | None,
    rules: GuardRules,
    bound: socket.socket,
    listening: Listening,
    *,
    is_read_only: bool,
) -> None:
    from agentic.executors.serving import Guarded, opened_project, serve_until_signal
    from agentic.executors.serving.mounts import lifespan
    from agentic.plugins.mcp.serving.http import make_app

    url = listening.url(bound)
    async with opened_project(settings, project, url=url) as served:
        app = make_app(served, path="/mcp", is_read_only=is_read_only)
        print_address(settings, f"{url}/mcp", served.name)
        async with lifespan(app, "mcp"):
            await serve_until_signal(Guarded(app, rules), bound, listening)


async def _listed(toolset: McpToolset) -> Sequence[Tool]:
    async with toolset:
        return await toolset.tools()


def _arguments(parameters: Mapping[str, JSONValue]) -> str:
    properties, required = parameters.get("properties"), parameters.get("required")
    wanted = required if isinstance(required, list) else []
    names = properties if isinstance(properties, dict) else {}
    return ", ".join(name if name in wanted else f"[{name}]" for name in names)
