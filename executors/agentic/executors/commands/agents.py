"""``agentic agents``: what is run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from agentic.core.cli import console, print_json, print_rows
from agentic.core.hooks import get_registry
from agentic.core.settings import load_settings
from agentic.executors.commands.database import current_database, ensured_project, opened, ready_database
from agentic.executors.commands.options import AsJson, InProject, OptionError, read_values

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
def edit(
    name: NameOrId,
    *,
    config: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE|@FILE", help="Part of its config to change; the rest stays."),
    ] = None,
    unset: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Part of its config to leave to the default.")
    ] = None,
    goals: Annotated[str | None, typer.Option(help="What it is for from now on.")] = None,
    project: InProject = None,
) -> None:
    """Change an agent's config or goals; what comes of it is checked first."""
    from agentic.executors.catalog import AgentFacts, put_agent
    from agentic.mappers import find_agent, find_project

    values = read_values(config or (), "--config")
    settings = load_settings()
    with opened(current_database(settings)) as database, database.writing() as session:
        owner = find_project(session, project or settings.project)
        found = find_agent(session, owner.id, name)
        kept = {key: value for key, value in found.config.items() if key not in (unset or ())}
        facts = AgentFacts(
            name=found.agent_name, platform=found.agent_platform, config={**kept, **values}, goals=goals
        )
        put_agent(session, owner, facts, replace=True)
    console.print(f"changed agent {facts.name} of project {owner.name}", markup=False, highlight=False)


@agents.command("export")
def export_them(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Agents; all of the project if none.")
    ] = None,
    *,
    project: InProject = None,
) -> None:
    """Write agents as YAML, to be kept, edited and imported; secrets are masked."""
    from agentic.executors.catalog import AgentFacts
    from agentic.executors.commands.agent_files import write_agents
    from agentic.executors.commands.views import shown_config
    from agentic.mappers import find_agent, find_project, list_agents

    settings = load_settings()
    with opened(current_database(settings)) as database, database.reading() as session:
        owner = find_project(session, project or settings.project)
        chosen = [find_agent(session, owner.id, name) for name in names or ()]
        facts = [
            AgentFacts(
                name=agent.agent_name,
                platform=agent.agent_platform,
                config=shown_config(agent),
                goals=agent.goals,
            )
            for agent in chosen or list_agents(session, owner.id)
        ]
    sys.stdout.write(write_agents(facts))


@agents.command("import")
def import_them(
    file: Annotated[Path, typer.Argument(help="What `agentic agents export` wrote; - is standard input.")],
    *,
    replace: Annotated[bool, typer.Option("--replace", help="Change agents that are there.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check all of it, and write nothing.")] = False,
    project: InProject = None,
) -> None:
    """Add the agents of a file to a project, all or none; their configs are checked first."""
    from agentic.executors.catalog import put_agent
    from agentic.executors.commands.agent_files import read_agents

    facts = read_agents(_text_of(file), file)
    settings = load_settings()
    with opened(ready_database(settings)) as database, database.writing() as session:
        owner = ensured_project(session, project, settings)
        for one in facts:
            put_agent(session, owner, one, replace=replace)
        name = owner.name
        if dry_run:
            session.rollback()
    done = "would be imported" if dry_run else "imported"
    console.print(f"{len(facts)} agents {done} into project {name}", markup=False, highlight=False)


def _text_of(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is no text"
        raise OptionError(f"{file} cannot be read ({reason}); check the path") from None


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
