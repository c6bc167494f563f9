"""Stored checkpoints of runs, so that any process can resume a run.

A run's state is a set of named *parts*. A checkpoint holds its head (small, complete) and only the parts
that changed since the one before; a store puts them together again. So a checkpoint costs only its changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from agentic.core.graph.model.result import RunStatus
from agentic.core.records import record
from agentic.core.types import RunId

SCHEMA_VERSION = 1
"""Version of the content of heads and parts."""


@record
class CheckpointMetadata:
    """The facts of a checkpoint that are known without its content.

    Attributes:
        run_id: The run.
        revision: Counts the run's checkpoints, from 1 without gaps.
        superstep: The superstep that is due.
        status: The status of the run.
        saved_at: Seconds since the epoch.
        workflow_id: Name of the workflow.
        version: As its author gave it, or None.
        schema_version: Of the content.
        forked_from: For the first checkpoint of a fork: the id of the copied checkpoint.
        size_bytes: Size of this checkpoint's changes, as stored text; the store fills it in. For the first
            checkpoint of a fork: the size of all of it.
    """

    run_id: RunId
    revision: int
    superstep: int
    status: RunStatus
    saved_at: float
    workflow_id: str
    version: str | None = None
    schema_version: int = SCHEMA_VERSION
    forked_from: str | None = None
    size_bytes: int = 0

    @property
    def id(self) -> str:
        """Unique over all runs: ``run@revision``."""
        return f"{self.run_id}@{self.revision}"


@record
class Checkpoint:
    """One step of a run's history, in the form that is saved.

    Attributes:
        metadata: Its ``revision`` must follow the newest one stored.
        head: JSON.
        changes: Part name -> JSON, or None for a part that is gone. Others stay as they were.
    """

    metadata: CheckpointMetadata
    head: str
    changes: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCheckpoint:
    """A loaded checkpoint: complete.

    Attributes:
        metadata: As saved.
        head: JSON.
        parts: Every part of this checkpoint, by name.
    """

    metadata: CheckpointMetadata
    head: str
    parts: Mapping[str, str]


class CheckpointStore(Protocol):
    """Keeps checkpoints. Every store passes ``agentic.core.testing.CheckpointStoreContract``.

    All methods raise :class:`CheckpointStoreError` when the store cannot be reached or used.
    """

    async def save(self, checkpoint: Checkpoint) -> None:
        """Keep ``checkpoint``, all of it or nothing.

        Raises:
            CheckpointConflictError: Its revision does not follow the newest one: another process continued.
        """
        ...

    async def load(self, run_id: RunId, revision: int) -> StoredCheckpoint:
        """Return a checkpoint.

        Raises:
            CheckpointNotFoundError: It does not exist, or was removed.
            CorruptCheckpointError: It exists but cannot be read.
        """
        ...

    async def latest(self, run_id: RunId) -> StoredCheckpoint:
        """Return a run's newest checkpoint. Raises as :meth:`load`."""
        ...

    async def list_metadata(
        self,
        *,
        run_id: RunId | None = None,
        workflow_id: str | None = None,
        status: RunStatus | None = None,
        newest_only: bool = False,
    ) -> Sequence[CheckpointMetadata]:
        """Return the metadata of checkpoints, newest first, without reading their content.

        Newest is the highest revision within a run, and the last one saved among several runs.

        Args:
            run_id: Only of this run.
            workflow_id: Only of runs of this workflow.
            status: Only checkpoints with this status.
            newest_only: Only the newest one of each run; the other filters apply to that one.
        """
        ...

    async def keep_last(self, run_id: RunId, count: int) -> int:
        """Remove all but a run's newest ``count`` checkpoints; return how many were removed.

        Raises:
            InvalidPolicyError: ``count`` is less than 1.
        """
        ...

    async def delete_all(self, run_id: RunId) -> int:
        """Remove a run; return how many checkpoints were removed. Runs forked from it stay whole."""
        ...

    async def fork(self, run_id: RunId, revision: int, new_run_id: RunId) -> CheckpointMetadata:
        """Copy a checkpoint as the first one, revision 1, of a new run; the old run is not touched.

        Raises:
            CheckpointNotFoundError: The checkpoint does not exist.
            CheckpointConflictError: ``new_run_id`` has checkpoints already.
        """
        ...


def part_digest(name: str, text: str) -> int:
    """Return a number for one part; the head holds all of them, xor-ed, and each load checks the head."""
    digest = hashlib.blake2b(f"{name}\0{text}".encode(), digest_size=16)
    return int.from_bytes(digest.digest(), "big")


def stored_bytes(head: str, texts: Iterable[str | None]) -> int:
    """Return the size of a checkpoint: the UTF-8 length of its head and of the parts it changes."""
    return _length(head) + sum(_length(text) for text in texts if text is not None)


def _length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
