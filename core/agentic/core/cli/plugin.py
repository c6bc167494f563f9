"""The commands of the core, and the models that are files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from agentic.core.hooks import Finding, hookimpl

if TYPE_CHECKING:
    import typer

    from agentic.core.llm.adapter import LLMAdapter

_HERE = "agentic.core.cli"


@hookimpl
def agentic_commands(app: typer.Typer) -> None:
    """Add ``plugins``, ``plugin new``, ``graph``, ``events`` and ``doctor``."""
    from agentic.core.cli.later import add_command_at, add_group_at

    add_command_at(
        app,
        f"{_HERE}.plugins:plugins",
        name="plugins",
        help="List the installed plugins: version, distribution, contents and faults.",
    )
    add_command_at(
        app,
        f"{_HERE}.doctor:doctor",
        name="doctor",
        help="Check the installation, the plugins, the database, the servers and their workers.",
    )
    add_group_at(app, f"{_HERE}.plugin_new:plugin_app", name="plugin", help="Create plugins.")
    add_group_at(app, f"{_HERE}.graph:graph_app", name="graph", help="Draw workflows, pipelines and runs.")
    add_group_at(
        app, f"{_HERE}.events:events_app", name="events", help="Show and replay events of runs, from NATS."
    )


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


@hookimpl
def agentic_models() -> Mapping[str, Callable[..., LLMAdapter]]:
    """Provide the models ``scripted:FILE`` and ``replay:FILE``, which need no provider."""
    from agentic.core.agents.specs.scripted import replay_model, script_model

    return {"scripted": script_model, "replay": replay_model}
