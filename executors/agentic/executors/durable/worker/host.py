"""The shared parts of a process that works on durable runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentic.core.errors import line_of
from agentic.core.graph.model.events import WorkflowEvent
from agentic.core.graph.model.history import HistorySource
from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger import (
    ActivationId,
    Dispatchable,
    LedgerTransaction,
    NewActivation,
)
from agentic.core.logging import get_logger
from agentic.core.types import RunId
from agentic.executors.durable.runs.catalog import WorkflowCatalog
from agentic.executors.durable.worker.cached_run import CachedRun, StepPlan
from agentic.executors.durable.worker.claiming import Claimant
from agentic.executors.durable.worker.leases import Leases
from agentic.executors.durable.worker.ledger_executor import LedgerExecutor
from agentic.executors.durable.worker.run_cache import RunCache
from agentic.executors.durable.worker.waiters import RunWaiters

log = get_logger(__name__)

MAX_COUNTDOWN_S = 10.0
"""Above it no message is sent, because a worker would hold it: the reconciler dispatches due activations."""

MAX_SPREAD = 32
"""Maximum number of workers notified of one superstep: each continues with the rest by itself."""


OnCut = Callable[[Any, RunId], object]
"""Called with the session of the transaction that ends a run without its code."""


class Dispatcher(Protocol):
    """Notifies workers of activations; the ledger decides whether they may run."""

    async def dispatch(self, activations: Sequence[Dispatchable]) -> None:
        """Announce activations, each as soon as it is due.

        Raises:
            DispatchError: This failed; they stay in the ledger, and are announced later.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHost:
    """The shared parts of a process that works on durable runs.

    Attributes:
        ledger_executor: Access to the ledger.
        catalog: Finds the workflows.
        run_cache: The cached runs of this process.
        leases: Keeps its claims alive.
        dispatcher: Notifies others.
        me: The claimant.
        tell: Receives events, durable and live, if there is a listener.
        history: Knows other runs.
        waiters: Notified when a decision of this process ends a run, or makes it wait for answers.
        on_cut: Writes further changes when a run ends without its code.
        on_refused: Called with the reason why this process cannot run a claim.
    """

    ledger_executor: LedgerExecutor
    catalog: WorkflowCatalog
    run_cache: RunCache
    leases: Leases
    dispatcher: Dispatcher
    me: Claimant
    tell: Callable[[WorkflowEvent], None] | None = None
    history: HistorySource | None = None
    waiters: RunWaiters = field(default_factory=RunWaiters)
    on_cut: OnCut | None = None
    on_refused: Callable[[Exception], None] | None = None

    def take(self, cached_run: CachedRun, plan: StepPlan) -> None:
        """Apply a plan that the ledger has accepted, and notify if the run rests by it."""
        cached_run.take(plan)
        if self.tell is not None:
            for event in plan.events:
                self.tell(event)
        if plan.state.status.is_final:
            self.run_cache.drop(cached_run.run_id)
        else:
            self.run_cache.put(cached_run)
        if plan.state.status is not RunStatus.RUNNING:
            self.waiters.wake(cached_run.run_id)

    async def spread(self, activations: Sequence[Dispatchable]) -> None:
        """Notify workers of activations that are marked as dispatched; if that fails, unmark them."""
        if not activations:
            return
        try:
            await self.dispatcher.dispatch(activations)
        except Exception as exc:  # any error of a broker: the run is safe in the ledger
            log.warning("dispatch.failed", count=len(activations), error=line_of(exc))
            ids = [activation.id for activation in activations]
            await self.ledger_executor.do(lambda ledger: ledger.mark_dispatched(ids, is_dispatched=False))


def pending(
    new: Iterable[NewActivation], workflow: str, priority: int, *, without: ActivationId | None = None
) -> list[Dispatchable]:
    """Return the new activations that workers should be notified of now."""
    counts: dict[str, int] = {}
    found = []
    for activation in new:
        if activation.result is not None:
            continue
        executor_id = activation.id.executor_id
        counts[executor_id] = counts.get(executor_id, 0) + 1
        if counts[executor_id] <= activation.lanes and activation.id != without:
            found.append(
                Dispatchable(
                    id=activation.id,
                    queue=activation.queue,
                    priority=priority,
                    workflow=workflow,
                    fence=0,
                    not_before=0.0,
                )
            )
    return found[:MAX_SPREAD]


def mark(ledger: LedgerTransaction, activations: Sequence[Dispatchable]) -> Sequence[Dispatchable]:
    """Mark activations as dispatched, within a transaction; return them."""
    if activations:
        ledger.mark_dispatched([activation.id for activation in activations])
    return activations
