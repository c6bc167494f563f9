"""Build checkpoints from their stored pieces, for any server. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from agentic.core.graph.checkpoints.store import Checkpoint, CheckpointMetadata, StoredCheckpoint
from agentic.core.graph.errors import CorruptCheckpointError
from agentic.core.graph.model.result import RunStatus
from agentic.core.stores import layout
from agentic.core.stores.layout import PieceKey
from agentic.core.types import RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """The places of a checkpoint's values; ``name`` is the checkpoint's, for messages."""

    name: str
    meta: str
    text: str
    parts: tuple[str, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys."""
        return (self.meta, self.text, *self.parts)


def pieces_of(places: Iterable[PieceKey], life: str, run_id: RunId, revision: int) -> Pieces:
    """Return the pieces to read for a checkpoint.

    Raises:
        CorruptCheckpointError: It has no metadata or no head.
    """
    places = list(places)
    name = f"{run_id}@{revision}"
    write = layout.committed(places, life).get(revision)
    if write is None:
        raise CorruptCheckpointError(name, "it is listed but missing")
    own = {p.kind: p.key for p in places if (p.revision, p.write) == (revision, write) and not p.part}
    if "text" not in own:
        raise CorruptCheckpointError(name, "its head is missing")
    there = layout.standing(places, life, revision).values()
    parts = tuple(place.key for place in there if place.kind == "part")
    return Pieces(name=name, meta=own["meta"], text=own["text"], parts=parts)


def put_together(pieces: Pieces, found: Mapping[str, bytes]) -> StoredCheckpoint:
    """Return a checkpoint from the values found at the keys of its pieces.

    Raises:
        CorruptCheckpointError: A value is missing, or cannot be read.
    """
    missing_count = sum(key not in found for key in pieces.keys)
    if missing_count:
        raise CorruptCheckpointError(pieces.name, f"{missing_count} of its values are missing")
    return StoredCheckpoint(
        metadata=layout.metadata_of(pieces.name, found[pieces.meta]),
        head=found[pieces.text].decode(),
        parts=dict(layout.part_of(pieces.name, found[key]) for key in pieces.parts),
    )


def as_fork(origin: StoredCheckpoint, new_run_id: RunId) -> Checkpoint:
    """Return a checkpoint as the first one of a new run."""
    metadata = replace(origin.metadata, run_id=new_run_id, revision=1, forked_from=origin.metadata.id)
    return Checkpoint(metadata=metadata, head=origin.head, changes=dict(origin.parts))


def listed(
    metadata: Iterable[CheckpointMetadata],
    *,
    run_id: RunId | None,
    workflow_id: str | None,
    status: RunStatus | None,
) -> Sequence[CheckpointMetadata]:
    """Return the requested metadata, newest first: of one run by revision, of several by time."""
    found = [
        one for one in metadata if workflow_id in {None, one.workflow_id} and status in {None, one.status}
    ]
    if run_id is not None:
        return sorted(found, key=lambda one: one.revision, reverse=True)
    return sorted(found, key=lambda one: (one.saved_at, one.revision), reverse=True)
