"""Serves agents, workflows and pipelines of one project over HTTP. Needs the extra ``serve``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from agentic.core.hooks import hookimpl

if TYPE_CHECKING:
    import typer

    from agentic.core.hooks.asgi import AsgiApp


@hookimpl
def agentic_http() -> Mapping[str, Callable[[Any], AsgiApp]]:
    """Provide AG-UI at ``/ag-ui``, if its library is installed."""
    if find_spec("ag_ui") is None:
        return {}
    from agentic.plugins.serve.ag_ui.app import make_ag_ui

    return {"ag-ui": make_ag_ui}


@hookimpl
def agentic_commands(app: typer.Typer) -> None:
    """Add ``serve``."""
    from agentic.core.cli.later import add_command_at

    summary = "Serve agents, workflows and pipelines of a project over HTTP, until Ctrl-C."
    add_command_at(app, "agentic.plugins.serve.command:serve", name="serve", help=summary)
