"""Runs an agent for a command: here, or by a Celery worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.cli import console, print_json
from agentic.core.settings import Settings
from agentic.executors.commands.outcome import print_outcome
from agentic.executors.errors import ExecutionNotRunnableError

if TYPE_CHECKING:
    from agentic.executors.dispatch import CeleryDispatcher
    from agentic.mappers import AgentModel, Database, ExecutionModel


def run_here(
    agent: AgentModel,
    execution: ExecutionModel | None = None,
    *,
    database: Database,
    settings: Settings,
    as_json: bool,
) -> None:
    """Run an agent in this process, with progress on standard error, and print what it gave.

    Args:
        agent: The agent.
        execution: One of its executions, to be run (again); a new one when left out.
        database: Holds both.
        settings: Of this process.
        as_json: For scripts.

    Raises:
        ExecutionFailedError: It failed.
        ExecutionNotRunnableError: It has succeeded.
    """
    from agentic.executors.commands.progress import shown_progress
    from agentic.executors.local import run_locally
    from agentic.mappers import ExecutionStatus, create_execution

    if execution is not None and execution.status is ExecutionStatus.SUCCEEDED:
        raise ExecutionNotRunnableError(execution.id, "it has succeeded; start a new one with `agentic run`")
    if execution is None:
        with database.writing() as session:
            execution = create_execution(session, agent)
    with shown_progress(agent.agent_name) as lines:
        outcome = run_locally(execution, database=database, settings=settings, on_event=lines.tell)
    print_outcome(outcome, agent=agent, database=database, as_json=as_json)


def checked_dispatcher(settings: Settings) -> CeleryDispatcher:
    """Return the way to the workers, once their broker has answered.

    Raises:
        BrokerUnavailableError: It has not.
    """
    from agentic.executors.celery import make_app
    from agentic.executors.dispatch import CeleryDispatcher

    dispatcher = CeleryDispatcher(make_app(settings))
    dispatcher.check()
    return dispatcher


def print_queued(execution: ExecutionModel, agent: AgentModel, *, as_json: bool) -> None:
    """Print where to look for an execution that a worker will run."""
    if as_json:
        print_json({"execution_id": execution.id, "agent_id": agent.id, "status": "queued"})
        return
    where = f"see `agentic executions show {execution.id}`"
    line = f"queued execution {execution.id} of agent {agent.agent_name}; {where}"
    console.print(line, markup=False, highlight=False, soft_wrap=True)
