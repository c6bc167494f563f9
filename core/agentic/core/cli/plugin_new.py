"""``agentic plugin new``: a distribution of one's own, complete and tested."""

from __future__ import annotations

import importlib.metadata
import re
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from agentic.core.cli.output import console
from agentic.core.errors import AgenticError
from agentic.core.hooks import get_registry

plugin_app = typer.Typer(help="Create plugins.", no_args_is_help=True)

_TEMPLATE = Path(__file__).parent / "plugin_template"
_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_MAX_NAME = 40


class PluginNameError(AgenticError, ValueError):
    """A plugin cannot have that name, or cannot be made there."""


@plugin_app.callback()
def plugin() -> None:
    """Create plugins."""


@plugin_app.command()
def new(
    name: Annotated[str, typer.Argument(help="Platform name: lower-case letters, digits and hyphens.")],
    *,
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Parent folder of the plugin.")] = Path(),
) -> None:
    """Create a plugin for a platform: executor, mapper, table, migration, tests, CI and README.

    The plugin works at once, on a list of items in JSON; replace the list by your
    source.
    """
    place = to / f"agentic-plugin-{name}"
    _check(name, place)
    _write(_answers(name), place)
    console.print(f"created {place}; next steps:", markup=False, highlight=False)
    for line in (f"cd {place}", "pip install -e '.[dev]'", "pytest", "agentic plugins"):
        console.print(f"  {line}", markup=False, highlight=False)


def _check(name: str, place: Path) -> None:
    if not _NAME.fullmatch(name) or len(name) > _MAX_NAME:
        raise PluginNameError(
            f"{name!r} is not a valid platform name; use at most {_MAX_NAME} lower-case letters, digits "
            "and single hyphens, as in agentic plugin new my-shop"
        )
    if get_registry().platforms.is_taken(name):
        raise PluginNameError(f"platform {name!r} exists already, see `agentic plugins`; choose another name")
    if place.exists():
        raise PluginNameError(f"{str(place)!r} exists already; remove it, or choose another folder with --to")


def _answers(name: str) -> dict[str, str]:
    word = name.replace("-", "_")
    return {
        "name": name,
        "package": f"agentic_plugin_{word}",
        "class_prefix": "".join(part.capitalize() for part in name.split("-")),
        "table": f"{word}_items",
        "requires": importlib.metadata.version("agentic-pipelines"),
    }


def _write(answers: dict[str, str], place: Path) -> None:
    """Write all of it, or nothing."""
    try:
        import copier  # takes half a second, and comes with an extra
    except ModuleNotFoundError as exc:
        raise PluginNameError(
            f"{exc.name} is not installed; run `pip install 'agentic-pipelines[kit]'`"
        ) from None
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".agentic-plugin-") as draft:
        made = Path(draft) / place.name
        copier.run_copy(str(_TEMPLATE), made, data=answers, defaults=True, quiet=True)
        made.rename(place)
