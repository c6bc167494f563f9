"""The commands of the core."""

from __future__ import annotations

from collections.abc import Iterable

import typer

from agentic.core.hooks import hookimpl


@hookimpl
def agentic_commands(app: typer.Typer) -> None:
    """Add ``plugins``, ``graph``, ``events`` and ``doctor``."""
    from agentic.core.cli.doctor import doctor
    from agentic.core.cli.events import events_app
    from agentic.core.cli.graph import graph_app
    from agentic.core.cli.plugins import plugins

    app.command()(plugins)
    app.command()(doctor)
    app.add_typer(graph_app, name="graph")
    app.add_typer(events_app, name="events")


@hookimpl
def agentic_doctor() -> Iterable[str]:
    """Tell when a NATS server is configured and does not answer as it should."""
    import asyncio

    from agentic.core.bus import BusError, open_bus
    from agentic.core.settings import load_settings

    async def ask() -> None:
        async with open_bus(load_settings()) as bus:
            await bus.state()

    try:
        asyncio.run(ask())
    except BusError as exc:
        yield str(exc)
