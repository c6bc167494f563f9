"""``agentic mcp``: the tools of MCP servers, and a server of a project."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import console, print_rows
from agentic.core.settings import Settings, load_settings
from agentic.core.types import JSONValue
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
        bool, typer.Option("--http", help="Listen for HTTP, instead of standard streams.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port for --http; 0 for a free one.")] = PORT,
    host: Annotated[
        str,
        typer.Option(help="Address for --http; others than loopback need --tls-cert or --behind-proxy."),
    ] = "127.0.0.1",
    host_name: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A name that requests may use for this server. Repeatable."),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="An origin whose pages may call this server. Repeatable."),
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(metavar="FILE", help="Certificate, for https.")] = None,
    tls_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Its key, if it is in another file.")
    ] = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy in front of this server has TLS.")
    ] = False,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Offer no tool that starts, answers or cancels anything.")
    ] = False,
    project: InProject = None,
) -> None:
    """Serve a project to an MCP client, until it ends: on standard streams, or over HTTP with a token."""
    from agentic.executors.serving import Listening, load_token
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
    rules = _rules(load_token(settings), (host, *(host_name or ())), allow_origin or ())
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
    from agentic.executors.serving.tokens import TOKEN_FILE
    from agentic.plugins.mcp.serving.http import make_app

    url = listening.url(bound)
    async with opened_project(settings, project, url=url) as served:
        app = make_app(served, path="/mcp", is_read_only=is_read_only)
        is_given = bool(settings.serve_token.get_secret_value())
        where = "AGENTIC_SERVE_TOKEN" if is_given else settings.home / TOKEN_FILE
        line = f"{url}/mcp; project {served.name}; token in {where}; Ctrl-C stops"
        console.print(line, markup=False, highlight=False, soft_wrap=True)
        async with lifespan(app, "mcp"):
            await serve_until_signal(Guarded(app, rules), bound, listening)


def _rules(token: str, hosts: Sequence[str], origins: Sequence[str]) -> GuardRules:
    from agentic.executors.serving import GuardRules

    for origin in origins:
        scheme, _, name = origin.partition("://")
        if scheme not in ("http", "https") or not name or "/" in name:
            raise OptionError(
                f"--allow-origin {origin!r} is not an origin; write scheme and host, as https://chat.example.com"
            )
    return GuardRules(token=token, hosts=tuple(hosts), origins=tuple(origins))


async def _listed(toolset: McpToolset) -> Sequence[Tool]:
    async with toolset:
        return await toolset.tools()


def _arguments(parameters: Mapping[str, JSONValue]) -> str:
    properties, required = parameters.get("properties"), parameters.get("required")
    wanted = required if isinstance(required, list) else []
    names = properties if isinstance(properties, dict) else {}
    return ", ".join(name if name in wanted else f"[{name}]" for name in names)
