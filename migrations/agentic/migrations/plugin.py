"""Adds migrations to the command line and to ``agentic doctor``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agentic.core.hooks import hookimpl

if TYPE_CHECKING:
    import typer


@hookimpl
def agentic_commands(app: typer.Typer) -> None:
    """Add the group ``db``."""
    from agentic.core.cli.later import add_group_at

    add_group_at(
        app,
        "agentic.migrations.commands:db",
        name="db",
        help="Upgrade and check the tables of the database.",
    )


@hookimpl
def agentic_doctor() -> Iterable[str]:
    """Report a database that does not match this installation."""
    from agentic.core.errors import AgenticError
    from agentic.core.hooks import get_registry
    from agentic.core.settings import load_settings
    from agentic.mappers import Database
    from agentic.migrations.status import require_current

    try:
        require_current(Database.configured(load_settings()), get_registry())
    except AgenticError as exc:
        yield str(exc)
