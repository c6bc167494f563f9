"""Caches the runs of this process, so that it need not read them at every activation."""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from agentic.core.graph.checkpoints.store import StoredCheckpoint
from agentic.core.types import RunId
from agentic.executors.durable.runs.catalog import WorkflowCatalog
from agentic.executors.durable.worker.cached_run import CachedRun
from agentic.executors.durable.worker.ledger_executor import LedgerExecutor

MAX_CACHED_RUNS = 64


class RunCache:
    """The most recently used runs.

    Args:
        ledger_executor: To the ledger.
        catalog: Finds the workflows.
        size: How many runs to keep.
    """

    def __init__(
        self, ledger_executor: LedgerExecutor, catalog: WorkflowCatalog, size: int = MAX_CACHED_RUNS
    ) -> None:
        self._ledger_executor = ledger_executor
        self._catalog = catalog
        self._size = size
        self._cached_runs: OrderedDict[RunId, CachedRun] = OrderedDict()

    def knows(self, run_id: RunId, revision: int) -> bool:
        """Whether a run is known at ``revision`` or later, so that it need not be read."""
        cached_run = self._cached_runs.get(run_id)
        return cached_run is not None and cached_run.revision >= revision

    async def get(
        self, run_id: RunId, workflow: str, revision: int, read: StoredCheckpoint | None = None
    ) -> CachedRun:
        """Return a run, at ``revision`` or later.

        Args:
            run_id: The run.
            workflow: Name of its workflow.
            revision: Revision of a checkpoint.
            read: Its newest checkpoint, if already read.

        Raises:
            UnknownWorkflowError: This process does not know its workflow.
            CheckpointError: Its checkpoint cannot be used here.
            LedgerUnavailableError: The ledger cannot be used.
        """
        cached_run = self._cached_runs.get(run_id)
        if cached_run is None or cached_run.revision < revision:
            cached_run = await self._load(run_id, workflow, read)
            self.put(cached_run)
        else:
            self._cached_runs.move_to_end(run_id)
        return cached_run

    def put(self, cached_run: CachedRun) -> None:
        """Keep a run; the least recently used one is dropped."""
        self._cached_runs[cached_run.run_id] = cached_run
        self._cached_runs.move_to_end(cached_run.run_id)
        while len(self._cached_runs) > self._size:
            self._cached_runs.popitem(last=False)

    def drop(self, run_id: RunId) -> None:
        """Drop a run: another process continues it, or it has ended."""
        self._cached_runs.pop(run_id, None)

    async def _load(self, run_id: RunId, workflow: str, read: StoredCheckpoint | None) -> CachedRun:
        if read is None:
            read = await self._ledger_executor.do(lambda ledger: ledger.load(run_id))
        registered = self._catalog.built(workflow)
        if registered is None:
            registered = await asyncio.to_thread(self._catalog.get, workflow)
        return CachedRun.restored(registered, read)
