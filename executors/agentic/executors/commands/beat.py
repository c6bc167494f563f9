"""``agentic beat``: starts what schedules say is due."""

from __future__ import annotations

from typing import Annotated

import typer

from agentic.core.settings import load_settings
from agentic.executors.commands.database import current_database
from agentic.executors.commands.running import checked_dispatcher
from agentic.executors.commands.worker import LogLevel


def beat(
    *,
    loglevel: Annotated[LogLevel, typer.Option(help="The lowest level that is written.")] = LogLevel.INFO,
) -> None:
    """Start what schedules say is due until told to stop; any number may do so at once."""
    settings = load_settings()
    current_database(settings).dispose()
    checked_dispatcher(settings)

    from agentic.executors.celery import app

    app.start(["beat", "--pidfile", "", "--loglevel", loglevel.value])
