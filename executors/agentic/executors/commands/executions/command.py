"""``agentic executions``: past and running executions, and retries."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import err_console, print_json, print_rows
from agentic.core.cli.later import add_command_at
from agentic.core.terminal import harmless
from agentic.core.types import RunId
from agentic.executors.commands.executions.choice import (
    ExecutionSelection,
    OfAgent,
    OfPlatform,
    Since,
    WithStatus,
)
from agentic.executors.commands.run.outcome import PARTIAL_EXIT_CODE
from agentic.executors.commands.runs.steering import Desk, opened_desk
from agentic.executors.commands.runs.views import minute
from agentic.executors.commands.runs.watching import Every, Once, watch_run
from agentic.executors.commands.shared.finding import ExecutionId, find_with_agent
from agentic.executors.commands.shared.options import AsJson, InProject
from agentic.executors.commands.shared.statuses import STATUS_STYLES

if TYPE_CHECKING:
    from agentic.mappers import ExecutionModel

executions = typer.Typer(help="Manage executions (runs of agents).", no_args_is_help=True)

COLUMNS = ("short_id", "agent", "state", "rows", "started")


@executions.command("list")
def list_them(  # noqa: PLR0913  # one parameter for each option
    *,
    agent: OfAgent = None,
    platform: OfPlatform = None,
    status: WithStatus = None,
    since: Since = None,
    limit: Annotated[int, typer.Option(min=1, help="Show the latest N.")] = 20,
    after: Annotated[str | None, typer.Option(metavar="ID", help="Last id of the previous page.")] = None,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """List the executions of a project, newest first."""
    from agentic.executors.commands.shared.views import execution_row
    from agentic.mappers import list_agents
    from agentic.mappers.catalog.execution_choice import choose_executions
    from agentic.mappers.catalog.execution_counts import counts_so_far
    from agentic.mappers.runs.reading import LedgerReader

    choice = ExecutionSelection(agent=agent, platform=platform, statuses=status, since=since)
    with opened_desk(project) as desk:
        wanted = choice.filter(desk)
        last = None if after is None else find_with_agent(desk, after)[0]
        with desk.database.reading() as session:
            names = {each.id: each.agent_name for each in list_agents(session, desk.project_id)}
            found = choose_executions(session, desk.project_id, wanted, limit, after=last)
            runs = LedgerReader(session, desk.project_id).named([RunId(each.id) for each in found])
            counts = counts_so_far(session, desk.project_id, found)
            rows = [
                execution_row(each, names[each.agent_id], runs.get(RunId(each.id)), counts[each.id])
                for each in found
            ]
    shown = rows if as_json else [{**row, "started": minute(row["started_at"])} for row in rows]
    styles = [STATUS_STYLES.get(str(row["status"])) for row in rows]
    print_rows(f"Executions of {desk.project}", COLUMNS, shown, as_json=as_json, styles={"state": styles})


@executions.command()
def show(execution_id: ExecutionId, *, project: InProject = None, as_json: AsJson = False) -> None:
    """Show an execution: settings, rows, failures by class, and next steps."""
    from agentic.executors.commands.executions.page import execution_page
    from agentic.executors.commands.shared.proxies import proxy_data
    from agentic.executors.commands.shared.views import execution_row, result_of
    from agentic.mappers.catalog.execution_counts import counts_so_far, proxies_so_far
    from agentic.mappers.runs.reading import LedgerReader

    with opened_desk(project) as desk:
        execution, agent = find_with_agent(desk, execution_id)
        run_id = RunId(execution.id)
        with desk.database.reading() as session:
            result = result_of(session, execution)
            counts = counts_so_far(session, desk.project_id, [execution])[execution.id]
            run = LedgerReader(session, desk.project_id).named([run_id]).get(run_id)
            proxies = proxies_so_far(session, execution)
        row = {**execution_row(execution, agent.agent_name, run, counts), "result": result}
        if as_json:
            print_json({**row, **proxy_data(proxies)})
        else:
            execution_page(desk, execution, agent, row, proxies).print()


@executions.command()
def watch(
    execution_id: ExecutionId,
    *,
    once: Once = False,
    every: Every = 0.5,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Show the progress of an execution until it ends; exit code 4 if partial, 1 if failed."""
    with opened_desk(project) as desk:
        execution, _ = find_with_agent(desk, execution_id)
        if not once and _has_not_begun(desk, execution.id):
            line = f"execution {execution.id} waits for a worker; `agentic doctor` says whether one runs"
            err_console.print(line, markup=False, highlight=False, soft_wrap=True)
            while _has_not_begun(desk, execution.id):
                time.sleep(every)
        watch_run(desk, RunId(execution.id), once=once, every_s=every, as_json=as_json)
        if not once:
            _end_by_outcome(find_with_agent(desk, execution.id)[0])


def _has_not_begun(desk: Desk, execution_id: str) -> bool:
    """Whether an execution still waits for a worker: until then the ledger has no run of it."""
    from agentic.mappers.runs.reading import LedgerReader

    run_id = RunId(execution_id)
    with desk.database.reading() as session:
        if LedgerReader(session, desk.project_id).named([run_id]):
            return False
    return find_with_agent(desk, execution_id)[0].finished_at is None


def _end_by_outcome(execution: ExecutionModel) -> None:
    """Print why results are incomplete, and end with the exit code for that."""
    if execution.reason is None:
        return
    line = harmless(f"{execution.status}: {execution.reason}")
    err_console.print(line, style=STATUS_STYLES[execution.status], markup=False, highlight=False)
    raise typer.Exit(PARTIAL_EXIT_CODE if execution.status == "partial" else 1)


_LATER = {
    "pages": (
        "failed_pages:pages",
        "List the pages that the crawl of an execution knows: waiting, done or failed.",
    ),
    "failures": (
        "failed_pages:failures",
        "List all failed pages of an execution by failure class, with the reason.",
    ),
    "retry": (
        "changes:retry",
        "Continue failed or cancelled executions where they stopped, under the same id.",
    ),
    "cancel": (
        "changes:cancel",
        "Cancel queued or running executions; running steps are notified within seconds.",
    ),
    "remove": (
        "changes:remove",
        "Remove ended executions with result, run and dead letters; platform rows stay.",
    ),
    "export": (
        "exporting:export",
        "Export the rows of an execution to a file or standard output, or of several to a folder.",
    ),
    "report": (
        "report:report",
        "Write an HTML report of an execution: figures, plots, failures, changes, sample rows.",
    ),
    "changes": (
        "report:changes",
        "Show which pages of a crawl are new, changed or gone since the previous crawl.",
    ),
}
"""Name -> place in this package, and help, of the commands that list and show do not need."""

for _name, (_place, _summary) in _LATER.items():
    add_command_at(executions, f"{__package__}.{_place}", name=_name, help=_summary)
