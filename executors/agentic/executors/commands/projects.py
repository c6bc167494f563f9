"""``agentic projects``: who owns agents and what they store."""

from __future__ import annotations

from typing import Annotated

import typer

from agentic.core.cli import console, print_json, print_rows
from agentic.core.settings import load_settings
from agentic.executors.commands.database import current_database, opened, ready_database
from agentic.executors.commands.options import AsJson

projects = typer.Typer(help="Projects: each owns its agents and their rows.", no_args_is_help=True)


@projects.command("list")
def list_them(*, as_json: AsJson = False) -> None:
    """List the projects."""
    from agentic.mappers import list_agents, list_projects

    with opened(current_database(load_settings())) as database, database.reading() as session:
        rows = [
            {
                "name": project.name,
                "agents": len(list_agents(session, project.id)),
                "max_running": project.max_running,
                "created_at": project.created_at.strftime("%Y-%m-%d %H:%M:%SZ"),
                "id": project.id,
            }
            for project in list_projects(session)
        ]
    print_rows("Projects", ["name", "agents", "max_running", "created_at"], rows, as_json=as_json)


@projects.command()
def add(name: Annotated[str, typer.Argument(help="Unique name.")], *, as_json: AsJson = False) -> None:
    """Add a project."""
    from agentic.mappers import add_project

    with opened(ready_database(load_settings())) as database, database.writing() as session:
        project = add_project(session, name)
    if as_json:
        print_json({"name": project.name, "id": project.id})
    else:
        console.print(f"added project {name}", markup=False, highlight=False)


@projects.command()
def limit(
    name: Annotated[str, typer.Argument(help="The project.")],
    *,
    max_running: Annotated[
        int | None, typer.Option(min=1, help="Activations at a time, over all workers; left out, no limit.")
    ] = None,
) -> None:
    """Say how much of a project's durable runs may go on at a time, from the next claim on."""
    from agentic.mappers import find_project
    from agentic.mappers.catalog import limit_project

    with opened(current_database(load_settings())) as database, database.writing() as session:
        limit_project(session, find_project(session, name), max_running)
    said = "without limit" if max_running is None else f"with at most {max_running} activations at a time"
    console.print(f"the runs of project {name} go on {said}", markup=False, highlight=False)
