"""Saves the state of a run in a store."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from agentic.core.graph.checkpoints.snapshots import CheckpointDraft, CheckpointTracker, StoredParts
from agentic.core.graph.checkpoints.store import CheckpointMetadata, CheckpointStore
from agentic.core.graph.definition.workflow import WorkflowDefinition
from agentic.core.graph.model.state import RunState
from agentic.core.types import RunId

# Removing old checkpoints is a transaction of its own, so several go at a time.
_PRUNE_EVERY = 10


class CheckpointWriter(CheckpointTracker):
    """The checkpoints of one run, written by its runner.

    Args:
        store: Where they are kept.
        workflow: The workflow of the run.
        run_id: The run.
        keep: How many to keep; None for all.
        saved: The current content of the store.
        converted: Parts that a migration changed, None for removed ones; saved with the next step.
    """

    def __init__(
        self,
        store: CheckpointStore,
        workflow: WorkflowDefinition,
        run_id: RunId,
        *,
        keep: int | None = None,
        saved: StoredParts | None = None,
        converted: Mapping[str, str | None] | None = None,
    ) -> None:
        super().__init__(workflow, run_id, saved=saved, converted=converted)
        self._store = store
        self._keep = keep

    async def save(self, state: RunState, now: float) -> CheckpointMetadata:
        """Save the state of the run.

        Raises:
            CheckpointConflictError: Another process saved first.
            CheckpointStoreError: The store cannot be reached or used.
            UnencodableError: Something in the state cannot be stored.
        """
        draft = self.draft(state, now)
        await self._write(draft)
        self.settle(draft)
        if self._keep is not None:
            await self._prune(self._keep, state)
        return draft.checkpoint.metadata

    async def _write(self, draft: CheckpointDraft) -> None:
        written = draft.checkpoint.metadata
        try:
            await self._store.save(draft.checkpoint)
        except asyncio.CancelledError:
            # It may have been written. The next save, of the run's end, needs to know.
            newest = await self._store.list_metadata(run_id=written.run_id, newest_only=True)
            if newest and newest[0].revision == written.revision:
                self.settle(draft)
            raise

    async def _prune(self, keep: int, state: RunState) -> None:
        if self.revision > keep and (self.revision % _PRUNE_EVERY == 0 or state.status.is_final):
            await self._store.keep_last(self._run_id, keep)
