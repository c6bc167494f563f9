"""The entrance of ``agentic``.

Exit codes: 0 done, 1 refused or failed, 2 bad usage, 3 a server cannot be reached, 130 interrupted.
"""

from __future__ import annotations

import importlib.metadata
import sys
from typing import Annotated

import typer

from agentic.core.errors import AgenticError
from agentic.core.hooks import get_registry
from agentic.core.logging import configure_logging
from agentic.core.settings import load_settings

DISTRIBUTION = "agentic-pipelines"


def build_app() -> typer.Typer:
    """Return the command line with the commands of every plugin."""
    app = typer.Typer(
        name="agentic",
        help="Scrapers, watchers and agents as deterministic graphs.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
    )
    app.callback()(_global_options)
    get_registry().add_commands(app)
    return app


def main() -> None:
    """Run the command line; an expected error is one message and an exit code, not a traceback."""
    try:
        build_app()()
    except AgenticError as exc:
        sys.stderr.write(f"agentic: {exc}\n")
        sys.exit(exc.exit_code)


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"{DISTRIBUTION} {importlib.metadata.version(DISTRIBUTION)}\n")
        raise typer.Exit


def _global_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Scrapers, watchers and agents as deterministic graphs."""
    del version  # read by its callback
    settings = load_settings()
    configure_logging(settings.log_level, settings.log_format)
