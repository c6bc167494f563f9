"""``agentic executions``: what was run, what runs, and what is to be run again."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import print_json, print_rows
from agentic.core.types import RunId
from agentic.executors.commands.finding import ExecutionId, find_with_agent
from agentic.executors.commands.options import AsJson, By, Dispatcher, InProject
from agentic.executors.commands.running import checked_dispatcher, print_queued, run_here
from agentic.executors.commands.runs import Reason, cancel_run
from agentic.executors.commands.steering import opened_desk
from agentic.executors.commands.watching import Every, Once, watch_run

if TYPE_CHECKING:
    from agentic.executors.durable.service import RunService
    from agentic.mappers import AgentModel, ExecutionModel

executions = typer.Typer(help="Executions: runs of agents.", no_args_is_help=True)

COLUMNS = ("short_id", "agent", "state", "rows", "started_at")
HIDDEN = frozenset({"short_id", "status", "inserted", "updated", "unchanged", "rejected"})


@executions.command("list")
def list_them(
    *,
    limit: Annotated[int, typer.Option(min=1, help="The newest so many.")] = 20,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """List the executions of a project, the newest first."""
    from agentic.executors.commands.views import execution_row
    from agentic.mappers import list_agents, list_executions
    from agentic.mappers.ledger_reading import LedgerReader

    with opened_desk(project) as desk, desk.database.reading() as session:
        names = {agent.id: agent.agent_name for agent in list_agents(session, desk.project_id)}
        found = list_executions(session, desk.project_id, limit)
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
def retry(
    execution_id: ExecutionId,
    *,
    project: InProject = None,
    dispatcher: By = Dispatcher.LOCAL,
    as_json: AsJson = False,
) -> None:
    """Let an execution that failed or was cancelled go on where it stands; it keeps its id."""
    with opened_desk(project) as desk:
        execution, agent = find_with_agent(desk, execution_id)
        if dispatcher is Dispatcher.CELERY:
            checked_dispatcher(desk.settings)
            desk.decide(partial(_go_on, execution=execution, agent=agent))
            print_queued(execution, agent, as_json=as_json)
        else:
            run_here(agent, execution, database=desk.database, settings=desk.settings, as_json=as_json)


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


@executions.command()
def cancel(
    execution_id: ExecutionId, *, reason: Reason = "cancelled by hand", project: InProject = None
) -> None:
    """End an execution; what is at work on it is told within seconds."""
    with opened_desk(project) as desk:
        execution, agent = find_with_agent(desk, execution_id)
        desk.decide(partial(_begun, execution=execution, agent=agent))
        cancel_run(desk, RunId(execution.id), reason)


async def _begun(service: RunService, execution: ExecutionModel, agent: AgentModel) -> bool:
    """Begin the run of an execution, if nobody has; return whether that was so."""
    from agentic.executors.runner import take_up

    run = await service.host.lane.do(lambda ledger: ledger.run(RunId(execution.id)))
    if run is None:
        await take_up(service, execution, agent)
    return run is None


async def _go_on(service: RunService, execution: ExecutionModel, agent: AgentModel) -> None:
    """Let the run of an execution begin, or go on."""
    from agentic.executors.durable.control import retry as run_again

    if not await _begun(service, execution, agent):
        await run_again(service.host, RunId(execution.id))
