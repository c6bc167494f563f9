"""The Celery tasks: ids in, ids out; the work is elsewhere."""

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

# A message whose process was killed comes back: the ledger says that it is nobody's turn yet, so it does
# nothing, and Flower shows no failure where nobody has to do anything. Celery's warning, that such a message
# may kill one process after the other, is about tasks that begin anew; these do not.


@app.task(name=RUN_AGENT, bind=True, throws=(ExecutionFailedError,), reject_on_worker_lost=True)
def run_agent(self: Task[[str, str], Result], execution_id: str, agent_id: str) -> Result:
    """Begin an execution of an agent and work on it in place; a second message for the same one does nothing.

    Raises:
        ExecutionFailedError: It failed, or cannot be run; the message says why.
    """
    with _one_kind_of_error():
        is_again = bool((self.request.delivery_info or {}).get("redelivered"))
        process = current_process()
        return process.run_agent(self.app, execution_id, agent_id, is_again=is_again).to_dict()


@app.task(name=START_AGENT, bind=True, throws=(ExecutionFailedError,))
def start_agent(self: Task[[str, str | None], Result], agent: str, project: str | None = None) -> Result:
    """Queue a new execution of an agent, named by name or id; what beat fires. A disabled one is passed over.

    Args:
        self: The task.
        agent: Name or id.
        project: Name of its project; the one of the worker's settings when left out.

    Raises:
        ExecutionFailedError: There is no such agent, or the execution cannot be queued.
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
    """Do an activation of a durable run, and go on with what follows it in place.

    A second message for the same one, or one that comes too late, does nothing: the ledger decides.

    Raises:
        RunFailedError: A run failed by it, and somebody should look; the run itself is safe in the ledger.
    """
    wanted = activation_of(run_id, superstep, executor_id, shard)
    worked = current_process().activate(self.app, project_id, wanted)
    if worked.failed:
        raise RunFailedError(worked.failed)  # what it says is masked already
    return {"activations": worked.done}


@contextmanager
def _one_kind_of_error() -> Iterator[None]:
    """Flower shows a failed task by its exception: let it be one, with a line that says all."""
    try:
        yield
    except AgenticError as exc:
        raise ExecutionFailedError(Redactor().error(exc)) from None
    except Exception as exc:
        # Celery tells the log and Flower all of what nobody expected, traceback and causes.
        told = "".join(traceback.format_exception(exc))
        if mask_known(told) == told:
            raise
        log.error("task.failed", exception=mask_known(told))  # noqa: TRY400  # its own has no mask
        raise ExecutionFailedError(Redactor().error(exc)) from None
