"""``agentic agents``: what is run."""

from __future__ import annotations

from typing import Annotated

import typer

from agentic.core.cli import console, print_json, print_rows
from agentic.core.hooks import get_registry
from agentic.core.settings import load_settings
from agentic.executors.commands.database import current_database, ensured_project, opened, ready_database
from agentic.executors.commands.options import AsJson, InProject, read_values

agents = typer.Typer(help="Agents: configured platforms, to be run.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="Name of the agent.")]
NameOrId = Annotated[str, typer.Argument(metavar="NAME", help="Name or id of the agent.")]


@agents.command("list")
def list_them(*, project: InProject = None, as_json: AsJson = False) -> None:
    """List the agents of a project."""
    from agentic.executors.commands.views import agent_row
    from agentic.mappers import find_project, list_agents

    settings = load_settings()
    with opened(current_database(settings)) as database, database.reading() as session:
        owner = find_project(session, project or settings.project)
        rows = [agent_row(agent) for agent in list_agents(session, owner.id)]
    print_rows(f"Agents of {owner.name}", ["name", "platform", "goals", "created_at"], rows, as_json=as_json)


@agents.command()
def show(name: NameOrId, *, project: InProject = None, as_json: AsJson = False) -> None:
    """Show an agent with its config; secrets are masked."""
    from agentic.executors.commands.views import agent_row
    from agentic.mappers import find_agent, find_project

    settings = load_settings()
    with opened(current_database(settings)) as database, database.reading() as session:
        owner = find_project(session, project or settings.project)
        row = agent_row(find_agent(session, owner.id, name))
    if as_json:
        print_json(row)
    else:
        print_rows(name, ["field", "value"], [{"field": key, "value": value} for key, value in row.items()])


@agents.command()
def add(
    name: Name,
    *,
    platform: Annotated[str, typer.Option(help="What runs it; see `agentic platforms list`.")],
    config: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE|@FILE", help="Part of its config, or a YAML or JSON file of it."),
    ] = None,
    goals: Annotated[str | None, typer.Option(help="What it is for, separated by commas.")] = None,
    project: InProject = None,
    replace: Annotated[bool, typer.Option("--replace", help="Change the agent of that name.")] = False,
) -> None:
    """Add an agent to a project; its config is checked first."""
    from agentic.executors.catalog import AgentFacts, put_agent

    get_registry().platform(platform)  # an unknown one makes no database
    values = read_values(config or (), "--config")
    facts = AgentFacts(name=name, platform=platform, config=values, goals=goals)
    settings = load_settings()
    with opened(ready_database(settings)) as database, database.writing() as session:
        owner = ensured_project(session, project, settings)
        put_agent(session, owner, facts, replace=replace)
    console.print(f"agent {name} of project {owner.name} is ready", markup=False, highlight=False)


@agents.command()
def remove(
    name: NameOrId,
    *,
    project: InProject = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove an agent with its executions and their results; rows in the tables of its platform stay."""
    from agentic.mappers import find_agent, find_project
    from agentic.mappers.catalog import remove_agent

    settings = load_settings()
    with opened(current_database(settings)) as database:
        with database.reading() as session:
            owner = find_project(session, project or settings.project)
            found = find_agent(session, owner.id, name)
        if not yes:
            typer.confirm(f"Remove agent {found.agent_name} and all its executions?", abort=True)
        with database.writing() as session:
            remove_agent(session, find_agent(session, owner.id, found.id))
    console.print(f"removed agent {found.agent_name}", markup=False, highlight=False)
