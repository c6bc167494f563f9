"""``agentic executions export``, ``report`` and ``changes``: what an execution left behind, to take away."""

from __future__ import annotations

import typer

from agentic.executors.commands.exporting import export


def add_reports(executions: typer.Typer) -> None:
    """Add the commands to ``agentic executions``."""
    executions.command()(export)
