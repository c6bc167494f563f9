"""The common parts of checkpoint stores on servers; faults of servers are reported in one way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager

from agentic.core.graph.checkpoints.store import Checkpoint, CheckpointMetadata, StoredCheckpoint
from agentic.core.graph.errors import InvalidPolicyError
from agentic.core.graph.model.result import RunStatus
from agentic.core.stores import assembly, layout
from agentic.core.types import RunId


class ServerCheckpointStore(ABC):
    """Implements :class:`CheckpointStore` with a few operations of a server."""

    async def save(self, checkpoint: Checkpoint) -> None:
        """Save all of ``checkpoint``, or nothing.

        Raises:
            CheckpointConflictError: Its revision does not follow the newest one: another process continued.
            CheckpointStoreError: The server cannot be used. If it did not answer, the checkpoint may have
                been saved.
        """
        with self._telling():
            await self._save(checkpoint)

    async def load(self, run_id: RunId, revision: int) -> StoredCheckpoint:
        """Return a checkpoint.

        Raises:
            CheckpointNotFoundError: It never existed, or it was removed, or it expired.
            CorruptCheckpointError: It exists and cannot be read.
            CheckpointStoreError: The server cannot be used.
        """
        with self._telling():
            return await self._load(run_id, revision)

    async def latest(self, run_id: RunId) -> StoredCheckpoint:
        """Return a run's newest checkpoint. Raises like :meth:`load`."""
        with self._telling():
            return await self._load(run_id, None)

    async def list_metadata(
        self,
        *,
        run_id: RunId | None = None,
        workflow_id: str | None = None,
        status: RunStatus | None = None,
        newest_only: bool = False,
    ) -> Sequence[CheckpointMetadata]:
        """Return metadata of checkpoints: of one run by revision, of all by time, newest first.

        Raises:
            CorruptCheckpointError: One of them cannot be read.
            CheckpointStoreError: The server cannot be used.
        """
        with self._telling():
            metadata = await self._metadata(run_id, newest_only=newest_only)
        return assembly.listed(metadata, run_id=run_id, workflow_id=workflow_id, status=status)

    async def keep_last(self, run_id: RunId, count: int) -> int:
        """Remove all but a run's newest ``count`` checkpoints; return how many were removed.

        Raises:
            InvalidPolicyError: ``count`` is below 1.
            CheckpointStoreError: The server cannot be used.
        """
        if count < 1:
            raise InvalidPolicyError("count", count, "1 or more; delete_all() removes a run")
        with self._telling():
            return await self._keep_last(run_id, count)

    async def delete_all(self, run_id: RunId) -> int:
        """Remove a run; return how many checkpoints were removed.

        Raises:
            CheckpointStoreError: The server cannot be used.
        """
        with self._telling():
            return await self._delete_all(run_id)

    async def fork(self, run_id: RunId, revision: int, new_run_id: RunId) -> CheckpointMetadata:
        """Copy a checkpoint as the first one of a new run.

        Raises:
            CheckpointNotFoundError: The checkpoint does not exist.
            CheckpointConflictError: ``new_run_id`` already has checkpoints.
            CheckpointStoreError: The server cannot be used.
        """
        with self._telling():
            first = assembly.as_fork(await self._load(run_id, revision), new_run_id)
            await self._save(first)
            return layout.described(first)

    @abstractmethod
    def _telling(self) -> AbstractContextManager[None]:
        """Raise errors of the server's client as :class:`CheckpointStoreError`."""

    @abstractmethod
    async def _save(self, checkpoint: Checkpoint) -> None: ...

    @abstractmethod
    async def _load(self, run_id: RunId, wanted: int | None) -> StoredCheckpoint:
        """Return a checkpoint; the newest of its run for None."""

    @abstractmethod
    async def _metadata(self, run_id: RunId | None, *, newest_only: bool) -> list[CheckpointMetadata]:
        """Return the metadata of a run, or of all runs, in any order."""

    @abstractmethod
    async def _keep_last(self, run_id: RunId, count: int) -> int: ...

    @abstractmethod
    async def _delete_all(self, run_id: RunId) -> int: ...
