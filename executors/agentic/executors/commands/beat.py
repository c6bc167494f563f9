"""``agentic beat``: starts due schedules."""

from __future__ import annotations

from typing import Annotated

import typer

from agentic.core.settings import load_settings
from agentic.executors.commands.database import current_database
from agentic.executors.commands.running import checked_dispatcher
from agentic.executors.commands.worker import LogLevel


def beat(
    *,
    loglevel: Annotated[LogLevel, typer.Option(help="Lowest log level.")] = LogLevel.INFO,
) -> None:
    """Start due schedules until stopped; several beats may run at once."""
    settings = load_settings()
    current_database(settings).dispose()
    checked_dispatcher(settings)

    from agentic.executors.celery import app

    app.start(["beat", "--pidfile", "", "--loglevel", loglevel.value])
