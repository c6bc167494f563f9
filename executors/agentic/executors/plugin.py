"""The commands and checks that this package adds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agentic.core.hooks import hookimpl

if TYPE_CHECKING:
    import typer

    from agentic.core.hooks import Finding

_HERE = "agentic.executors.commands"

_COMMANDS = {
    "audit": (
        "audit:audit",
        "Show decisions in runs, about runs and about the configuration: who, when, why; newest last.",
    ),
    "demo": (
        "servers.demo:demo",
        "Start all services, run two agents on a Celery worker, show the stored rows, stop all.",
    ),
    "reconcile": (
        "servers.reconcile:reconcile",
        (
            "Recover orphaned runs: take over from lost workers, repeat wake-ups, publish events, send "
            "notifications."
        ),
    ),
    "run": ("run.command:run", "Run a pipeline file or an agent, and show the stored rows."),
    "up": ("servers.up:up", "Run NATS, a broker, a worker, beat and Flower until Ctrl-C."),
    "worker": ("servers.worker:worker", "Run agents from the broker until stopped."),
    "beat": ("servers.worker:beat", "Start due schedules until stopped; several beats may run at once."),
    "metrics": (
        "servers.metrics:metrics",
        "Serve metrics of executions for Prometheus, of all projects or of one, until Ctrl-C.",
    ),
}
"""Name -> place in :mod:`agentic.executors.commands`, and help."""

_GROUPS = {
    "projects": ("projects.command:projects", "Manage projects, with their agents and rows."),
    "agents": ("agents.command:agents", "Manage agents (configured platforms)."),
    "crawls": ("crawls:crawls", "Show and release crawls that hold pages."),
    "repairs": ("repairs:repairs", "Show, accept, reject and undo repairs of pipelines."),
    "dead-letters": (
        "executions.dead_letters:dead_letters",
        "Manage dead letters (items that failed for good).",
    ),
    "pipelines": ("pipelines:pipelines", "Check, draw, build and store pipelines."),
    "platforms": ("platforms:platforms", "Show platforms and check their agents."),
    "executions": ("executions.command:executions", "Manage executions (runs of agents)."),
    "runs": ("runs.command:runs", "Manage runs (submitted workflows and executions)."),
    "requests": ("runs.requests:requests", "Show and answer questions that runs ask people."),
    "schedules": ("schedules.command:schedules", "Manage schedules (automatic runs of agents)."),
    "notifications": (
        "notifications:notifications",
        "Manage notifications (e-mail, chat, webhook) about executions.",
    ),
    "nats": ("servers.nats:nats", "Manage the NATS server: one account per project."),
    "secrets": ("projects.secrets:secrets", "Manage secrets (encrypted, used by pipelines)."),
}
"""Likewise for groups."""


@hookimpl
def agentic_commands(app: typer.Typer) -> None:
    """Add the commands for projects, agents, executions, runs, schedules and replays."""
    from agentic.core.cli.later import add_command_at, add_group_at, add_old_group
    from agentic.core.cli.replay.places import add_source

    add_source("the ledger", f"{_HERE}.runs.replaying:in_ledger")
    for name, (place, summary) in _COMMANDS.items():
        add_command_at(app, f"{_HERE}.{place}", name=name, help=summary)
    for name, (place, summary) in _GROUPS.items():
        add_group_at(app, f"{_HERE}.{place}", name=name, help=summary)
    place, summary = _GROUPS["dead-letters"]
    add_old_group(app, f"{_HERE}.{place}", "letters", "dead-letters", help=summary)


@hookimpl
def agentic_doctor() -> Iterable[Finding]:
    """Report faults around workers: this machine, the database, the broker, running workers."""
    from agentic.core.hooks import warning
    from agentic.core.settings import load_settings
    from agentic.executors.workers.celery_config import (
        CONFIG_MODULE_VARIABLE,
        DEFAULT_MODULE,
        unread,
        unread_file,
    )

    # Before the import: the Celery app is configured when its module is imported.
    with unread():
        from agentic.executors.checks import look_around

        if (file := unread_file()) is not None:
            yield warning(
                f"{file} is not checked because that would run it; if you trust it, set "
                f"{CONFIG_MODULE_VARIABLE}={DEFAULT_MODULE}"
            )
        yield from look_around(load_settings())
