"""``agentic projects``: the owners of agents and their data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import print_json, print_rows
from agentic.core.settings import load_settings
from agentic.executors.commands.projects.files import add_files
from agentic.executors.commands.runs.steering import say
from agentic.executors.commands.shared.completing import project_names
from agentic.executors.commands.shared.database import current_database, opened, ready_database
from agentic.executors.commands.shared.options import AsJson, DryRun, OptionError, Yes, checked_name, confirm

if TYPE_CHECKING:
    from agentic.mappers import ProjectModel

projects = typer.Typer(help="Manage projects, with their agents and rows.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The project.", autocompletion=project_names)]
Description = Annotated[str | None, typer.Option(metavar="TEXT", help="Description of the project.")]
MaxRunning = Annotated[
    int | None, typer.Option(min=1, help="Limit of concurrent activations over all workers. Default: none.")
]


@projects.command("list")
def list_them(*, as_json: AsJson = False) -> None:
    """List the projects."""
    from agentic.mappers import list_agents, list_projects

    with opened(current_database(load_settings())) as database, database.reading() as session:
        rows = [
            {**_row(project), "agents": len(list_agents(session, project.id))}
            for project in list_projects(session)
        ]
    columns = ["name", "description", "agents", "max_running", "created_at"]
    print_rows("Projects", columns, rows, as_json=as_json)


@projects.command()
def add(
    name: Annotated[str, typer.Argument(help="Unique name.")],
    *,
    description: Description = None,
    max_running: MaxRunning = None,
    as_json: AsJson = False,
) -> None:
    """Add a project."""
    from agentic.mappers import add_project
    from agentic.mappers.catalog.projects import describe_project, limit_project

    checked_name(name, "a project")
    with opened(ready_database(load_settings())) as database, database.writing() as session:
        project = add_project(session, name)
        if description is not None:
            describe_project(session, project, description)
        if max_running is not None:
            limit_project(session, project, max_running)
    _tell(project, f"added project {name}", as_json=as_json)


@projects.command()
def show(name: Name, *, as_json: AsJson = False) -> None:
    """Show a project and its contents; for secrets, their names."""
    from agentic.executors.commands.shared.views import counts_of_executions, names_of_schedules
    from agentic.executors.projects.facts import count_rows
    from agentic.mappers import find_project, list_agents
    from agentic.mappers.catalog.pipelines import list_pipelines
    from agentic.mappers.vault.vault import list_secrets

    with opened(current_database(load_settings())) as database, database.reading() as session:
        project = find_project(session, name)
        row = {
            **_row(project),
            "agents": [agent.agent_name for agent in list_agents(session, project.id)],
            "pipelines": [f"{kept.name}@{kept.version}" for kept in list_pipelines(session, project.id)],
            "schedules": names_of_schedules(session, project.id),
            "secrets": [secret.name for secret in list_secrets(session, project.id)],
            "executions": counts_of_executions(session, project.id),
            "rows": count_rows(session, project),
        }
    if as_json:
        print_json(row)
    else:
        print_rows(name, ["field", "value"], [{"field": key, "value": value} for key, value in row.items()])


@projects.command()
def edit(
    name: Name,
    *,
    description: Description = None,
    max_running: Annotated[
        int | None, typer.Option(min=1, help="Limit of concurrent activations over all workers.")
    ] = None,
    no_limit: Annotated[bool, typer.Option("--no-limit", help="Remove the limit.")] = False,
    as_json: AsJson = False,
) -> None:
    """Change the description of a project (may be empty) or its limit of concurrent activations."""
    from agentic.mappers import find_project
    from agentic.mappers.catalog.projects import describe_project, limit_project

    if max_running is not None and no_limit:
        raise OptionError("--max-running and --no-limit contradict each other; use one of them")
    if description is None and max_running is None and not no_limit:
        raise OptionError("nothing to change; give --description, --max-running or --no-limit")
    with opened(current_database(load_settings())) as database, database.writing() as session:
        project = find_project(session, name)
        if description is not None:
            describe_project(session, project, description or None)
        if max_running is not None or no_limit:
            limit_project(session, project, max_running)
    _tell(project, f"changed project {name}", as_json=as_json)


@projects.command()
def limit(name: Name, *, max_running: MaxRunning = None, as_json: AsJson = False) -> None:
    """Limit the concurrent activations of a project's durable runs, from the next claim on."""
    from agentic.mappers import find_project
    from agentic.mappers.catalog.projects import limit_project

    with opened(current_database(load_settings())) as database, database.writing() as session:
        project = find_project(session, name)
        limit_project(session, project, max_running)
    said = "without limit" if max_running is None else f"at most {max_running} activations at a time"
    _tell(project, f"runs of project {name}: {said}", as_json=as_json)


@projects.command()
def remove(name: Name, *, dry_run: DryRun = False, yes: Yes = False, as_json: AsJson = False) -> None:
    """Remove a project with its agents, executions, rows of all tables, runs and secrets.

    Refused while runs are active. The audit trail, files and events on NATS stay.
    """
    from agentic.executors.projects.facts import count_owned
    from agentic.mappers import find_project
    from agentic.mappers.catalog.projects import check_idle, remove_project

    with opened(current_database(load_settings())) as database:
        with database.reading() as session:
            project = find_project(session, name)
            check_idle(session, project)
            counts = count_owned(session, project)
        owned = ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "nothing in it"
        if not (yes or dry_run):
            confirm(f"Remove project {name} with {owned}?")
        if not dry_run:
            with database.writing() as session:
                remove_project(session, find_project(session, name), counts)
    if as_json:
        print_json({"name": name, "removed": counts, "dry_run": dry_run})
    else:
        say(f"project {name} {'would be' if dry_run else 'is'} removed, with {owned}")


add_files(projects)


def _row(project: ProjectModel) -> dict[str, object]:
    return {
        "name": project.name,
        "description": project.description,
        "max_running": project.max_running,
        "created_at": project.created_at.strftime("%Y-%m-%d %H:%M:%SZ"),
        "id": project.id,
    }


def _tell(project: ProjectModel, line: str, *, as_json: bool) -> None:
    if as_json:
        print_json(_row(project))
    else:
        say(line)
