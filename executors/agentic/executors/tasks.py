"""The Celery tasks: they pass ids; the work is elsewhere."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from celery import Task

from agentic.core.errors import AgenticError
from agentic.core.logging import get_logger
from agentic.core.masking import mask_known
from agentic.core.settings import load_settings
from agentic.core.types import JSONValue
from agentic.executors.agents.redaction import Redactor
from agentic.executors.celery import app
from agentic.executors.durable.errors import RunFailedError
from agentic.executors.durable.publish.messages import ACTIVATE, activation_of
from agentic.executors.errors import ExecutionFailedError
from agentic.executors.schedule import START_AGENT
from agentic.executors.workers import reconciling  # noqa: F401  # its signals
from agentic.executors.workers.config import RUN_AGENT
from agentic.executors.workers.dispatch import CeleryDispatcher
from agentic.executors.workers.lifecycle import current_process
from agentic.mappers import find_agent, find_project

log = get_logger(__name__)

Result = dict[str, JSONValue]

# A message whose process was killed comes back: by the ledger it is not its turn yet, so it does nothing, and
# Flower shows no failure, because there is nothing to fix. Celery warns that such a message may kill one
# process after the other; this is true of tasks that start again, but these do not.


@app.task(name=RUN_AGENT, bind=True, throws=(ExecutionFailedError,), reject_on_worker_lost=True)
def run_agent(self: Task[[str, str], Result], execution_id: str, agent_id: str) -> Result:
    """Start an execution of an agent and work on it in place; a second message for it does nothing.

    Raises:
        ExecutionFailedError: It failed, or cannot be run; the message says why.
    """
    with _one_kind_of_error():
        is_again = bool((self.request.delivery_info or {}).get("redelivered"))
        process = current_process()
        return process.run_agent(self.app, execution_id, agent_id, is_again=is_again).to_dict()


@app.task(name=START_AGENT, bind=True, throws=(ExecutionFailedError,))
def start_agent(self: Task[[str, str | None], Result], agent: str, project: str | None = None) -> Result:
    """Queue a new execution of an agent; beat fires this. A disabled agent is skipped.

    Args:
        self: The task.
        agent: Name or id.
        project: Name of its project; by default from the worker's settings.

    Raises:
        ExecutionFailedError: The agent does not exist, or the execution cannot be queued.
    """
    with _one_kind_of_error():
        process = current_process()
        process.check_database()
        with process.database.reading() as session:
            owner = find_project(session, project or load_settings().project)
            found = find_agent(session, owner.id, agent)
        if found.disabled_at is not None:
            log.info("agent.passed_over", agent=found.agent_name, project=owner.name, reason="it is disabled")
            return {"execution_id": None, "agent_id": found.id}
        execution = CeleryDispatcher(self.app).submit(process.database, found)
    return {"execution_id": execution.id, "agent_id": found.id}


@app.task(name=ACTIVATE, bind=True, throws=(RunFailedError,), reject_on_worker_lost=True)
def activate(
    self: Task[[str, str, int, str, int], Result],
    project_id: str,
    run_id: str,
    superstep: int,
    executor_id: str,
    shard: int,
) -> Result:
    """Do an activation of a durable run, and continue with the next ones in place.

    A second message for it, or one that comes too late, does nothing: the ledger decides.

    Raises:
        RunFailedError: A run failed in it and needs attention; the run itself is safe in the ledger.
    """
    wanted = activation_of(run_id, superstep, executor_id, shard)
    worked = current_process().activate(self.app, project_id, wanted)
    if worked.failed:
        raise RunFailedError(worked.failed)  # its message is already masked
    return {"activations": worked.done}


@contextmanager
def _one_kind_of_error() -> Iterator[None]:
    """Raise one kind of error, complete in one line: Flower shows a failed task by its exception."""
    try:
        yield
    except AgenticError as exc:
        raise ExecutionFailedError(Redactor().error(exc)) from None
    except Exception as exc:
        # Celery sends unexpected errors to the log and to Flower with traceback and causes.
        told = "".join(traceback.format_exception(exc))
        if mask_known(told) == told:
            raise
        log.error("task.failed", exception=mask_known(told))  # noqa: TRY400  # its own has no mask
        raise ExecutionFailedError(Redactor().error(exc)) from None
