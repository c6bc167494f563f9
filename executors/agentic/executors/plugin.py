"""What this room adds to the command line and to ``agentic doctor``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agentic.core.hooks import hookimpl

if TYPE_CHECKING:
    import typer


@hookimpl
def agentic_commands(app: typer.Typer) -> None:
    """Add the commands around projects, agents and executions."""
    from agentic.executors.commands.agents import agents
    from agentic.executors.commands.demo import demo
    from agentic.executors.commands.executions import executions
    from agentic.executors.commands.platforms import platforms
    from agentic.executors.commands.projects import projects
    from agentic.executors.commands.run import run
    from agentic.executors.commands.up import up
    from agentic.executors.commands.worker import worker

    app.command()(demo)
    app.command()(run)
    app.command()(up)
    app.command()(worker)
    app.add_typer(projects, name="projects")
    app.add_typer(agents, name="agents")
    app.add_typer(platforms, name="platforms")
    app.add_typer(executions, name="executions")


@hookimpl
def agentic_doctor() -> Iterable[str]:
    """Tell when a broker is configured and does not answer."""
    from agentic.core.settings import load_settings

    settings = load_settings()
    if settings.broker is None:
        return

    from agentic.core.errors import AgenticError
    from agentic.executors.celery import make_app
    from agentic.executors.dispatch import CeleryDispatcher

    try:
        CeleryDispatcher(make_app(settings)).check()
    except AgenticError as exc:
        yield str(exc)
