"""Continues or ends a run after a barrier, a cancellation or a deadline, when no other process will."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from agentic.core.graph.errors import CheckpointError
from agentic.core.ledger import (
    ActivationId,
    ActivationOutcome,
    ActivationRow,
    ActivationStatus,
    Claimed,
    Dispatchable,
    LedgerTransaction,
    RunRow,
)
from agentic.core.ledger.records import NO_LIMIT
from agentic.core.logging import get_logger
from agentic.core.records import record
from agentic.core.types import RunId
from agentic.executors.durable.errors import UnknownWorkflowError
from agentic.executors.durable.reconcile.deciding import SuperstepState, decide
from agentic.executors.durable.reconcile.on_cancel import cancel_calls
from agentic.executors.durable.runs.children import BROKEN_OFF, stop_children, stopped_children
from agentic.executors.durable.runs.encoding import read_progress, read_result
from agentic.executors.durable.worker.cached_run import CachedRun, StepPlan
from agentic.executors.durable.worker.claiming import Claimant, claim_new, claim_parent, dispatchable_of
from agentic.executors.durable.worker.host import RunHost, mark, pending

log = get_logger(__name__)

_MAX_ROUNDS = 20
_OPEN = frozenset(status for status in ActivationStatus if status.is_open)


@record
class View:
    """A run and its superstep at one moment."""

    run: RunRow
    outcomes: Sequence[ActivationOutcome]
    open: Sequence[ActivationRow]
    now: float


@record
class Written:
    """The result of writing a plan.

    Attributes:
        claimed: The activation to continue with, if one was wanted.
        others: Activations to announce.
    """

    claimed: Claimed | None
    others: Sequence[Dispatchable]


async def advance_run(
    host: RunHost, run_id: RunId, *, goes_on: bool = False, on_plan: Callable[[StepPlan], None] | None = None
) -> Claimed | None:
    """Decide about a run, if it needs a decision.

    Args:
        host: The parts of this process.
        run_id: The run.
        goes_on: Whether to claim one of the next activations, and return it.
        on_plan: Called with the decision.

    Raises:
        UnknownWorkflowError: This process does not know its workflow.
        CheckpointError: Its checkpoint cannot be used here.
        LedgerUnavailableError: The ledger cannot be used.
    """
    for _ in range(_MAX_ROUNDS):
        view = await host.ledger_executor.do(lambda ledger: look(ledger, run_id))
        if view is None or view.run.status.is_final:
            return None
        cached_run = await host.run_cache.get(run_id, view.run.workflow, view.run.revision)
        async with cached_run.lock:
            if cached_run.revision != view.run.revision:
                continue
            transition = decide(cached_run, view.run, superstep_state_of(cached_run, view), view.now)
            if transition is None:
                return None
            await cancel_calls(host, cached_run, transition.state)
            plan = cached_run.plan([transition], view.now)
            is_unwanted = view.run.cancel_reason is not None
            # Ending the stopped child runs may take longer than a claim lasts.
            is_over = is_unwanted or plan.state.status in BROKEN_OFF
            claimant = host.me if goes_on and not is_over else None
            written = await host.ledger_executor.do(
                partial(write_plan, run=view.run, plan=plan, claimant=claimant)
            )
            if written is not None:
                host.take(cached_run, plan)
                if on_plan is not None:
                    on_plan(plan)
                await host.spread(written.others)
                if plan.state.status in BROKEN_OFF:
                    await _advance_stopped(host, run_id)
                    return None
                if plan.is_settled or is_unwanted:
                    continue
                return written.claimed
            host.run_cache.drop(run_id)
    return None


async def _advance_stopped(host: RunHost, run_id: RunId) -> None:
    """End the child runs that were stopped with a run; notify their running handlers."""
    for child in await host.ledger_executor.do(lambda ledger: stopped_children(ledger, run_id)):
        host.leases.look()
        try:
            await advance_run(host, child)
        except (CheckpointError, UnknownWorkflowError) as exc:
            log.info("run.refused", run_id=child, reason=str(exc))


def write_plan(
    ledger: LedgerTransaction, run: RunRow, plan: StepPlan, claimant: Claimant | None
) -> Written | None:
    """Write a plan; None after another decision."""
    if not advance(ledger, run, plan):
        return None
    return written(ledger, run, plan, claimant)


def advance(ledger: LedgerTransaction, run: RunRow, plan: StepPlan) -> bool:
    """Write a plan and its further changes; False after another decision."""
    if not ledger.advance(run.run_id, run.superstep, run.revision, plan.step):
        return False
    if plan.state.status in BROKEN_OFF:
        stop_children(ledger, run.run_id, plan.state.status)
    if plan.on_commit:
        ledger.apply(plan.on_commit)
    return True


def written(ledger: LedgerTransaction, run: RunRow, plan: StepPlan, claimant: Claimant | None) -> Written:
    """Claim one of a plan's due activations, if there are any, and mark the others.

    If the plan makes a child run rest, claim the activation that waited for it.
    """
    new = plan.step.activations
    if run.parent is not None and not new:
        return _written_around(ledger, run.parent, claimant)
    claimed = None
    if claimant is not None and not plan.is_settled:
        claimed = claim_new(ledger, claimant, new, run.priority)
    mine = None if claimed is None else claimed.lease.id
    return Written(claimed, mark(ledger, pending(new, run.workflow, run.priority, without=mine)))


def _written_around(ledger: LedgerTransaction, parent: ActivationId, claimant: Claimant | None) -> Written:
    row = ledger.activation(parent)
    if row is None:
        return Written(None, ())
    claimed = None if claimant is None else claim_parent(ledger, claimant, row)
    is_taken = claimed is not None and claimed.lease.id == parent
    return Written(claimed, () if is_taken else mark(ledger, _pending_again(ledger, row)))


def _pending_again(ledger: LedgerTransaction, row: ActivationRow) -> list[Dispatchable]:
    """Return the activation that waited for a run, if it can continue."""
    outer = ledger.run(row.id.run_id)
    if outer is None or row.status is not ActivationStatus.PENDING:
        return []
    return [dispatchable_of(row, outer.workflow)]


def superstep_state_of(cached_run: CachedRun, view: View) -> SuperstepState:
    """Return the superstep in the ledger; the cached run keeps the results of closed activations."""
    codec = cached_run.workflow.codec
    results, tried = {}, {}
    for outcome in view.outcomes:
        key = (outcome.id.executor_id, outcome.id.shard)
        activation = cached_run.activation(outcome.id)
        if activation is None:
            continue
        if outcome.result is not None:
            known = cached_run.finished(key)
            if known is None:
                known = read_result(codec, activation, outcome.result)
                cached_run.keep(known)
            results[key] = known
        elif outcome.progress is not None:
            tried[key] = read_progress(codec, outcome.progress)
    waiting = {
        (row.id.executor_id, row.id.shard): read_progress(codec, row.progress)
        for row in view.open
        if row.progress is not None
    }
    has_running = any(row.status is ActivationStatus.RUNNING for row in view.open)
    return SuperstepState(results, tried, waiting, bool(view.open), has_running)


def look(ledger: LedgerTransaction, run_id: RunId) -> View | None:
    """Return a run and its superstep; None when the run does not exist."""
    run = ledger.run(run_id)
    if run is None:
        return None
    return View(
        run,
        ledger.outcomes(run_id, run.superstep),
        ledger.list_activations(run_id=run_id, statuses=_OPEN, limit=NO_LIMIT),
        ledger.now(),
    )
