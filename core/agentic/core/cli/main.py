"""The entrance of ``agentic``.

Exit codes: 0 done, 1 refused or failed, 2 bad usage, 3 a server cannot be reached, 4 done in part,
130 interrupted.
"""

from __future__ import annotations

import copy
import importlib.metadata
import sys
import traceback
from collections.abc import Sequence
from types import TracebackType
from typing import Annotated

import typer
from typer.main import get_command_name
from typer.models import CommandInfo

from agentic.core.errors import AgenticError
from agentic.core.hooks import get_registry
from agentic.core.logging import configure_logging
from agentic.core.masking import mask_known
from agentic.core.settings import Settings, load_settings
from agentic.core.terminal import harmless

DISTRIBUTION = "agentic-pipelines"
INTERRUPTED = 130
GLOSSARY = "docs/explanation/glossary.md"


def build_app() -> typer.Typer:
    """Return the command line with the commands of every plugin."""
    app = typer.Typer(
        name="agentic",
        help="Scrapers, watchers and agents as deterministic graphs.",
        epilog=f"Glossary, with the words of Celery, Scrapy, Airflow, LangGraph and Temporal: {GLOSSARY}",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(_global_options)
    get_registry().add_commands(app)
    return app


def only(app: typer.Typer, words: Sequence[str]) -> typer.Typer:
    """Return ``app`` with nothing but the command that ``words`` begin with; whole if they begin otherwise.

    To read what each of eighty commands takes costs more than most commands do.
    """
    wanted = words[0] if words else ""
    commands = [one for one in app.registered_commands if _name_of(one) == wanted]
    groups = [one for one in app.registered_groups if one.name == wanted]
    is_alone = not groups and not app.registered_callback
    if is_alone or not (commands or groups):
        return app  # typer makes of a single command one that has no name
    narrowed = copy.copy(app)
    narrowed.registered_commands, narrowed.registered_groups = commands, groups
    return narrowed


def _name_of(command: CommandInfo) -> str:
    return command.name or get_command_name(getattr(command.callback, "__name__", ""))


def main() -> None:
    """Run the command line; an expected error is one message and an exit code, not a traceback."""
    sys.excepthook = _tell_crash
    try:
        only(build_app(), sys.argv[1:])()
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
    settings = load_settings()
    configure_logging(log_level_of(settings, verbose=verbose), settings.log_format)


def log_level_of(settings: Settings, *, verbose: bool) -> str:
    """Return the lowest level that is written: a terminal shows results, and no log unless asked for."""
    if verbose:
        return settings.log_level if settings.log_level == "debug" else "info"
    is_asked = "log_level" in settings.model_fields_set
    return "critical" if sys.stderr.isatty() and not is_asked else settings.log_level
