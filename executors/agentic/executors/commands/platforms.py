"""``agentic platforms``: what agents can be of."""

from __future__ import annotations

import typer

from agentic.core.cli import print_rows
from agentic.core.hooks import Platform, get_registry
from agentic.executors.commands.options import AsJson

platforms = typer.Typer(help="Platforms: what the plugins let agents do.", no_args_is_help=True)


@platforms.command("list")
def list_them(*, as_json: AsJson = False) -> None:
    """List the platforms with their executor, their mapper and the keys of an agent's config."""
    rows = [_row(platform) for _, platform in sorted(get_registry().platforms.items())]
    print_rows("Platforms", ["name", "config", "executor", "mapper"], rows, as_json=as_json)


def _row(platform: Platform) -> dict[str, object]:
    return {
        "name": platform.name,
        "config": list(platform.settings.model_fields) if platform.settings else [],
        "executor": platform.executor.__name__,
        "mapper": platform.mapper.__name__,
    }
