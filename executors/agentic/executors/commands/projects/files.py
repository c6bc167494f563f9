"""``agentic projects export`` and ``import``: a whole project as one file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import print_json
from agentic.core.settings import load_settings
from agentic.executors.commands.runs.steering import say
from agentic.executors.commands.shared.completing import project_names
from agentic.executors.commands.shared.database import current_database, opened, ready_database
from agentic.executors.commands.shared.options import AsJson, DryRun, checked_name, read_file

if TYPE_CHECKING:
    from agentic.executors.projects.importing import ImportedChange


def add_files(projects: typer.Typer) -> None:
    """Add the commands to ``agentic projects``."""
    projects.command("export")(export_it)
    projects.command("import")(import_it)


def export_it(
    name: Annotated[str, typer.Argument(help="The project.", autocompletion=project_names)],
    *,
    as_json: AsJson = False,
) -> None:
    """Export a project as YAML: agents, pipelines, schedules, and names of secrets."""
    from agentic.executors.projects.facts import told_project
    from agentic.executors.projects.files import write_project
    from agentic.mappers import find_project

    with opened(current_database(load_settings())) as database, database.reading() as session:
        content = told_project(session, find_project(session, name))
    if as_json:
        print_json(content)
    else:
        sys.stdout.write(write_project(content))


def import_it(
    file: Annotated[Path, typer.Argument(help="File of `agentic projects export`; - is standard input.")],
    *,
    name: Annotated[
        str | None,
        typer.Option("--as", metavar="NAME", help="Target project. Default: the project in the file."),
    ] = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Import a project file, all or nothing; parts missing in the file stay."""
    from agentic.executors.projects.files import read_project
    from agentic.executors.projects.importing import import_project
    from agentic.mappers import find_project
    from agentic.mappers.vault.vault import missing_secrets

    source = "standard input" if str(file) == "-" else str(file)
    if name is not None:
        checked_name(name, "a project")
    read = read_project(read_file(file), source)
    with opened(ready_database(load_settings())) as database, database.writing() as session:
        changes = import_project(session, read, name)
        owner = find_project(session, changes[0].name)
        missing = missing_secrets(session, owner.id, read.content.secrets)
        if dry_run:
            session.rollback()
    if as_json:
        told = [asdict(change) for change in changes]
        project = changes[0].name
        print_json({"project": project, "changes": told, "missing_secrets": missing, "dry_run": dry_run})
    else:
        _say(changes, missing, dry_run=dry_run)


def _say(changes: Sequence[ImportedChange], missing: Sequence[str], *, dry_run: bool) -> None:
    differing = [change for change in changes if change.outcome != "unchanged"]
    for change in changes:
        if change.outcome != "unchanged" or change.left_out:
            say(str(change))
    counted = f"{len(differing)} changes, {len(changes) - len(differing)} parts unchanged"
    say(f"nothing was written; the import makes {counted}" if dry_run else counted)
    for name in missing:
        say(f"secret {name} is missing: run `agentic secrets set {name}`")
