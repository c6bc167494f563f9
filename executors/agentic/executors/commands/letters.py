"""``agentic letters``: items that were given up and wait to be looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import console, print_rows
from agentic.core.settings import load_settings
from agentic.executors.commands.database import current_database, opened
from agentic.executors.commands.finding import ExecutionId
from agentic.executors.commands.options import AsJson, InProject

if TYPE_CHECKING:
    from agentic.mappers.models import DeadLetterModel

letters = typer.Typer(help="Dead letters: items that were given up.", no_args_is_help=True)


@letters.command("list")
def list_them(
    *,
    limit: Annotated[int, typer.Option(min=1, help="The newest so many.")] = 50,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """List what rules with `then: dead_letter` have kept, the newest first; every try is in the JSON."""
    from agentic.mappers import find_project
    from agentic.mappers.dead_letters import list_letters

    settings = load_settings()
    with opened(current_database(settings)) as database, database.reading() as session:
        owner = find_project(session, project or settings.project)
        rows = [_row(letter) for letter in list_letters(session, owner.id, limit)]
    columns = ["execution", "pipeline", "step", "item", "failure_class", "message"]
    print_rows(f"Dead letters of {owner.name}", columns, rows, as_json=as_json)


@letters.command()
def drop(
    execution: ExecutionId,
    *,
    project: InProject = None,
) -> None:
    """Drop the dead letters of an execution, once they were looked at."""
    from agentic.executors.catalog import find_by_prefix
    from agentic.mappers import find_project
    from agentic.mappers.dead_letters import drop_letters

    settings = load_settings()
    with opened(current_database(settings)) as database, database.writing() as session:
        owner = find_project(session, project or settings.project)
        found = find_by_prefix(session, owner, execution)
        count = drop_letters(session, owner.id, found.id)
    console.print(f"dropped {count} of execution {found.id[:8]}", markup=False, highlight=False)


def _row(letter: DeadLetterModel) -> dict[str, object]:
    return {
        "execution": letter.execution_id[:8],
        "execution_id": letter.execution_id,
        "pipeline": letter.pipeline,
        "step": letter.step,
        "item": letter.item,
        "failure_class": letter.failure_class,
        "message": letter.message,
        "tries": letter.tries,
        "created_at": letter.created_at,
    }
