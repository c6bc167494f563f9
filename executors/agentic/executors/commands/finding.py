"""How commands find an execution and its agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentic.executors.commands.steering import Desk

if TYPE_CHECKING:
    from agentic.mappers import AgentModel, ExecutionModel

ExecutionId = Annotated[str, typer.Argument(metavar="ID", help="Id of the execution, or how it begins.")]


def find_with_agent(desk: Desk, execution_id: str) -> tuple[ExecutionModel, AgentModel]:
    """Return an execution by how its id begins, and its agent.

    Raises:
        UnknownExecutionError: The project has none.
        ExecutionError: It has several.
    """
    from agentic.executors.catalog import find_by_prefix
    from agentic.mappers import find_agent, find_project

    with desk.database.reading() as session:
        owner = find_project(session, desk.project)
        execution = find_by_prefix(session, owner, execution_id)
        return execution, find_agent(session, owner.id, execution.agent_id)
