"""``agentic dead-letters``: failed items that wait for review or a retry."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import console, err_console, print_json, print_rows
from agentic.core.ids import SHORT_CHARS
from agentic.core.settings import load_settings
from agentic.executors.commands.runs.steering import opened_desk, say
from agentic.executors.commands.shared.database import current_database, opened
from agentic.executors.commands.shared.finding import ExecutionId
from agentic.executors.commands.shared.options import AsJson, By, DispatcherKind, InProject

if TYPE_CHECKING:
    from agentic.mappers.tables.core import DeadLetterModel

dead_letters = typer.Typer(help="Manage dead letters (items that failed for good).", no_args_is_help=True)


@dead_letters.command("list")
def list_them(
    *,
    limit: Annotated[int, typer.Option(min=1, help="Show the latest N.")] = 50,
    after: Annotated[str | None, typer.Option(metavar="ID", help="Last id of the previous page.")] = None,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """List dead letters (`then: dead_letter`), newest first; --json has every attempt."""
    from agentic.mappers import find_project
    from agentic.mappers.catalog.dead_letters import find_dead_letter, list_dead_letters

    settings = load_settings()
    with opened(current_database(settings)) as database, database.reading() as session:
        owner = find_project(session, project or settings.project)
        last = None if after is None else find_dead_letter(session, owner.id, after)
        rows = [_row(letter) for letter in list_dead_letters(session, owner.id, limit, after=last)]
    columns = ["id", "pipeline", "step", "item", "failure_class", "message"]
    print_rows(f"Dead letters of {owner.name}", columns, rows, as_json=as_json)


@dead_letters.command()
def retry(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="Ids from `agentic dead-letters list`."),
    ] = None,
    *,
    execution: Annotated[
        str | None, typer.Option(metavar="ID", help="Dead letters of this execution: id or unique prefix.")
    ] = None,
    is_all: Annotated[bool, typer.Option("--all", help="Dead letters of all executions.")] = False,
    project: InProject = None,
    dispatcher: By = DispatcherKind.LOCAL,
    as_json: AsJson = False,
) -> None:
    """Fetch dead-letter pages of crawls again; fetched pages leave the list.

    Each execution with dead letters gets a new one, which continues where its
    crawl ended.
    """
    from agentic.executors.commands.executions import dead_letter_retries

    choice = dead_letter_retries.DeadLetterSelection(ids=ids or (), execution=execution, is_all=is_all)
    with opened_desk(project) as desk:
        found = dead_letter_retries.sort_dead_letters(desk, choice)
        for hint in found.hints():
            err_console.print(hint, style="yellow", markup=False, highlight=False, soft_wrap=True)
        retried = list(dead_letter_retries.retry(desk, found, dispatcher, quiet=as_json))
    if as_json:
        print_json([asdict(one) for one in retried])
    else:
        for one in retried:
            say(str(one))


@dead_letters.command()
def drop(
    execution: ExecutionId,
    *,
    project: InProject = None,
) -> None:
    """Drop the dead letters of an execution after you have read them."""
    from agentic.executors.agents.catalog import find_by_prefix
    from agentic.mappers import find_project
    from agentic.mappers.catalog.dead_letters import drop_dead_letters

    settings = load_settings()
    with opened(current_database(settings)) as database, database.writing() as session:
        owner = find_project(session, project or settings.project)
        found = find_by_prefix(session, owner, execution)
        count = drop_dead_letters(session, owner.id, found.id)
    console.print(f"dropped {count} of execution {found.id[:SHORT_CHARS]}", markup=False, highlight=False)


def _row(letter: DeadLetterModel) -> dict[str, object]:
    from agentic.mappers.catalog.dead_letters import dead_letter_id

    return {
        "id": dead_letter_id(letter),
        "execution": letter.execution_id[:SHORT_CHARS],
        "execution_id": letter.execution_id,
        "pipeline": letter.pipeline,
        "step": letter.step,
        "item": letter.item,
        "failure_class": letter.failure_class,
        "message": letter.message,
        "tries": letter.tries,
        "created_at": letter.created_at,
    }
