"""``agentic agents``: manage agents."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from agentic.core.cli import console, print_json, print_rows
from agentic.core.hooks import Platform, get_registry
from agentic.core.settings import load_settings
from agentic.core.types import JSONValue
from agentic.executors.commands.agents.changes import add_changes
from agentic.executors.commands.shared.completing import agent_names, platform_names
from agentic.executors.commands.shared.database import (
    current_database,
    ensured_project,
    opened,
    ready_database,
)
from agentic.executors.commands.shared.options import (
    AsJson,
    DryRun,
    InProject,
    checked_name,
    read_file,
    read_values,
)

agents = typer.Typer(help="Manage agents (configured platforms).", no_args_is_help=True)
COLUMNS = ("name", "platform", "goals", "state", "created_at")

Name = Annotated[str, typer.Argument(help="Name of the agent.")]
NameOrId = Annotated[
    str, typer.Argument(metavar="NAME", help="Agent name or id.", autocompletion=agent_names)
]


@agents.command("list")
def list_them(
    *,
    platform: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Filter by platform.", autocompletion=platform_names),
    ] = None,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """List the agents of a project."""
    from agentic.executors.commands.shared.views import agent_row
    from agentic.mappers import find_project, list_agents

    settings = load_settings()
    with opened(current_database(settings)) as database, database.reading() as session:
        owner = find_project(session, project or settings.project)
        found = list_agents(session, owner.id)
        rows = [agent_row(agent) for agent in found if platform in (None, agent.agent_platform)]
    print_rows(f"Agents of {owner.name}", COLUMNS, rows, as_json=as_json)


@agents.command()
def show(name: NameOrId, *, project: InProject = None, as_json: AsJson = False) -> None:
    """Show an agent: config, schedules and number of executions; secrets are masked."""
    from agentic.executors.commands.shared.views import agent_row, counts_of_executions, names_of_schedules
    from agentic.mappers import find_agent, find_project

    settings = load_settings()
    with opened(current_database(settings)) as database, database.reading() as session:
        owner = find_project(session, project or settings.project)
        agent = find_agent(session, owner.id, name)
        row = {
            **agent_row(agent),
            "schedules": names_of_schedules(session, owner.id, agent.id),
            "executions": counts_of_executions(session, owner.id, agent.id),
        }
    if as_json:
        print_json(row)
    else:
        print_rows(name, ["field", "value"], [{"field": key, "value": value} for key, value in row.items()])


@agents.command()
def add(  # noqa: PLR0913  # one parameter for each option
    name: Name,
    *,
    platform: Annotated[
        str,
        typer.Option(
            help="Platform; see `agentic platforms list`.",
            metavar="NAME",
            autocompletion=platform_names,
        ),
    ],
    config: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE|@FILE", help="Config values, or a YAML or JSON file with them."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A YAML or JSON file with the config; --config overrides it."),
    ] = None,
    goals: Annotated[str | None, typer.Option(help="Goals (comma-separated).")] = None,
    project: InProject = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace the agent if it exists.")] = False,
    as_json: AsJson = False,
) -> None:
    """Add an agent to a project; the config is checked first."""
    from agentic.executors.agents.catalog import AgentFacts, put_agent
    from agentic.executors.commands.shared.views import agent_row

    checked_name(name, "an agent")
    found = get_registry().platform(platform)  # an unknown platform creates no database
    values = {**_in_file(found, file), **read_values(config or (), "--config")}
    facts = AgentFacts(name=name, platform=platform, config=values, goals=goals)
    settings = load_settings()
    with opened(ready_database(settings)) as database, database.writing() as session:
        owner = ensured_project(session, project, settings)
        row = agent_row(put_agent(session, owner, facts, replace=replace))
    if as_json:
        print_json(row)
    else:
        console.print(f"agent {name} of project {owner.name} is ready", markup=False, highlight=False)


def _in_file(platform: Platform, file: Path | None) -> Mapping[str, JSONValue]:
    """Return the config in a file; paths in it are made independent of the current folder."""
    if file is None:
        return {}
    if platform.load_config is not None:
        return platform.load_config(file)
    return read_values([f"@{file}"], "--file")


add_changes(agents)


@agents.command("export")
def export_them(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Agents. Default: all agents of the project.",
            autocompletion=agent_names,
        ),
    ] = None,
    *,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Export agents as YAML, to edit and import; secrets are masked."""
    from agentic.executors.commands.agents.files import told_agent, write_agents
    from agentic.mappers import find_agent, find_project, list_agents

    settings = load_settings()
    with opened(current_database(settings)) as database, database.reading() as session:
        owner = find_project(session, project or settings.project)
        chosen = [find_agent(session, owner.id, name) for name in names or ()]
        told = [told_agent(agent) for agent in chosen or list_agents(session, owner.id)]
    if as_json:
        print_json({"agents": told})
    else:
        sys.stdout.write(write_agents(told))


@agents.command("import")
def import_them(
    file: Annotated[Path, typer.Argument(help="File of `agentic agents export`; - is standard input.")],
    *,
    replace: Annotated[bool, typer.Option("--replace", help="Change agents that exist.")] = False,
    dry_run: DryRun = False,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Import the agents of a file into a project, all or none; configs are checked first."""
    from agentic.executors.agents.catalog import put_agent
    from agentic.executors.commands.agents.files import read_agents

    facts = read_agents(read_file(file), file)
    settings = load_settings()
    with opened(ready_database(settings)) as database, database.writing() as session:
        owner = ensured_project(session, project, settings)
        for one in facts:
            put_agent(session, owner, one, replace=replace)
        name = owner.name
        if dry_run:
            session.rollback()
    if as_json:
        print_json({"project": name, "agents": [one.name for one in facts], "dry_run": dry_run})
        return
    done = "would be imported" if dry_run else "imported"
    console.print(f"{len(facts)} agents {done} into project {name}", markup=False, highlight=False)
