"""How the end of a run is printed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from agentic.core.cli import console, print_json, print_sample
from agentic.core.hooks import get_registry
from agentic.executors.errors import ExecutionFailedError

if TYPE_CHECKING:
    from agentic.executors.commands.stored import StoredRows
    from agentic.executors.runner import ExecutionOutcome
    from agentic.mappers import AgentModel, Database

SHOWN_ROWS = 10


def print_outcome(outcome: ExecutionOutcome, *, agent: AgentModel, database: Database, as_json: bool) -> None:
    """Print what a run stored: some of the rows, all counts, and where they are.

    Raises:
        ExecutionFailedError: The run failed.
    """
    from agentic.executors.commands.stored import stored_rows
    from agentic.mappers import find_execution

    with database.reading() as session:
        execution = find_execution(session, agent.project_id, outcome.execution_id)
        platform = get_registry().platforms.get(agent.agent_platform)
        tables = stored_rows(session, platform, execution, SHOWN_ROWS) if platform else []
    if as_json:
        print_json(_as_data(outcome, agent, database, tables))
    else:
        _print_tables(tables)
        _print_facts(outcome, agent, database)
    if outcome.error is not None:
        raise ExecutionFailedError(outcome.error)


def _as_data(
    outcome: ExecutionOutcome, agent: AgentModel, database: Database, tables: list[StoredRows]
) -> dict[str, object]:
    return {
        **outcome.to_dict(),
        "agent": agent.agent_name,
        "project": agent.project.name,
        "platform": agent.agent_platform,
        "warnings": list(outcome.warnings),
        "database": database.url,
        "tables": {table.table: {"total": table.total, "rows": table.rows} for table in tables},
    }


def _print_tables(tables: list[StoredRows]) -> None:
    for table in tables:
        shown = f"first {len(table.rows)} of {table.total}" if table.total > len(table.rows) else table.total
        print_sample(f"{table.table} ({shown})", table.columns, table.rows)


def _print_facts(outcome: ExecutionOutcome, agent: AgentModel, database: Database) -> None:
    from agentic.executors.commands.views import counted

    facts = {
        "agent": f"{agent.agent_name} ({agent.agent_platform}, project {agent.project.name})",
        "execution": f"{outcome.execution_id} {outcome.status}",
        "rows": counted(asdict(outcome.counts)) or "none",
        "run": f"{outcome.superstep_count} supersteps, {outcome.event_count} events",
        "database": database.url,
    }
    for warning in outcome.warnings[:SHOWN_ROWS]:
        console.print(f"warning: {warning}", style="yellow", markup=False, highlight=False)
    if (more := len(outcome.warnings) - SHOWN_ROWS) > 0:
        console.print(f"... and {more} more warnings", style="yellow", highlight=False)
    for name, fact in facts.items():
        console.print(f"{name:>10}  {fact}", markup=False, highlight=False, soft_wrap=True)
