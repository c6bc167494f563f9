"""The commands of the core."""

from __future__ import annotations

from collections.abc import Iterable

import typer

from agentic.core.hooks import Finding, hookimpl


@hookimpl
def agentic_commands(app: typer.Typer) -> None:
    """Add ``plugins``, ``plugin new``, ``graph``, ``events`` and ``doctor``."""
    from agentic.core.cli.doctor import doctor
    from agentic.core.cli.events import events_app
    from agentic.core.cli.graph import graph_app
    from agentic.core.cli.plugin_new import plugin_app
    from agentic.core.cli.plugins import plugins

    app.command()(plugins)
    app.command()(doctor)
    app.add_typer(plugin_app, name="plugin")
    app.add_typer(graph_app, name="graph")
    app.add_typer(events_app, name="events")


@hookimpl
def agentic_doctor() -> Iterable[Finding]:
    """Tell when a NATS server is configured and does not answer, or does not keep events as it should."""
    from agentic.core.settings import load_settings

    settings = load_settings()
    if settings.nats is None:
        return ()
    from agentic.core.bus.nats.access import access_of
    from agentic.core.bus.nats.checkup import nats_findings

    return nats_findings(settings.nats, settings.nats_http, access_of(settings, settings.project))
