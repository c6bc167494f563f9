"""The entrance of ``agentic``.

Exit codes: 0 done, 1 refused or failed, 2 bad usage, 3 a server cannot be reached, 4 done in part,
130 interrupted.
"""

from __future__ import annotations

import atexit
import gc
import importlib.metadata
import os
import sys
import traceback
from types import TracebackType
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli.later import only
from agentic.core.cli.overview import Overview, hint_for, set_panels
from agentic.core.errors import AgenticError
from agentic.core.hooks import get_registry
from agentic.core.logging import configure_logging
from agentic.core.masking import mask_known
from agentic.core.terminal import harmless

if TYPE_CHECKING:
    from agentic.core.settings import Settings

DISTRIBUTION = "agentic-pipelines"
COMPLETION = "_AGENTIC_COMPLETE"
"""A shell that asks for completions sets this variable; the words are in others."""
INTERRUPTED = 130
BAD_USAGE = 2
FIRST_STEPS = (
    "First steps: `agentic pipelines build URL` lists the offers of a page, with --pick 1 --out site.yaml it "
    "writes a pipeline, and `agentic run site.yaml` stores the rows.\n\n"
    "Glossary, with the words of Celery, Scrapy, Airflow, LangGraph and Temporal: "
    "docs/explanation/glossary.md"
)


def build_app() -> typer.Typer:
    """Return the command line with the commands of every plugin."""
    app = typer.Typer(
        name="agentic",
        cls=Overview,
        help="Scrapers, watchers and agents as deterministic graphs.",
        epilog=FIRST_STEPS,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(_global_options)
    get_registry().add_commands(app)
    set_panels(app)
    return app


def main() -> None:
    """Run the command line; an expected error is one message and an exit code, not a traceback."""
    sys.excepthook = _tell_crash
    atexit.register(gc.freeze)  # or the interpreter searches all modules for cycles before it frees them
    try:
        app = build_app()
        if (hint := hint_for(app, sys.argv[1:])) is not None:
            sys.stderr.write(f"agentic: {hint}\n")
            sys.exit(BAD_USAGE)
        (app if COMPLETION in os.environ else only(app, sys.argv[1:]))()
    except AgenticError as exc:
        sys.stderr.write(f"agentic: {harmless(mask_known(str(exc)))}\n")
        sys.exit(exc.exit_code)
    except KeyboardInterrupt:  # while plugins are loaded: nothing has begun that anybody could go on with
        sys.stderr.write("agentic: interrupted\n")
        sys.exit(INTERRUPTED)


def _tell_crash(kind: type[BaseException], exc: BaseException, trace: TracebackType | None) -> None:
    """Print the traceback of what nobody expected, without the secrets that this process has read."""
    sys.stderr.write(harmless(mask_known("".join(traceback.format_exception(kind, exc, trace)))))


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"{DISTRIBUTION} {importlib.metadata.version(DISTRIBUTION)}\n")
        raise typer.Exit


def _global_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print log lines in the terminal, too.")
    ] = False,
) -> None:
    """Scrapers, watchers and agents as deterministic graphs."""
    del version  # read by its callback
    from agentic.core.settings import load_settings

    settings = load_settings()
    configure_logging(log_level_of(settings, verbose=verbose), settings.log_format)


def log_level_of(settings: Settings, *, verbose: bool) -> str:
    """Return the lowest level that is written: a terminal shows results, and no log unless asked for."""
    if verbose:
        return settings.log_level if settings.log_level == "debug" else "info"
    is_asked = "log_level" in settings.model_fields_set
    return "critical" if sys.stderr.isatty() and not is_asked else settings.log_level
