"""What a process gives to the durable runs it works on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from agentic.core.errors import line_of
from agentic.core.graph.model.events import WorkflowEvent
from agentic.core.graph.model.history import HistorySource
from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger import (
    ActivationId,
    Dispatchable,
    LedgerStore,
    LedgerTransaction,
    NewActivation,
)
from agentic.core.ledger.records import DEFAULT_QUEUE
from agentic.core.logging import get_logger
from agentic.core.types import RunId
from agentic.executors.durable.runs.catalog import WorkflowCatalog
from agentic.executors.durable.worker.cached_run import CachedRun, StepPlan
from agentic.executors.durable.worker.claiming import Claimant
from agentic.executors.durable.worker.leases import LEASE_S, Leases
from agentic.executors.durable.worker.ledger_executor import DirectLedgerExecutor, LedgerExecutor
from agentic.executors.durable.worker.process_names import process_name
from agentic.executors.durable.worker.run_cache import RunCache
from agentic.executors.errors import BrokerUnavailableError


class RunWaiters:
    """Wakes the waiters of a run that comes to rest by a decision of this process."""

    def __init__(self) -> None:
        self._waiting: dict[RunId, set[asyncio.Event]] = {}

    def wake(self, run_id: RunId) -> None:
        """Wake the waiters of a run."""
        for event in self._waiting.get(run_id, ()):
            event.set()

    async def wait(self, run_id: RunId, timeout_s: float) -> None:
        """Return when a run rests by a decision of this process, or after ``timeout_s``."""
        event = asyncio.Event()
        self._waiting.setdefault(run_id, set()).add(event)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await event.wait()
        finally:
            self._waiting[run_id].discard(event)
            if not self._waiting[run_id]:
                del self._waiting[run_id]


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


@dataclass(frozen=True, kw_only=True)
class RunHost:
    """What a process gives to the durable runs it works on; nothing is connected or started at first.

    Attributes:
        store: The ledger.
        catalog: Finds the workflows.
        dispatcher: Notifies workers of activations.
        queues: The queues this process works on.
        worker: Readable name of this process; host and process id by default.
        lease_s: How long its claims outlive it.
        is_alone: Whether it does one activation at a time.
        only: The one run to work on, with its child runs; None for any.
        tell: Receives events, durable and live, if there is a listener.
        history: The source for ``ctx.history()``, unless the workflow names another.
        on_cut: Writes further changes when a run ends without its code.
        on_refused: Called with the reason why this process cannot run a claim; all may claim it again.
        waiters: Notified when a decision of this process ends a run, or makes it wait for answers.
    """

    store: LedgerStore
    catalog: WorkflowCatalog
    dispatcher: Dispatcher
    queues: Collection[str] = (DEFAULT_QUEUE,)
    worker: str = field(default_factory=process_name)
    lease_s: float = LEASE_S
    is_alone: bool = False
    only: RunId | None = None
    tell: Callable[[WorkflowEvent], None] | None = None
    history: HistorySource | None = None
    on_cut: OnCut | None = None
    on_refused: Callable[[Exception], None] | None = None
    waiters: RunWaiters = field(default_factory=RunWaiters)

    @cached_property
    def ledger_executor(self) -> LedgerExecutor:
        """Access to the ledger."""
        return DirectLedgerExecutor(self.store) if self.is_alone else LedgerExecutor(self.store)

    @cached_property
    def run_cache(self) -> RunCache:
        """The cached runs of this process."""
        return RunCache(self.ledger_executor, self.catalog)

    @cached_property
    def leases(self) -> Leases:
        """Keeps its claims alive."""
        return Leases(self.store, self.lease_s)

    @cached_property
    def me(self) -> Claimant:
        """The claimant."""
        return Claimant(
            worker=self.worker, queues=frozenset(self.queues), lease_s=self.lease_s, only=self.only
        )

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
            is_alone = isinstance(exc, BrokerUnavailableError) and exc.url is None  # no worker is expected
            level = logging.INFO if is_alone else logging.WARNING
            log.log(level, "dispatch.failed", count=len(activations), error=line_of(exc))
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
