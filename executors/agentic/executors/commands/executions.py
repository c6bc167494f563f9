"""``agentic executions``: what was run, what runs, and what is to be run again."""

from __future__ import annotations

from typing import Annotated

import typer

from agentic.core.cli import print_json, print_rows
from agentic.core.types import RunId
from agentic.executors.commands.execution_changes import add_changes
from agentic.executors.commands.execution_choice import Choice, OfAgent, OfPlatform, Since, WithStatus
from agentic.executors.commands.finding import ExecutionId, find_with_agent
from agentic.executors.commands.options import AsJson, InProject
from agentic.executors.commands.steering import opened_desk
from agentic.executors.commands.watching import Every, Once, watch_run

executions = typer.Typer(help="Executions: runs of agents.", no_args_is_help=True)

COLUMNS = ("short_id", "agent", "state", "rows", "started_at")
HIDDEN = frozenset({"short_id", "status", "inserted", "updated", "unchanged", "rejected"})


@executions.command("list")
def list_them(  # noqa: PLR0913  # one parameter for each option
    *,
    agent: OfAgent = None,
    platform: OfPlatform = None,
    status: WithStatus = None,
    since: Since = None,
    limit: Annotated[int, typer.Option(min=1, help="The newest so many.")] = 20,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """List the executions of a project, the newest first."""
    from agentic.executors.commands.views import execution_row
    from agentic.mappers import list_agents
    from agentic.mappers.execution_choice import choose_executions
    from agentic.mappers.ledger_reading import LedgerReader

    choice = Choice(agent=agent, platform=platform, statuses=status, since=since)
    with opened_desk(project) as desk:
        wanted = choice.filter(desk)
        with desk.database.reading() as session:
            names = {each.id: each.agent_name for each in list_agents(session, desk.project_id)}
            found = choose_executions(session, desk.project_id, wanted, limit)
            runs = LedgerReader(session, desk.project_id).named([RunId(each.id) for each in found])
            rows = [execution_row(each, names[each.agent_id], runs.get(RunId(each.id))) for each in found]
    print_rows(f"Executions of {desk.project}", COLUMNS, rows, as_json=as_json)


@executions.command()
def show(execution_id: ExecutionId, *, project: InProject = None, as_json: AsJson = False) -> None:
    """Show an execution, with the short form of its result."""
    from agentic.executors.commands.views import execution_row, result_of
    from agentic.mappers.ledger_reading import LedgerReader

    with opened_desk(project) as desk:
        execution, agent = find_with_agent(desk, execution_id)
        run_id = RunId(execution.id)
        with desk.database.reading() as session:
            result = result_of(session, execution)
            run = LedgerReader(session, desk.project_id).named([run_id]).get(run_id)
    row = {**execution_row(execution, agent.agent_name, run), "result": result}
    if as_json:
        print_json(row)
    else:
        facts = [{"field": key, "value": value} for key, value in row.items() if key not in HIDDEN]
        print_rows("Execution", ["field", "value"], facts)


@executions.command()
def watch(
    execution_id: ExecutionId,
    *,
    once: Once = False,
    every: Every = 0.5,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Show an execution while it goes on, until it ends; exit code 1 unless it completes."""
    with opened_desk(project) as desk:
        execution, _ = find_with_agent(desk, execution_id)
        watch_run(desk, RunId(execution.id), once=once, every_s=every, as_json=as_json)


add_changes(executions)
