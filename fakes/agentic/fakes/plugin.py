"""What this plugin brings; pytest loads the package, for its fixture, without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.hooks import hookimpl

if TYPE_CHECKING:
    import typer


@hookimpl
def agentic_commands(app: typer.Typer) -> None:
    """Add ``agentic fakes``."""
    from agentic.core.cli.later import add_group_at

    add_group_at(app, "agentic.fakes.cli:fakes_app", name="fakes", help="Fake servers for demos and tests.")
