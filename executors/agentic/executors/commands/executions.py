"""``agentic executions``: what was run, what runs, and what is to be run again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import print_json, print_rows
from agentic.core.settings import load_settings
from agentic.executors.commands.database import current_database, opened
from agentic.executors.commands.options import AsJson, By, Dispatcher, InProject
from agentic.executors.commands.running import checked_dispatcher, print_queued, run_here

if TYPE_CHECKING:
    from agentic.mappers import AgentModel, Database, ExecutionModel

executions = typer.Typer(help="Executions: runs of agents.", no_args_is_help=True)

COLUMNS = ("short_id", "agent", "state", "rows", "started_at")
HIDDEN = frozenset({"short_id", "status", "inserted", "updated", "unchanged", "rejected"})

ExecutionId = Annotated[str, typer.Argument(metavar="ID", help="Id of the execution, or how it begins.")]


@executions.command("list")
def list_them(
    *,
    limit: Annotated[int, typer.Option(min=1, help="The newest so many.")] = 20,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """List the executions of a project, the newest first."""
    from agentic.executors.commands.views import execution_row
    from agentic.mappers import find_project, list_agents, list_executions, utc_now

    settings = load_settings()
    with opened(current_database(settings)) as database, database.reading() as session:
        owner = find_project(session, project or settings.project)
        names = {agent.id: agent.agent_name for agent in list_agents(session, owner.id)}
        found = list_executions(session, owner.id, limit)
        rows = [execution_row(each, names[each.agent_id], utc_now()) for each in found]
    print_rows(f"Executions of {owner.name}", COLUMNS, rows, as_json=as_json)


@executions.command()
def show(execution_id: ExecutionId, *, project: InProject = None, as_json: AsJson = False) -> None:
    """Show an execution, with the short form of its result."""
    from agentic.executors.commands.views import execution_row, result_of
    from agentic.mappers import utc_now

    settings = load_settings()
    with opened(current_database(settings)) as database:
        execution, agent = _find(database, project or settings.project, execution_id)
        with database.reading() as session:
            result = result_of(session, execution)
    row = {**execution_row(execution, agent.agent_name, utc_now()), "result": result}
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
    """Run an execution again that failed or was lost; it keeps its id."""
    from agentic.executors.commands.views import refuse_unless_runnable

    settings = load_settings()
    with opened(current_database(settings)) as database:
        execution, agent = _find(database, project or settings.project, execution_id)
        refuse_unless_runnable(execution)
        if dispatcher is Dispatcher.CELERY:
            checked_dispatcher(settings).dispatch(execution, agent)
            print_queued(execution, agent, as_json=as_json)
        else:
            run_here(agent, execution, database=database, settings=settings, as_json=as_json)


def _find(database: Database, project: str, execution_id: str) -> tuple[ExecutionModel, AgentModel]:
    from agentic.executors.catalog import find_by_prefix
    from agentic.mappers import find_agent, find_project

    with database.reading() as session:
        owner = find_project(session, project)
        execution = find_by_prefix(session, owner, execution_id)
        return execution, find_agent(session, owner.id, execution.agent_id)
