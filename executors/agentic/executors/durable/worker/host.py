"""What the parts of a process that works on durable runs share."""

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
from agentic.executors.durable.worker.cached_run import Plan, RunImage
from agentic.executors.durable.worker.claiming import Claimant
from agentic.executors.durable.worker.leases import Leases
from agentic.executors.durable.worker.ledger_executor import LedgerLane
from agentic.executors.durable.worker.run_cache import Images
from agentic.executors.durable.worker.waiters import Rests

log = get_logger(__name__)

MAX_COUNTDOWN_S = 10.0
"""Above it no message is sent, because a worker would hold it: the reconciler dispatches due activations."""

MAX_SPREAD = 32
"""Maximum number of workers notified of one superstep: each continues with the rest by itself."""


OnCut = Callable[[Any, RunId], object]
"""Called with the session of the transaction that ends a run whose code is not known."""


class Dispatcher(Protocol):
    """Tells workers of activations; the ledger says whether they may run."""

    async def dispatch(self, activations: Sequence[Dispatchable]) -> None:
        """Tell of activations, each as soon as it is due.

        Raises:
            DispatchError: Nobody could be told; they stay in the ledger, and are told of later.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHost:
    """What the parts of a process that works on durable runs share.

    Attributes:
        lane: To the ledger.
        catalog: Knows the workflows.
        images: What this process knows of runs.
        leases: Keeps its claims alive.
        dispatcher: Tells others.
        me: Who claims.
        tell: Takes events, durable and live, if anybody listens.
        history: Knows other runs.
        rests: Told of runs that have ended, or wait for answers, by a decision of this process.
        on_cut: Writes what else follows when a run is ended whose code is not known.
        on_refused: Told why this process cannot do what it claimed.
    """

    lane: LedgerLane
    catalog: WorkflowCatalog
    images: Images
    leases: Leases
    dispatcher: Dispatcher
    me: Claimant
    tell: Callable[[WorkflowEvent], None] | None = None
    history: HistorySource | None = None
    rests: Rests = field(default_factory=Rests)
    on_cut: OnCut | None = None
    on_refused: Callable[[Exception], None] | None = None

    def take(self, image: RunImage, plan: Plan) -> None:
        """Take over a plan that the ledger has taken, and tell of a run that rests by it."""
        image.take(plan)
        if self.tell is not None:
            for event in plan.events:
                self.tell(event)
        if plan.state.status.is_final:
            self.images.drop(image.run_id)
        else:
            self.images.put(image)
        if plan.state.status is not RunStatus.RUNNING:
            self.rests.tell(image.run_id)

    async def spread(self, activations: Sequence[Dispatchable]) -> None:
        """Tell workers of activations that are marked as dispatched; if that fails, unmark them."""
        if not activations:
            return
        try:
            await self.dispatcher.dispatch(activations)
        except Exception as exc:  # whatever a broker does, the run is safe in the ledger
            log.warning("dispatch.failed", count=len(activations), error=line_of(exc))
            ids = [activation.id for activation in activations]
            await self.lane.do(lambda ledger: ledger.mark_dispatched(ids, is_dispatched=False))


def pending(
    new: Iterable[NewActivation], workflow: str, priority: int, *, without: ActivationId | None = None
) -> list[Dispatchable]:
    """Return those of new activations that workers should be told of now."""
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
    """Note within a transaction that workers are about to be told; return who they are."""
    if activations:
        ledger.mark_dispatched([activation.id for activation in activations])
    return activations
