"""Runs chat agents: scheduled prompts on workers, conversations on the command line, turns as rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agentic.core.hooks import Platform, hookimpl, platform_at

if TYPE_CHECKING:
    import typer

_HERE = "agentic.plugins.chat"


@hookimpl
def agentic_platforms() -> Iterable[Platform]:
    """Provide the platform ``chat``."""
    return [platform_at(f"{_HERE}.platform:PLATFORM", name="chat", migrations=f"{_HERE}.migrations")]


@hookimpl
def agentic_commands(app: typer.Typer) -> None:
    """Add ``chat``, ``threads`` and ``usage``."""
    from agentic.core.cli.later import add_command_at, add_group_at

    commands = f"{_HERE}.commands"
    summary = "Speak to an agent. Its answer is shown as it is made; the thread is kept."
    add_command_at(app, f"{commands}.chat:chat", name="chat", help=summary)
    summary = "Show, export and delete threads (conversations with agents)."
    add_group_at(app, f"{commands}.threads:threads", name="threads", help=summary)
    summary = "Show the use of models by chat agents: turns, tokens and cost."
    add_command_at(app, f"{commands}.usage:usage", name="usage", help=summary)
