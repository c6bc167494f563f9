"""Checkpoints and events of a ledger in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from agentic.core.graph.checkpoints.store import Checkpoint, StoredCheckpoint, stored_bytes
from agentic.core.graph.errors import CheckpointNotFoundError
from agentic.core.ledger.memory_rows import CheckpointHead, KeptBatch, Rows, StatePart, UsesRows
from agentic.core.ledger.records import EventBatch, StateChanges
from agentic.core.types import RunId


class MemoryStates(UsesRows):
    """Implements :class:`agentic.core.ledger.port.RunStates`: each run's newest state, and its events."""

    def load(self, run_id: RunId) -> StoredCheckpoint:
        """Return a run's newest checkpoint."""
        head = self._head(run_id)
        parts = {
            part.name: part.text for part in self._rows.parts.listed("run", run_id) if part.text is not None
        }
        return StoredCheckpoint(metadata=head.metadata, head=head.text, parts=parts)

    def changes_since(self, run_id: RunId, revision: int) -> StateChanges:
        """Return the changes from a run's checkpoint of ``revision`` to its newest one."""
        head = self._head(run_id)
        changed = self._rows.parts.listed("run", run_id, start=(revision + 1,))
        return StateChanges(
            metadata=head.metadata, head=head.text, changes={part.name: part.text for part in changed}
        )

    def events(self, run_id: RunId, *, after: int = 0, limit: int = 1000) -> Sequence[EventBatch]:
        """Return batches of durable events with a sequence above ``after``, in order."""
        found = self._rows.batches.listed("run", run_id, start=(after + 1,))
        return [kept.batch for kept in islice(found, limit)]

    def unpublished(self, limit: int = 100) -> Sequence[EventBatch]:
        """Return batches not marked as published, in the order they came."""
        return [kept.batch for kept in islice(self._rows.batches.listed("unpublished"), limit)]

    def mark_published(self, batches: Sequence[EventBatch]) -> int:
        """Mark batches as published; return how many were not marked before."""
        table, count = self._rows.batches, 0
        for batch in batches:
            key = (batch.run_id, batch.first)
            kept = table.get(key)
            if kept is not None and not kept.is_published:
                table.put(key, replace(kept, is_published=True))
                count += 1
        return count

    def _head(self, run_id: RunId) -> CheckpointHead:
        head = self._rows.heads.get(run_id)
        if head is None:
            raise CheckpointNotFoundError(run_id)
        return head


def save_checkpoint(rows: Rows, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint of a run with a newer one."""
    metadata = checkpoint.metadata
    run_id = metadata.run_id
    size_bytes = stored_bytes(checkpoint.head, checkpoint.changes.values())
    rows.heads.put(run_id, CheckpointHead(replace(metadata, size_bytes=size_bytes), checkpoint.head))
    for name, text in checkpoint.changes.items():
        rows.parts.put((run_id, name), StatePart(run_id, metadata.revision, name, text))


def save_events(rows: Rows, batch: EventBatch) -> None:
    """Keep events that must be published."""
    rows.batches.put((batch.run_id, batch.first), KeptBatch(len(rows.batches), batch))
