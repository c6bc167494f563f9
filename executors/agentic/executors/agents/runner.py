"""Runs executions in this process: each is a durable run of its agent's workflow, with the same id."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack, suppress
from typing import Any

from agentic.core.bus import Bus
from agentic.core.graph import CheckpointError, WorkflowEvent
from agentic.core.graph.errors import error_text
from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger import ActivationId
from agentic.core.threads import in_thread
from agentic.core.types import ExecutorId, RunId
from agentic.executors.agents.ending import ExecutionEnd, record_execution_end
from agentic.executors.agents.observing import Observers
from agentic.executors.agents.outcome import EventListener, ExecutionOutcome
from agentic.executors.agents.workflows import KIND, flow_builder, flow_name
from agentic.executors.durable import (
    AsyncRunHandle,
    HostOptions,
    LocalRuns,
    Submission,
    WorkflowCatalog,
)
from agentic.executors.durable.errors import UnknownWorkflowError
from agentic.executors.durable.publish.live import LiveEvents
from agentic.executors.durable.publish.outbox import Outbox, kept_published
from agentic.executors.durable.reconcile.reconciler import REDISPATCH_AFTER_S
from agentic.executors.durable.runs.service import RunService
from agentic.executors.durable.worker.leases import LEASE_S
from agentic.executors.durable.worker.process_names import process_name
from agentic.executors.errors import AgentNotRunnableError, ExecutionNotRunnableError
from agentic.mappers import (
    AgentModel,
    Database,
    ExecutionModel,
    ExecutionStatus,
    UnknownExecutionError,
    find_agent,
    queue_execution,
    waiting_executions,
)
from agentic.mappers.catalog.execution_counts import counts_so_far
from agentic.mappers.ledger.ledger import SqlLedger

__all__ = ["EventListener", "ExecutionOutcome", "begin_here", "run_execution", "take_up"]

CANCEL_GRACE_S = 15.0
"""Time for a cancelled execution to end."""

PUBLISH_GRACE_S = 3.0
"""Time that a run waits at its end for unpublished events."""


async def run_execution(  # noqa: PLR0913 - an execution, and what its process gives it
    execution_id: str,
    agent_id: str,
    *,
    database: Database,
    bus: Bus | None = None,
    lease_s: float = LEASE_S,
    on_event: EventListener | None = None,
    log_level: int = logging.ERROR,
) -> ExecutionOutcome:
    """Run an execution in this process, and wait until it has ended, or waits for a person.

    Safe to call twice with the same ids, also at the same time: the work is done once, and both see its end.
    A failed or cancelled execution continues where it stopped. A failure of the agent is an outcome, not an
    exception. An unavailable bus does not affect the run. If this is cancelled, so is the execution.

    Args:
        execution_id: The execution.
        agent_id: The agent it must belong to.
        database: Holds both, and their results.
        bus: Receives the events; with None they wait in the ledger.
        lease_s: How long this process keeps its claims without a sign of life.
        on_event: Called with every event of the run, on the event loop.
        log_level: Log level of a failed execution: lower, if the caller shows how it ended.

    Raises:
        UnknownExecutionError: The agent has no such execution.
        ExecutionNotRunnableError: It began with different code of its agent, or of an actor.
        LedgerUnavailableError: The database is unavailable; another process can continue.
    """
    execution, agent = await in_thread(find_both, database, execution_id, agent_id)
    project = agent.project.name
    live = None if bus is None else LiveEvents(lambda _: bus, PUBLISH_GRACE_S)

    observers = Observers(database)

    def tell(event: WorkflowEvent) -> None:
        observers.tell(project, event)
        if live is not None:
            live.tell(project, event)
        if on_event is not None:
            on_event(event)

    builder = flow_builder(database, agent.project_id, process_name(), log_level=log_level)
    store = SqlLedger(database, project_id=agent.project_id)
    refusal: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()

    def note(reason: Exception) -> None:
        if not refusal.done():
            refusal.set_result(reason)

    options = HostOptions(lease_s=lease_s, tell=tell, only=RunId(execution_id), on_refused=note)
    try:
        async with AsyncExitStack() as stack:
            catalog = WorkflowCatalog({}, builders={KIND: builder})
            runs = await stack.enter_async_context(LocalRuns(store, catalog, options=options))
            if bus is not None:
                outbox = Outbox(runs.host.ledger_executor, project, bus)
                await stack.enter_async_context(kept_published(outbox, PUBLISH_GRACE_S))
            await _rested(await _taken_up(runs, execution, agent), refusal)
    except AgentNotRunnableError as exc:
        await in_thread(_refuse, database, execution, exc, log_level)
        observers.refused(project, execution_id)
    except (CheckpointError, UnknownWorkflowError, _RefusedError) as exc:
        advice = "start over with `agentic run` without --resume"
        raise ExecutionNotRunnableError(execution_id, f"{exc}; or {advice}") from exc
    finally:
        if live is not None:
            await live.aclose()
        await in_thread(observers.close)
        store.rest()  # else hundreds of runs in sequence would keep a connection each
    return await in_thread(outcome_of, database, execution_id, agent_id)


async def _taken_up(service: RunService, execution: ExecutionModel, agent: AgentModel) -> AsyncRunHandle:
    """Call :func:`take_up`; if cancelled meanwhile, cancel the run if it has begun."""
    try:
        return await take_up(service, execution, agent)
    except asyncio.CancelledError:
        handle = service.handle(execution.id)
        if await service.host.ledger_executor.do(lambda ledger: ledger.run(handle.run_id)) is not None:
            await handle.cancel()
            await handle.rest(CANCEL_GRACE_S)
        raise


async def take_up(service: RunService, execution: ExecutionModel, agent: AgentModel) -> AsyncRunHandle:
    """Start the run of an execution, or continue it if it failed, was cancelled or lost its process.

    Raises:
        AgentNotRunnableError: The agent cannot run in its current state.
        CheckpointError: The run began with different code; another process may have it.
        UnknownWorkflowError: The same, and the agent has changed.
        LedgerUnavailableError: The ledger cannot be used.
    """
    handle = service.handle(execution.id)
    run = await service.host.ledger_executor.do(lambda ledger: ledger.run(handle.run_id))
    if run is None:
        return await _begin(service, execution, agent, is_told=True)
    if run.status in {RunStatus.FAILED, RunStatus.CANCELLED}:
        await handle.resume()
    elif run.status is RunStatus.RUNNING:
        await service.host.run_cache.get(run.run_id, run.workflow, run.revision)
    return handle


async def begin_waiting(service: RunService, database: Database, project_id: str) -> int:
    """Start the runs of executions whose message was lost; return their number.

    Raises:
        LedgerUnavailableError: The ledger cannot be used.
    """
    for execution, agent in (found := await in_thread(_waiting, database, project_id)):
        try:
            await _begin(service, execution, agent, is_told=True)
        except AgentNotRunnableError as exc:
            await in_thread(_refuse, database, execution, exc)
    return len(found)


async def begin_here(
    service: RunService,
    database: Database,
    execution: ExecutionModel,
    agent: AgentModel,
    *,
    is_told: bool = False,
) -> ActivationId:
    """Start an execution's run, if it has not begun; return its first activation.

    Args:
        service: Accepts it.
        database: Holds the execution.
        execution: The execution.
        agent: Its agent.
        is_told: Whether workers are notified; else the caller works on it.

    Raises:
        AgentNotRunnableError: The agent cannot run in its current state; the execution has failed.
        LedgerUnavailableError: The ledger cannot be used.
    """
    try:
        await _begin(service, execution, agent, is_told=is_told)
    except AgentNotRunnableError as exc:
        await in_thread(_refuse, database, execution, exc)
        raise
    return first_of(execution)


def first_of(execution: ExecutionModel) -> ActivationId:
    """Return the first activation of an execution's run."""
    return ActivationId(RunId(execution.id), 0, ExecutorId("prepare"), 0)


