"""Caches the runs of this process, so that it need not read them at every activation."""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from agentic.core.graph.checkpoints.store import StoredCheckpoint
from agentic.core.types import RunId
from agentic.executors.durable.runs.catalog import WorkflowCatalog
from agentic.executors.durable.worker.cached_run import RunImage
from agentic.executors.durable.worker.ledger_executor import LedgerLane

MAX_IMAGES = 64


class Images:
    """The most recently used runs.

    Args:
        lane: To the ledger.
        catalog: Finds the workflows.
        size: How many runs to keep.
    """

    def __init__(self, lane: LedgerLane, catalog: WorkflowCatalog, size: int = MAX_IMAGES) -> None:
        self._lane = lane
        self._catalog = catalog
        self._size = size
        self._images: OrderedDict[RunId, RunImage] = OrderedDict()

    def knows(self, run_id: RunId, revision: int) -> bool:
        """Whether a run is known at ``revision`` or later, so that it need not be read."""
        image = self._images.get(run_id)
        return image is not None and image.revision >= revision

    async def get(
        self, run_id: RunId, workflow: str, revision: int, read: StoredCheckpoint | None = None
    ) -> RunImage:
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
        image = self._images.get(run_id)
        if image is None or image.revision < revision:
            image = await self._load(run_id, workflow, read)
            self.put(image)
        else:
            self._images.move_to_end(run_id)
        return image

    def put(self, image: RunImage) -> None:
        """Keep a run; the least recently used one is dropped."""
        self._images[image.run_id] = image
        self._images.move_to_end(image.run_id)
        while len(self._images) > self._size:
            self._images.popitem(last=False)

    def drop(self, run_id: RunId) -> None:
        """Drop a run: another process continues it, or it has ended."""
        self._images.pop(run_id, None)

    async def _load(self, run_id: RunId, workflow: str, read: StoredCheckpoint | None) -> RunImage:
        if read is None:
            read = await self._lane.do(lambda ledger: ledger.load(run_id))
        flow = self._catalog.built(workflow)
        if flow is None:
            flow = await asyncio.to_thread(self._catalog.get, workflow)
        return RunImage.restored(flow, read)
