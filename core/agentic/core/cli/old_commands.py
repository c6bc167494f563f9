"""Old names of commands: they work until the next release, with a warning."""

from __future__ import annotations

import sys

import typer

from agentic.core.moved import old_name_text


def add_old_group(app: typer.Typer, group: typer.Typer, old: str, new: str) -> None:
    """Add a group of commands by its old name: help does not list it, and a call warns on standard error."""

    def warn() -> None:  # typer reads its parameters: a partial has none
        sys.stderr.write(f"agentic: {old_name_text(f'`agentic {old}`', f'`agentic {new}`')}\n")

    app.add_typer(group, name=old, hidden=True, callback=warn)
