"""Checkpoints kept in this process: for tests, and for runs that no other process resumes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from agentic.core.graph.checkpoints.store import (
    Checkpoint,
    CheckpointMetadata,
    StoredCheckpoint,
    stored_bytes,
)
from agentic.core.graph.errors import CheckpointConflictError, CheckpointNotFoundError, InvalidPolicyError
from agentic.core.graph.model.result import RunStatus
from agentic.core.types import RunId


class MemoryCheckpointStore:
    """A :class:`~agentic.core.graph.checkpoints.store.CheckpointStore` that ends with its process.

    A save costs only the changes; parts are put together when a checkpoint is loaded. Any number of tasks may
    use one store, but only in one thread.
    """

    def __init__(self) -> None:
        self._runs: dict[RunId, _History] = {}

    async def save(self, checkpoint: Checkpoint) -> None:
        """Keep ``checkpoint``.

        Raises:
            CheckpointConflictError: Its revision does not follow the newest one.
        """
        metadata = checkpoint.metadata
        history = self._runs.get(metadata.run_id)
        newest = history.newest if history else 0
        if metadata.revision != newest + 1:
            raise CheckpointConflictError(metadata.run_id, metadata.revision, newest)
        if history is None:
            history = self._runs[metadata.run_id] = _History()
        history.kept.append(_Saved(metadata, checkpoint.head, dict(checkpoint.changes)))

    async def load(self, run_id: RunId, revision: int) -> StoredCheckpoint:
        """Return a checkpoint.

        Raises:
            CheckpointNotFoundError: It does not exist, or was removed.
        """
        history = self._runs.get(run_id)
        if history is None or not history.removed_count < revision <= history.newest:
            raise CheckpointNotFoundError(run_id, revision)
        return history.folded(revision)

    async def latest(self, run_id: RunId) -> StoredCheckpoint:
        """Return a run's newest checkpoint.

        Raises:
            CheckpointNotFoundError: The run does not exist.
        """
        history = self._runs.get(run_id)
        if history is None:
            raise CheckpointNotFoundError(run_id)
        return history.folded(history.newest)

    async def list_metadata(
        self,
        *,
        run_id: RunId | None = None,
        workflow_id: str | None = None,
        status: RunStatus | None = None,
        newest_only: bool = False,
    ) -> Sequence[CheckpointMetadata]:
        """Return the metadata of checkpoints: of one run by revision, else by time, newest first."""
        found = [
            saved.described()
            for history in self._histories(run_id)
            for saved in (history.kept[-1:] if newest_only else history.kept)
            if workflow_id in {None, saved.metadata.workflow_id} and status in {None, saved.metadata.status}
        ]
        if run_id is not None:
            return found[::-1]
        return sorted(found, key=lambda metadata: (metadata.saved_at, metadata.revision), reverse=True)

    async def keep_last(self, run_id: RunId, count: int) -> int:
        """Remove all but a run's newest ``count`` checkpoints; return how many were removed.

        Raises:
            InvalidPolicyError: ``count`` is below 1.
        """
        if count < 1:
            raise InvalidPolicyError("count", count, "1 or more; delete_all() removes a run")
        history = self._runs.get(run_id)
        return history.forget(len(history.kept) - count) if history else 0

    async def delete_all(self, run_id: RunId) -> int:
        """Remove a run; return how many checkpoints were removed."""
        history = self._runs.pop(run_id, None)
        return len(history.kept) if history else 0

    async def fork(self, run_id: RunId, revision: int, new_run_id: RunId) -> CheckpointMetadata:
        """Copy a checkpoint as the first one of a new run.

        Raises:
            CheckpointNotFoundError: The checkpoint does not exist.
            CheckpointConflictError: ``new_run_id`` has checkpoints already.
        """
        origin = await self.load(run_id, revision)
        metadata = replace(origin.metadata, run_id=new_run_id, revision=1, forked_from=origin.metadata.id)
        await self.save(Checkpoint(metadata=metadata, head=origin.head, changes=origin.parts))
        return self._runs[new_run_id].kept[0].described()

    def _histories(self, run_id: RunId | None) -> Iterable[_History]:
        if run_id is None:
            return self._runs.values()
        history = self._runs.get(run_id)
        return [history] if history else []


class _Saved(NamedTuple):
    metadata: CheckpointMetadata
    head: str
    changes: Mapping[str, str | None]

    def described(self) -> CheckpointMetadata:
        return replace(self.metadata, size_bytes=stored_bytes(self.head, self.changes.values()))


@dataclass(slots=True)
class _History:
    """One run: the parts at its last removed checkpoint, and the later changes."""

    base: dict[str, str] = field(default_factory=dict)
    removed_count: int = 0
    kept: list[_Saved] = field(default_factory=list)

    @property
    def newest(self) -> int:
        return self.removed_count + len(self.kept)

    def folded(self, revision: int) -> StoredCheckpoint:
        wanted = self.kept[: revision - self.removed_count]
        parts = dict(self.base)
        _apply(parts, wanted)
        return StoredCheckpoint(metadata=wanted[-1].described(), head=wanted[-1].head, parts=parts)

    def forget(self, count: int) -> int:
        if count <= 0:
            return 0
        _apply(self.base, self.kept[:count])
        del self.kept[:count]
        self.removed_count += count
        return count


def _apply(parts: dict[str, str], saved: Iterable[_Saved]) -> None:
    for one in saved:
        for name, text in one.changes.items():
            if text is None:
                parts.pop(name, None)
            else:
                parts[name] = text
