"""Options and rules of the commands that listen for HTTP: ``agentic serve`` and ``agentic mcp serve``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import console
from agentic.core.settings import Settings
from agentic.executors.commands.shared.options import OptionError

if TYPE_CHECKING:
    from agentic.executors.serving import GuardRules

LOOPBACK = "127.0.0.1"

OnPort = Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 for a free one.")]
OnHost = Annotated[
    str, typer.Option(help="Address to listen on; others than loopback need --tls-cert or --behind-proxy.")
]
HostNames = Annotated[
    list[str] | None,
    typer.Option(
        "--host-name", metavar="NAME", help="A name that requests may use for this server. Repeatable."
    ),
]
Origins = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-origin", metavar="URL", help="An origin whose pages may call this server. Repeatable."
    ),
]
TlsCertificate = Annotated[
    Path | None, typer.Option("--tls-cert", metavar="FILE", help="Certificate, for https.")
]
TlsKey = Annotated[
    Path | None,
    typer.Option("--tls-key", metavar="FILE", help="Key of the certificate, if it is in another file."),
]
BehindProxy = Annotated[bool, typer.Option("--behind-proxy", help="A proxy in front of this server has TLS.")]


def guard_rules(
    settings: Settings, host: str, names: Sequence[str] | None, origins: Sequence[str] | None
) -> GuardRules:
    """Return the rules of a server, with the token of the project.

    Args:
        settings: Have the token.
        host: Address of the server.
        names: Its other names.
        origins: Origins whose pages may call it.

    Raises:
        OptionError: An origin is not one.
        ServeTokenError: The token cannot be used.
    """
    from agentic.executors.serving import GuardRules, load_token

    for origin in origins or ():
        scheme, _, name = origin.partition("://")
        if scheme not in ("http", "https") or not name or "/" in name:
            raise OptionError(
                f"--allow-origin {origin!r} is not an origin; write scheme and host, as https://chat.example.com"
            )
    return GuardRules(token=load_token(settings), hosts=(host, *(names or ())), origins=tuple(origins or ()))


def print_address(settings: Settings, url: str, project: str, notes: Sequence[str] = ()) -> None:
    """Print the address of a server that listens, and the place of its token.

    Args:
        settings: Have the token.
        url: The address.
        project: Name of the served project.
        notes: Further lines.
    """
    from agentic.executors.serving.tokens import TOKEN_FILE

    is_given = bool(settings.serve_token.get_secret_value())
    where = "AGENTIC_SERVE_TOKEN" if is_given else settings.home / TOKEN_FILE
    lines = [f"{url}; project {project}; token in {where}; Ctrl-C stops", *notes]
    console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
