"""Evaluations of agents, actors, pipelines and functions: durable runs, with a row for each case."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agentic.core.hooks import Platform, hookimpl, platform_at

if TYPE_CHECKING:
    import typer

_HERE = "agentic.plugins.evals"


@hookimpl
def agentic_platforms() -> Iterable[Platform]:
    """Provide the platform ``evals``."""
    return [platform_at(f"{_HERE}.platform:PLATFORM", name="evals", migrations=f"{_HERE}.migrations")]


@hookimpl
def agentic_commands(app: typer.Typer) -> None:
    """Add ``evals``."""
    from agentic.core.cli.later import add_group_at

    summary = "Evaluate agents, actors, pipelines and functions: run, show and compare."
    add_group_at(app, f"{_HERE}.commands.command:evals", name="evals", help=summary)
