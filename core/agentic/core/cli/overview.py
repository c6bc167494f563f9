"""The list of commands in help, and hints for words of other tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import typer
from typer.core import TyperGroup

from agentic.core.cli.later import VERBOSE, name_of

PANELS: Mapping[str, Sequence[str]] = {
    "Read sites": ("run", "pipelines", "agents", "schedules", "notifications"),
    "See and correct runs": (
        *("executions", "crawls", "repairs", "dead-letters"),
        *("runs", "requests", "events", "audit"),
    ),
    "Speak to agents": ("chat", "threads", "usage", "evals", "serve", "mcp"),
    "Run servers": ("up", "worker", "beat", "metrics", "reconcile", "nats"),
    "Set up": (
        *("doctor", "demo", "fakes", "plugins", "platforms", "plugin"),
        *("projects", "secrets", "db", "graph"),
    ),
}
_OF_PLUGINS = "Commands of plugins"

_BUILD = (
    "`agentic pipelines build URL --pick 1 --out FILE.yaml` writes a pipeline, and "
    "`agentic run FILE.yaml` runs it"
)
_TRY = "`agentic pipelines try URL` fetches a page and tests selectors on it"
_RUN = "`agentic run FILE.yaml` runs a pipeline"
HINTS: Mapping[str, str] = {
    "crawl": _RUN,
    "runspider": _RUN,
    "scrape": _RUN,
    "fetch": _TRY,
    "shell": _TRY,
    "try": _TRY,
    "view": _TRY,
    "build": _BUILD,
    "create": _BUILD,
    "genspider": _BUILD,
    "init": _BUILD,
    "new": _BUILD,
    "startproject": _BUILD,
    "check": "`agentic pipelines validate FILE.yaml` checks a pipeline, `agentic doctor` the installation",
    "validate": "`agentic pipelines validate FILE.yaml` checks a pipeline",
    "export": "`agentic executions export ID --out rows.csv` writes the rows of an execution",
    "fakes": "`pip install 'agentic-pipelines[local]'` brings the fake sites",
    "help": "`agentic --help` lists the commands",
    "list": "`agentic executions list` shows runs, `agentic agents list` shows agents",
    "logs": "`agentic executions show ID` shows an execution, `agentic events tail` the events",
    "migrate": "`agentic db upgrade` brings the tables up to date",
    "ps": "`agentic executions list` shows runs and their status",
    "start": "`agentic up` starts the servers and a worker, `agentic run NAME` an agent",
    "status": "`agentic executions list` shows runs, `agentic doctor` checks the servers",
    "version": "`agentic --version` prints the version",
}
"""Words of Scrapy, Airflow, Celery and others -> the commands for them."""


class Overview(TyperGroup):
    """The command line, whose help lists the most usual commands first."""

    def list_commands(self, ctx: object) -> list[str]:  # noqa: ARG002 - as in typer
        """Return the names of the commands, in the order of the panels."""
        order = [name for names in PANELS.values() for name in names]
        return sorted(self.commands, key=lambda name: (*order, name).index(name))


def set_panels(app: typer.Typer) -> None:
    """Name the panel of help for each command."""
    panels = {name: panel for panel, names in PANELS.items() for name in names}
    for command in app.registered_commands:
        command.rich_help_panel = panels.get(name_of(command), _OF_PLUGINS)
    for group in app.registered_groups:
        group.rich_help_panel = panels.get(str(group.name), _OF_PLUGINS)


def hint_for(app: typer.Typer, words: Sequence[str]) -> str | None:
    """Return the message about a word that is not a command, if it is known from other tools."""
    word = next((word for word in words if word not in VERBOSE), "")
    known = {name_of(one) for one in app.registered_commands} | {
        str(one.name) for one in app.registered_groups
    }
    if word in known or word not in HINTS:
        return None
    return f"no command {word!r}; {HINTS[word]}"
