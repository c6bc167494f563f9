"""Child runs: a workflow nested in another one is a run of its own, which any worker can continue."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import takewhile

from agentic.core.graph.checkpoints.restore import restore
from agentic.core.graph.definition.run_services import SubCall
from agentic.core.graph.definition.workflow import WorkflowDefinition
from agentic.core.graph.errors import RestoredError
from agentic.core.graph.model.messages import Activation
from agentic.core.graph.model.progress import Asked, InfoRequest, SubRun, request_id
from agentic.core.graph.model.result import RunResult, RunStatus
from agentic.core.graph.model.state import RunState, state_of
from agentic.core.graph.running.runner import answers_of
from agentic.core.ledger import (
    ActivationStatus,
    Claimed,
    LedgerTransaction,
    NewRun,
    RunExistsError,
    RunRow,
    Settled,
)
from agentic.core.records import record
from agentic.core.types import RunId
from agentic.executors.durable.runs.beginning import begin, take_up
from agentic.executors.durable.runs.catalog import NODE_MARK
from agentic.executors.durable.worker.activity import WaitsForChild
from agentic.executors.durable.worker.cached_run import CachedRun, StepPlan
from agentic.executors.durable.worker.host import RunHost

BROKEN_OFF = frozenset({RunStatus.FAILED, RunStatus.CANCELLED})

STOPPED_AROUND = "the run around it was broken off"
"""Cancel reason of a child run whose parent was interrupted; it continues with its parent."""


@record
class ChildRun:
    """A child run that must start or continue.

    Attributes:
        cached_run: The run.
        plan: The plan that starts or continues it.
        is_new: Whether it starts.
        workflow: Name that any worker can find its workflow by.
    """

    cached_run: CachedRun
    plan: StepPlan
    is_new: bool
    workflow: str


async def read_child(
    host: RunHost, around: WorkflowDefinition, workflow: WorkflowDefinition, call: SubCall
) -> tuple[RunResult, SubRun] | None:
    """Return the result of a child run; None when it must start or continue.

    Args:
        host: Has the ledger.
        around: The workflow of the parent run.
        workflow: Its own workflow.
        call: Its name, and the answers it gets.
    """
    run = await host.ledger_executor.do(lambda ledger: ledger.run(call.run_id))
    if run is None or run.status is RunStatus.RUNNING:
        return None
    if _was_stopped_around(run):
        return None
    stored = await host.ledger_executor.do(lambda ledger: ledger.load(call.run_id))
    found = restore(stored, workflow.within(around))
    state = found.state
    if _has_to_go_on(state, call):
        return None
    error = None
    if state.status is not RunStatus.COMPLETED and state.status is not RunStatus.WAITING_INPUT:
        error = state.error or RestoredError("CancelledError", f"child run {call.run_id!r} was cancelled")
    result = RunResult(
        run_id=call.run_id,
        status=state.status,
        outputs=tuple(payload.value for payload in found.outputs),
        superstep_count=state.superstep,
        duration_s=(run.finished_at or run.updated_at) - run.created_at,
        events=(),
        error=error,
        waiting_fan_ins=state.waiting_fan_ins,
        pending_requests=tuple(info_of(state, asked) for asked in state.open_requests),
    )
    return result, SubRun(_stub(state))


@asynccontextmanager
async def prepared_child(
    host: RunHost, claimed: Claimed, waits: WaitsForChild
) -> AsyncIterator[ChildRun | None]:
    """Yield the child run an activation must wait for; in the block nothing else here decides about it.

    None if it has come to rest since the activation looked: the activation must look again.
    """
    call = waits.call
    name = f"{claimed.workflow}{NODE_MARK}{claimed.lease.id.executor_id}"
    row = await host.ledger_executor.do(lambda ledger: ledger.run(call.run_id))
    now = time.time()
    if row is None:
        cached_run, plan = begin(host.catalog.get(name), call.run_id, waits.message, now, call)
        yield ChildRun(cached_run, plan, is_new=True, workflow=name)
        return
    cached_run = await host.run_cache.get(call.run_id, name, row.revision)
    async with cached_run.lock:
        goes_on = cached_run.state.status is RunStatus.RUNNING or _was_stopped_around(row)
        if not goes_on and not _has_to_go_on(cached_run.state, call):
            yield None
            return
        yield ChildRun(
            cached_run, take_up(cached_run, answers_of(call), now, {}), is_new=False, workflow=name
        )


def write_child(ledger: LedgerTransaction, claimed: Claimed, child: ChildRun, progress: str) -> bool:
    """Make an activation wait for its child run; False after another decision: undo the writes."""
    run_id, step = child.cached_run.run_id, child.plan.step
    # Locked: it cannot be paused or stopped in between without its child.
    around = ledger.run(claimed.lease.id.run_id, lock=True)
    if around is None or around.cancel_at is not None:
        return False
    if child.is_new:
        new = NewRun(
            step=step,
            workflow=child.workflow,
            priority=claimed.priority,
            max_parallel=child.cached_run.config.max_parallel,
            parent=claimed.lease.id,
        )
        try:
            is_written = ledger.add_run(new) == run_id
        except RunExistsError:  # started by a process that claimed the activation since
            return False
    else:
        before = child.cached_run.state.superstep, child.cached_run.revision
        is_written = ledger.advance(run_id, *before, step)
    waiting = Settled(status=ActivationStatus.WAITING, progress=progress, waits_for=run_id)
    if not is_written or not ledger.settle(claimed.lease, waiting):
        return False
    if around.is_paused or not child.is_new:  # it may be on hold since its parent was stopped
        ledger.pause(run_id, is_paused=around.is_paused)
    return True


def pause_with_children(ledger: LedgerTransaction, run_id: RunId, *, is_paused: bool) -> bool:
    """Pause a run and its child runs, or continue them; False when the run has ended."""
    # First the parent: a process that starts a child at this moment has locked it, or will see it.
    is_unfinished = ledger.pause(run_id, is_paused=is_paused)
    for child in ledger.children(run_id):
        pause_with_children(ledger, child.run_id, is_paused=is_paused)
    return is_unfinished


def stop_children(ledger: LedgerTransaction, run_id: RunId, status: RunStatus) -> None:
    """Stop the child runs of a run that was stopped, until it continues.

    A child that waits for an answer ends if its parent was cancelled. If its parent failed, it keeps
    waiting, as in one process, and starts nothing by itself.
    """
    for child in ledger.children(run_id):
        if child.status is RunStatus.RUNNING or status is RunStatus.CANCELLED:
            ledger.request_cancel(child.run_id, STOPPED_AROUND)
        else:
            pause_with_children(ledger, child.run_id, is_paused=True)


def stopped_children(ledger: LedgerTransaction, run_id: RunId) -> Sequence[RunId]:
    """Return the child runs that were stopped with a run and have not ended yet."""
    return [child.run_id for child in ledger.children(run_id) if child.cancel_reason is not None]


def has_stopping(ledger: LedgerTransaction, run_id: RunId) -> bool:
    """Whether a child of a stopped run was stopped, too, and has not ended yet."""
    run = ledger.run(run_id)
    if run is None or run.status not in BROKEN_OFF:
        return False
    rows = ledger.list_activations(run_id=run_id)
    last = takewhile(lambda row: row.id.superstep == run.superstep, rows)
    return any(
        _is_stopping(ledger, RunId(f"{run_id}/{row.id.executor_id}.{row.id.superstep}.{row.id.shard}"))
        for row in last
    )


def _is_stopping(ledger: LedgerTransaction, run_id: RunId) -> bool:
    run = ledger.run(run_id)
    if run is None:
        return False
    return has_stopping(ledger, run_id) if run.status.is_final else run.cancel_reason is not None


def _was_stopped_around(run: RunRow) -> bool:
    """Whether a child run ended only because of its parent, so that it continues with it."""
    return run.status is RunStatus.CANCELLED and run.cancel_reason == STOPPED_AROUND


def _has_to_go_on(state: RunState, call: SubCall) -> bool:
    """Whether an activation that is entered again already knows how its child run came to rest."""
    if state.status is RunStatus.COMPLETED:
        return False
    if state.status is RunStatus.WAITING_INPUT:
        names = {asked.name for asked in state.open_requests}
        return bool(names & call.answers.keys())
    return call.before is not None and state_of(call.before).sequence == state.sequence


def _stub(state: RunState) -> RunState:
    """Return the parent's part of a child's state; the ledger has the whole state."""
    kept = RunState(state.run_id, state.path, state.started_at)
    parked = {origin: replace(one, activation=_alone(one.activation)) for origin, one in state.parked.items()}
    return replace(
        kept, superstep=state.superstep, sequence=state.sequence, status=state.status, parked=parked
    )


def _alone(activation: Activation) -> Activation:
    """Return an activation without the list around its message: the parent does not keep that list."""
    return replace(activation, delivery=replace(activation.delivery, item=None))


def info_of(state: RunState, asked: Asked) -> InfoRequest:
    """Return an open request as callers see it."""
    return InfoRequest(
        id=request_id(state.run_id, asked.name),
        path=asked.path,
        data=asked.question.copy_value(),
        response_type=asked.response_type,
        raised_at=asked.raised_at,
        deadline=asked.deadline,
    )
