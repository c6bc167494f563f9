"""Checkpoints and events of the ledger in SQL."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.graph.checkpoints.store import StoredCheckpoint
from agentic.core.graph.errors import CheckpointNotFoundError
from agentic.core.ledger import EventBatch, StateChanges
from agentic.core.types import RunId
from agentic.mappers.checkpoints.rows import checkpoint_of, metadata_of
from agentic.mappers.checkpoints.statements import PREPARE_HOT_JOINS, READ_LATEST
from agentic.mappers.ledger import state_statements as statements
from agentic.mappers.ledger.base import UsesCursor
from agentic.mappers.ledger.rows import Row


class SqlStates(UsesCursor):
    """Implements :class:`agentic.core.ledger.port.RunStates`."""

    def load(self, run_id: RunId) -> StoredCheckpoint:
        """Return a run's newest checkpoint."""
        if self._cursor.is_postgresql:  # elsewhere it has no effect, but costs a statement
            self._cursor.rows(PREPARE_HOT_JOINS, {})
        found = checkpoint_of(self._cursor.rows(READ_LATEST, self._of_project(run_id=run_id)))
        if found is None:
            raise CheckpointNotFoundError(run_id)
        return found

    def changes_since(self, run_id: RunId, revision: int) -> StateChanges:
        """Return the changes from checkpoint ``revision`` to the run's newest checkpoint."""
        values = self._of_project(run_id=run_id, revision=revision)
        with self._cursor.joined() as connection:
            rows = connection.execute(statements.CHANGES, values).mappings().all()
        head = next((row for row in rows if row["part"] is None), None)
        if head is None:
            raise CheckpointNotFoundError(run_id)
        if head["oldest"] > max(revision, 1):  # earlier marks of removed parts are deleted
            raise CheckpointNotFoundError(run_id, revision)
        changes = {row["part"]: row["text"] for row in rows if row is not head}
        return StateChanges(metadata=metadata_of(head), head=head["text"], changes=changes)

    def events(self, run_id: RunId, *, after: int = 0, limit: int = 1000) -> Sequence[EventBatch]:
        """Return batches of durable events with a sequence above ``after``, in order."""
        values = self._of_project(run_id=run_id, after=after, limit=limit)
        return [_batch(row) for row in self._cursor.rows(statements.EVENTS_OF_RUN, values)]

    def unpublished(self, limit: int = 100) -> Sequence[EventBatch]:
        """Return unpublished batches; batches of the same run are in order."""
        rows = self._cursor.rows(statements.UNPUBLISHED, self._of_project(limit=limit))
        return [_batch(row) for row in rows]

    def mark_published(self, batches: Sequence[EventBatch]) -> int:
        """Mark batches as published; return how many were not marked before."""
        rows = [self._of_project(run_id=batch.run_id, last=batch.last) for batch in batches]
        return self._cursor.run_each(statements.MARK_PUBLISHED, rows) if rows else 0


def _batch(row: Row) -> EventBatch:
    run_id, first, last, text = row
    return EventBatch(run_id=run_id, first=first, last=last, text=text)
