"""Finds an execution and its agent for commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.types import RunId
from agentic.executors.commands.runs.steering import Desk
from agentic.executors.commands.shared.completing import execution_ids
from agentic.executors.commands.shared.options import OptionError
from agentic.executors.errors import ExecutionNotRunnableError

if TYPE_CHECKING:
    from agentic.mappers import AgentModel, Database, ExecutionModel


class AgentChangedError(ExecutionNotRunnableError):
    """An execution cannot continue because its agent or inputs have changed since it began."""


ExecutionId = Annotated[
    str,
    typer.Argument(metavar="ID", help="Execution id or unique prefix.", autocompletion=execution_ids),
]


def find_with_agent(desk: Desk, execution_id: str) -> tuple[ExecutionModel, AgentModel]:
    """Return an execution by an id prefix, and its agent.

    Raises:
        UnknownExecutionError: None in the project matches.
        ExecutionError: Several match.
        OptionError: The id is empty.
    """
    from agentic.executors.agents.catalog import find_by_prefix
    from agentic.mappers import find_agent, find_project

    if not execution_id:  # every id begins with it
        raise OptionError("the id is empty; give an id or prefix, see `agentic executions list`")
    with desk.database.reading() as session:
        owner = find_project(session, desk.project)
        execution = find_by_prefix(session, owner, execution_id)
        return execution, find_agent(session, owner.id, execution.agent_id)


def find_unfinished(database: Database, agent: AgentModel) -> ExecutionModel | None:
    """Return the newest execution of an agent to continue; None without one, or if all its steps have run.

    Raises:
        AgentChangedError: The agent has changed since that execution began.
    """
    from agentic.executors.agents.workflows import flow_name
    from agentic.mappers import list_executions
    from agentic.mappers.runs.reading import LedgerReader

    with database.reading() as session:
        newest = list_executions(session, agent.project_id, 1, agent_id=agent.id)
        execution = newest[0] if newest else None
        if execution is None or execution.has_all_results:
            return None
        run_id = RunId(execution.id)
        run = LedgerReader(session, agent.project_id).named([run_id]).get(run_id)
    if run is not None and run.workflow != flow_name(agent):
        raise AgentChangedError(
            execution.id,
            "its agent or inputs changed since then; add --as-changed to fetch its remaining and failed "
            "pages with the changed agent, with --reread also to read its stored pages again; or run without "
            "--resume to start over",
        )
    return execution
