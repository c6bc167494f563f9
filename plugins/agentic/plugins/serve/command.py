"""``agentic serve``: an HTTP server of one project."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import console
from agentic.core.hooks import get_registry
from agentic.core.settings import Settings, load_settings
from agentic.executors.commands.shared.options import InProject, OptionError

if TYPE_CHECKING:
    from agentic.executors.serving import GuardRules, Listening

PORT = 8720


def serve(  # noqa: PLR0913  # one parameter for each option
    *,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 for a free one.")] = PORT,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on; others than loopback need --tls-cert or --behind-proxy."),
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
    project: InProject = None,
) -> None:
    """Serve agents, workflows and pipelines of a project over HTTP, until Ctrl-C."""
    from agentic.executors.serving.errors import missing_library

    try:
        import starlette  # noqa: F401  # or the first import of a part would fail without advice
        import uvicorn  # noqa: F401
    except ModuleNotFoundError as exc:
        raise missing_library(exc) from None
    from agentic.executors.serving.server import Listening
    from agentic.executors.serving.tokens import load_token

    settings = load_settings()
    listening = Listening(
        host=host, port=port, certificate=tls_cert, key=tls_key, is_behind_proxy=behind_proxy
    )
    token = load_token(settings)
    with listening.bind() as bound:
        rules = _rules(token, (host, *(host_name or ())), allow_origin or ())
        asyncio.run(_serve(settings, project, rules, bound, listening))


def _rules(token: str, hosts: tuple[str, ...], origins: tuple[str, ...] | list[str]) -> GuardRules:
    from agentic.executors.serving.guarding import GuardRules

    for origin in origins:
        scheme, _, name = origin.partition("://")
        if scheme not in ("http", "https") or not name or "/" in name:
            raise OptionError(
                f"--allow-origin {origin!r} is not an origin; write scheme and host, as https://chat.example.com"
            )
    return GuardRules(token=token, hosts=hosts, origins=tuple(origins))


async def _serve(
    settings: Settings, project: str | None, rules: GuardRules, bound: socket.socket, listening: Listening
) -> None:
    from agentic.executors.serving.guarding import Guarded
    from agentic.executors.serving.mounts import mounted
    from agentic.executors.serving.opening import opened_project
    from agentic.executors.serving.server import serve_until_signal
    from agentic.executors.serving.tokens import TOKEN_FILE
    from agentic.plugins.serve.app import make_app

    url = listening.url(bound)
    async with (
        opened_project(settings, project, url=url) as served,
        mounted(served, get_registry()) as mounts,
    ):
        app = Guarded(make_app(served, mounts), rules)
        is_given = bool(settings.serve_token.get_secret_value())
        where = "AGENTIC_SERVE_TOKEN" if is_given else settings.home / TOKEN_FILE
        lines = [f"{url}; project {served.name}; token in {where}; Ctrl-C stops"]
        lines += [f"not served: /{mount.name}: {mount.error}" for mount in mounts if mount.error]
        console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
        await serve_until_signal(app, bound, listening)
