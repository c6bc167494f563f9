"""Serves agents, workflows and pipelines of one project over HTTP. Needs the extra ``serve``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.hooks import hookimpl

if TYPE_CHECKING:
    import typer


@hookimpl
def agentic_commands(app: typer.Typer) -> None:
    """Add ``serve``."""
    from agentic.core.cli.later import add_command_at

    summary = "Serve agents, workflows and pipelines of a project over HTTP, until Ctrl-C."
    add_command_at(app, "agentic.plugins.serve.command:serve", name="serve", help=summary)
