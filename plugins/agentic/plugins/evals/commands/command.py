"""``agentic evals``: runs, shows and compares evaluations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from agentic.core.cli import print_json, print_line, print_sample
from agentic.core.evals.comparing import compare
from agentic.core.evals.results import CaseResult
from agentic.core.evals.spec import eval_schema
from agentic.core.ids import SHORT_CHARS
from agentic.core.settings import load_settings
from agentic.executors.commands.shared.database import current_database, opened
from agentic.executors.commands.shared.options import AsJson, InProject, OptionError, Yes, confirm
from agentic.mappers import find_project
from agentic.plugins.evals.commands.running import run
from agentic.plugins.evals.commands.runs import EvalRun, find_run, list_runs
from agentic.plugins.evals.commands.showing import (
    comparison_data,
    print_case,
    print_comparison,
    print_run,
    run_data,
)
from agentic.plugins.evals.rows import delete_results, read_results, result_of

WORSE_EXIT_CODE = 1
Run = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="Evaluation, for its newest run; NAME~1 for the run before; or an execution id or prefix.",
    ),
]

evals = typer.Typer(
    help="Evaluate agents, actors, pipelines and functions: run, show and compare.", no_args_is_help=True
)
evals.command()(run)


@evals.command("list")
def list_them(
    *,
    name: Annotated[str | None, typer.Option("--eval", metavar="NAME", help="Filter by evaluation.")] = None,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """List runs of evaluations, newest first."""
    settings = load_settings()
    with opened(current_database(settings)) as database, database.reading() as session:
        owner = find_project(session, project or settings.project)
        rows = [one.facts() for one in list_runs(session, owner.id, name)]
    title = f"Runs of evaluations of {owner.name}"
    if as_json:
        print_json(rows)
        return
    columns = ("run", "evaluation", "passed", "failed", "usd", "began_at", "model")
    print_sample(title, columns, [_for_people(row) for row in rows])


def _for_people(row: Mapping[str, Any]) -> dict[str, object]:
    moment = row["began_at"].astimezone().strftime("%m-%d %H:%M")
    passed = f"{row['passed']} of {row['tries']}"
    return {**row, "run": row["run"][:SHORT_CHARS], "passed": passed, "began_at": moment}


@evals.command()
def show(
    run: Run,
    *,
    case: Annotated[
        str | None, typer.Option(metavar="ID", help="Show this case whole: input, answer, reasons.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="List all tries, also those that passed.")
    ] = False,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Show the result of a run: averages, and the cases that did not pass."""
    found, results = _read(run, project)
    if case is not None:
        chosen = [result for result in results if result.case_id == case]
        if not chosen:
            raise OptionError(f"--case: the run has no case {case!r}; see `agentic evals show {run} --all`")
        if as_json:
            print_json([result.model_dump(mode="json") for result in chosen])
        else:
            for result in chosen:
                print_case(result)
    elif as_json:
        print_json(run_data(found, results))
    else:
        print_run(found, results, shows_all=everything)


@evals.command("compare")
def compare_them(
    before: Run,
    after: Run,
    *,
    fail_if_worse: Annotated[
        float | None,
        typer.Option(
            "--fail-if-worse",
            metavar="SHARE",
            min=0.0,
            help="Exit code 1 if an average of the second run is lower by more than this; 0 for any loss.",
        ),
    ] = None,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Compare two runs: averages, costs, and the cases that got worse or better."""
    first, left = _read(before, project)
    second, right = _read(after, project)
    found = compare(left, right)
    if as_json:
        print_json(comparison_data(first, second, found))
    else:
        print_comparison(first, second, found)
    lost = [
        value.name for value in found.scores if (value.difference or 0.0) < -(fail_if_worse or 0.0) - 1e-9
    ]
    if fail_if_worse is not None and lost:
        raise typer.Exit(WORSE_EXIT_CODE)


@evals.command("delete")
def delete_it(run: Run, *, yes: Yes = False, project: InProject = None) -> None:
    """Delete the rows of a run; its execution stays until `agentic executions remove`."""
    found, results = _read(run, project)
    what = f"{len(results)} rows of run {found.id[:SHORT_CHARS]} of {found.evaluation}"
    if not yes:
        confirm(f"Delete {what}? This cannot be undone.")
    settings = load_settings()
    with opened(current_database(settings)) as database, database.writing() as session:
        delete_results(session, find_project(session, project or settings.project).id, found.id)
    print_line(f"deleted {what}")


@evals.command()
def schema() -> None:
    """Print the JSON Schema of evaluations, for editors."""
    print_json(eval_schema())


def _read(run: str, project: str | None) -> tuple[EvalRun, Sequence[CaseResult]]:
    """Return a run and its results.

    Raises:
        OptionError: The run does not exist, or has no results yet.
    """
    settings = load_settings()
    with opened(current_database(settings)) as database, database.reading() as session:
        owner = find_project(session, project or settings.project)
        found = find_run(session, owner, run)
        results = [result_of(row) for row in read_results(session, owner.id, found.id)]
    if not results:
        raise OptionError(f"run {found.id[:SHORT_CHARS]} has no results yet; wait for it, or resume it")
    return found, results
