"""Durable runs in this process alone: no broker, no worker processes, the same ledger."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from types import TracebackType
from typing import Self, TypedDict

from agentic.core.errors import line_of
from agentic.core.graph.model.events import WorkflowEvent
from agentic.core.graph.model.history import HistorySource
from agentic.core.ledger import ActivationId, Dispatchable, LedgerStore, LedgerUnavailableError
from agentic.core.logging import get_logger
from agentic.core.types import RunId
from agentic.executors.durable.reconcile.reconciler import REDISPATCH_AFTER_S, Reconciler
from agentic.executors.durable.runs.catalog import WorkflowCatalog
from agentic.executors.durable.runs.service import RunService
from agentic.executors.durable.worker.host import OnCut, RunHost
from agentic.executors.durable.worker.pool import WorkerPool
from agentic.executors.workers.guarding import engine_task

log = get_logger(__name__)

SWEEP_S = 5.0


class LocalDispatcher:
    """Notifies the workers of this process."""

    def __init__(self) -> None:
        self.wanted: asyncio.Queue[ActivationId] = asyncio.Queue()

    async def dispatch(self, activations: Sequence[Dispatchable]) -> None:
        """Announce activations, each as soon as it is due."""
        loop, now = asyncio.get_running_loop(), time.time()
        for activation in activations:
            delay_s = activation.not_before - now
            if delay_s > 0:
                loop.call_later(delay_s, self.wanted.put_nowait, activation.id)
            else:
                self.wanted.put_nowait(activation.id)


class HostOptions(TypedDict, total=False):
    """Options of a process that works on durable runs."""

    queues: Collection[str]
    worker: str
    lease_s: float
    is_alone: bool
    only: RunId | None
    tell: Callable[[WorkflowEvent], None] | None
    history: HistorySource | None
    on_cut: OnCut | None
    on_refused: Callable[[Exception], None] | None


class LocalRuns(RunService):
    """Works on the durable runs of a ledger, in this process; use it as an async context manager.

    Args:
        store: The ledger; its creator closes it.
        catalog: Finds the workflows.
        concurrency: Activations done at a time.
        sweep_s: Interval between searches of the ledger for abandoned work.
        options: How this process works.
    """

    def __init__(
        self,
        store: LedgerStore,
        catalog: WorkflowCatalog,
        *,
        concurrency: int = 16,
        sweep_s: float = SWEEP_S,
        options: HostOptions | None = None,
    ) -> None:
        self._dispatcher = LocalDispatcher()
        super().__init__(
            RunHost(store=store, catalog=catalog, dispatcher=self._dispatcher, **(options or {}))
        )
        self._concurrency = concurrency
        self._working_count = 0
        self._sweep_s = sweep_s
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self._tasks = [engine_task(self._serve()) for _ in range(self._concurrency)]
        self._tasks.append(engine_task(self._sweep()))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop; running activations return to the ledger."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.host.catalog.aclose()
        self.close()

    async def _serve(self) -> None:
        while True:
            wanted = await self._dispatcher.wanted.get()
            self._working_count += 1
            try:
                await WorkerPool(self.host).work(wanted)
            except LedgerUnavailableError as exc:
                log.warning("ledger.unavailable", reason=str(exc))
            except Exception as exc:  # of one activation: the others need this worker
                log.exception("work.failed", error=line_of(exc))
            finally:
                self._working_count -= 1

    async def _sweep(self) -> None:
        while True:
            # What is due in a single run is claimed at once: a notified worker may be gone, or busy.
            is_free = self.host.me.only is not None and self._is_idle
            try:
                await Reconciler(self.host, 0.0 if is_free else REDISPATCH_AFTER_S).sweep()
            except LedgerUnavailableError as exc:
                log.warning("ledger.unavailable", reason=str(exc))
            except Exception as exc:  # a damaged row
                log.warning("ledger.unreadable", exc_info=exc)
            await asyncio.sleep(self._sweep_s)

    @property
    def _is_idle(self) -> bool:
        return not self._working_count and self._dispatcher.wanted.empty()
