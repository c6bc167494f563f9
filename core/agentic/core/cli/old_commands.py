"""Old names of commands: they work until the next release, with a warning."""

from __future__ import annotations

import sys

import typer

from agentic.core.cli.later import add_group_at


def add_old_group(app: typer.Typer, place: str, old: str, new: str, *, help: str) -> None:  # noqa: A002
    """Add a group of commands by its old name: help does not list it, and a call warns on standard error."""

    def warn() -> None:  # typer reads its parameters: a partial has none
        from agentic.core.moved import old_name_text

        sys.stderr.write(f"agentic: {old_name_text(f'`agentic {old}`', f'`agentic {new}`')}\n")

    add_group_at(app, place, name=old, help=help, hidden=True, callback=warn)