def find_both(database: Database, execution_id: str, agent_id: str) -> tuple[ExecutionModel, AgentModel]:
    """Return an execution and its agent; blocks.

    Raises:
        UnknownExecutionError: The agent has no such execution.
    """
    with database.reading() as session:
        execution = session.get(ExecutionModel, execution_id)
        if execution is None or execution.agent_id != agent_id:
            raise UnknownExecutionError(execution_id, f"agent {agent_id!r}")
        return execution, find_agent(session, execution.project_id, agent_id)


def outcome_of(database: Database, execution_id: str, agent_id: str) -> ExecutionOutcome:
    """Return the state of an execution; blocks. Raises as :func:`find_both`."""
    execution, _ = find_both(database, execution_id, agent_id)
    with database.reading() as session:
        counts = counts_so_far(session, execution.project_id, [execution])
    return ExecutionOutcome.of(execution, counts[execution.id])


def _waiting(database: Database, project_id: str) -> list[tuple[ExecutionModel, AgentModel]]:
    with database.reading() as session:
        waiting = waiting_executions(session, project_id, REDISPATCH_AFTER_S)
        return [(execution, find_agent(session, project_id, execution.agent_id)) for execution in waiting]


async def _begin(
    service: RunService, execution: ExecutionModel, agent: AgentModel, *, is_told: bool
) -> AsyncRunHandle:
    how = Submission(run_id=execution.id, idempotency_key=f"execution:{execution.id}", is_told=is_told)
    try:
        return await service.submit(flow_name(agent), execution.id, how)
    except UnknownWorkflowError as exc:
        if isinstance(exc.__cause__, AgentNotRunnableError):
            raise exc.__cause__ from None
        raise


def _refuse(
    database: Database,
    execution: ExecutionModel,
    error: AgentNotRunnableError,
    log_level: int = logging.ERROR,
) -> None:
    """Record that an execution failed before its run could begin."""
    ending = ExecutionEnd(status=ExecutionStatus.FAILED, error=str(error), cause=error, log_level=log_level)
    with database.writing() as session:
        queue_execution(session, execution.project_id, execution.id)
        log_end = record_execution_end(session, execution.project_id, execution.id, ending)
    log_end()


class _RefusedError(Exception):
    """This process cannot do a part of the run, and no other process exists."""


async def _rested(handle: AsyncRunHandle, refusal: asyncio.Future[Exception]) -> None:
    """Wait for the end of a run.

    Raises:
        _RefusedError: A part of it cannot be done here, and perhaps nowhere else.
    """
    resting = asyncio.ensure_future(handle.rest())
    try:
        waited_for: set[asyncio.Future[Any]] = {resting, refusal}
        await asyncio.wait(waited_for, return_when=asyncio.FIRST_COMPLETED)
        if not resting.done():
            raise _RefusedError(error_text(refusal.result())) from refusal.result()
        await resting
        await _children_rested(handle)
    except asyncio.CancelledError:
        await handle.cancel()
        await handle.rest(CANCEL_GRACE_S)
        await _children_rested(handle)
        raise
    finally:
        resting.cancel()


async def _children_rested(handle: AsyncRunHandle) -> None:
    """Make stopped child runs end their work in other systems: without workers, no other process would."""
    with suppress(TimeoutError):  # longer work is left to the reconciler
        await handle.rest_of_children(CANCEL_GRACE_S)
