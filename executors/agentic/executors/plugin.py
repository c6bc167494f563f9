"""The commands and checks that this package adds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agentic.core.hooks import hookimpl

if TYPE_CHECKING:
    import typer

    from agentic.core.hooks import Finding


@hookimpl
def agentic_commands(app: typer.Typer) -> None:
    """Add the commands for projects, agents, executions, runs, schedules and replays."""
    from agentic.core.cli.old_commands import add_old_group
    from agentic.core.cli.replay.sources import add_source
    from agentic.executors.commands.agents.command import agents
    from agentic.executors.commands.audit import audit
    from agentic.executors.commands.executions.command import executions
    from agentic.executors.commands.executions.dead_letters import dead_letters
    from agentic.executors.commands.executions.report import add_reports
    from agentic.executors.commands.notifications import notifications
    from agentic.executors.commands.pipelines import pipelines
    from agentic.executors.commands.platforms import platforms
    from agentic.executors.commands.projects.command import projects
    from agentic.executors.commands.projects.secrets import secrets
    from agentic.executors.commands.run.command import run
    from agentic.executors.commands.runs.command import runs
    from agentic.executors.commands.runs.replaying import in_ledger
    from agentic.executors.commands.runs.requests import requests
    from agentic.executors.commands.schedules.command import schedules
    from agentic.executors.commands.servers.demo import demo
    from agentic.executors.commands.servers.metrics import metrics
    from agentic.executors.commands.servers.nats import nats
    from agentic.executors.commands.servers.reconcile import reconcile
    from agentic.executors.commands.servers.up import up
    from agentic.executors.commands.servers.worker import beat, worker
    from agentic.executors.commands.trying import add_trying

    add_source("the ledger", in_ledger)
    app.command()(audit)
    app.command()(demo)
    app.command()(reconcile)
    app.command()(run)
    app.command()(up)
    app.command()(worker)
    app.command()(beat)
    app.command()(metrics)
    app.add_typer(projects, name="projects")
    app.add_typer(agents, name="agents")
    app.add_typer(dead_letters, name="dead-letters")
    add_old_group(app, dead_letters, "letters", "dead-letters")
    add_trying(pipelines)
    app.add_typer(pipelines, name="pipelines")
    app.add_typer(platforms, name="platforms")
    add_reports(executions)
    app.add_typer(executions, name="executions")
    app.add_typer(runs, name="runs")
    app.add_typer(requests, name="requests")
    app.add_typer(schedules, name="schedules")
    app.add_typer(notifications, name="notifications")
    app.add_typer(nats, name="nats")
    app.add_typer(secrets, name="secrets")


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
