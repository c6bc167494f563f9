"""The work of a saver on its rows, whatever store has them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from agentic.plugins.langgraph.errors import StoredStateError, ThreadNotCopiedError, ThreadTakenError
from agentic.plugins.langgraph.savers.pieces import Blob, hashes_of, is_piece, joined_pieces
from agentic.plugins.langgraph.savers.records import (
    CheckpointPlace,
    CheckpointRecord,
    WriteRecord,
    with_own_values,
)

CONTINUED = "another run has continued it meanwhile; nothing of this run was stored since. Run it again"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCheckpoint:
    """A checkpoint to add.

    Attributes:
        record: The checkpoint; its number is not yet known.
        pieces: The pieces of its values that may not be stored yet, by hash.
        follows: Id of the newest checkpoint when its run read the thread or saved the last one, "" for a
            new thread: it must still be the newest. None for a checkpoint that may branch off.
    """

    record: CheckpointRecord
    pieces: Mapping[bytes, bytes]
    follows: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retained:
    """The parts of a thread that stay.

    Attributes:
        records: The checkpoints, changed where they had values in others.
        removed: Those that go, with their writes.
        pieces: Hashes of all pieces that stay.
    """

    records: Sequence[CheckpointRecord]
    removed: Sequence[CheckpointRecord]
    pieces: Collection[bytes]


class SaverRows(Protocol):
    """The rows of the threads of one project, for one job.

    In SQL, a job is a transaction. In a bucket it is repeated if the thread has changed meanwhile.
    """

    async def lock(self, thread_id: str) -> None:
        """Begin a change of a thread: the rows that are read from here on stay as they are until its end."""
        ...

    async def newest(self, place: CheckpointPlace) -> CheckpointRecord | None:
        """Return the newest checkpoint of a history."""
        ...

    async def find(self, place: CheckpointPlace, ids: Collection[str]) -> Mapping[str, CheckpointRecord]:
        """Return checkpoints by id."""
        ...

    async def records(self, thread_id: str | None = None, ns: str | None = None) -> list[CheckpointRecord]:
        """Return the checkpoints of a thread, or of all, newest first within each history."""
        ...

    async def threads_of_runs(self, run_ids: Collection[str]) -> list[str]:
        """Return the threads with checkpoints of runs."""
        ...

    async def writes(self, place: CheckpointPlace, checkpoint_id: str) -> list[WriteRecord]:
        """Return the pending writes of a checkpoint, in any order."""
        ...

    async def writes_of_thread(self, thread_id: str) -> list[WriteRecord]:
        """Return all pending writes of a thread."""
        ...

    async def pieces(self, thread_id: str, hashes: Collection[bytes]) -> Mapping[bytes, bytes]:
        """Return pieces by hash, without those that are missing."""
        ...

    async def add(self, new: NewCheckpoint) -> None:
        """Store a checkpoint, all of it or nothing; a stored one with its id is left as it is. Locked before.

        Raises:
            ThreadTakenError: It follows a checkpoint that is not the newest.
        """
        ...

    async def add_writes(self, writes: Sequence[WriteRecord], pieces: Mapping[bytes, bytes]) -> None:
        """Store writes of one task: the first one of a slot counts, in a negative slot the last one.

        Locked before.
        """
        ...

    async def add_thread(
        self,
        records: Sequence[CheckpointRecord],
        writes: Sequence[WriteRecord],
        pieces: Mapping[bytes, bytes],
    ) -> None:
        """Store a thread that is not there, all of it or nothing: its records by number. Locked before."""
        ...

    async def retain(self, thread_id: str, kept: Retained) -> None:
        """Remove all else of a thread. Locked before."""
        ...

    async def delete(self, thread_id: str) -> None:
        """Remove a thread."""
        ...


@dataclass(slots=True, kw_only=True)
class StoredTuple:
    """A checkpoint with everything that belongs to it, serialised.

    Attributes:
        record: The checkpoint.
        values: The serialised values of its channels, with their kinds.
        writes: Its pending writes in order, with their values.
        checkpoint, metadata: LangGraph's.
    """

    record: CheckpointRecord
    checkpoint: tuple[str, bytes]
    metadata: tuple[str, bytes]
    values: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    writes: list[tuple[WriteRecord, tuple[str, bytes]]] = field(default_factory=list)


async def read_tuples(rows: SaverRows, records: Sequence[CheckpointRecord]) -> list[StoredTuple]:
    """Return checkpoints with their values and writes.

    Raises:
        StoredStateError: A part is missing or has changed.
    """
    return [await _read_tuple(rows, record) for record in records]


async def _read_tuple(rows: SaverRows, record: CheckpointRecord) -> StoredTuple:
    thread_id = record.place.thread_id
    origins = await rows.find(record.place, set(record.origins.values()))
    blobs = {**record.values}
    for channel, origin in record.origins.items():
        if origin not in origins or channel not in origins[origin].values:
            raise StoredStateError(
                thread_id, f"the value of {channel!r} of checkpoint {record.id} is missing"
            )
        blobs[channel] = origins[origin].values[channel]
    writes = sorted(await rows.writes(record.place, record.id), key=lambda one: one.order)
    needed = [record.checkpoint, record.metadata, *blobs.values(), *(one.value for one in writes)]
    found = await whole(rows, thread_id, needed)
    checkpoint, metadata, *rest = found
    values, written = rest[: len(blobs)], rest[len(blobs) :]
    return StoredTuple(
        record=record,
        checkpoint=checkpoint,
        metadata=metadata,
        values=dict(zip(blobs, values, strict=True)),
        writes=list(zip(writes, written, strict=True)),
    )


async def whole(rows: SaverRows, thread_id: str, blobs: Sequence[Blob]) -> list[tuple[str, bytes]]:
    """Return values in one piece, with their kinds; all pieces of a level are read at once.

    Raises:
        StoredStateError: A piece is missing or has changed.
    """
    rests = [blob.hashes for blob in blobs]
    for level in range(max((blob.depth for blob in blobs), default=0)):
        deeper = [number for number, blob in enumerate(blobs) if blob.depth > level]
        wanted = dict.fromkeys(name for number in deeper for name in hashes_of(rests[number]))
        found = await _checked_pieces(rows, thread_id, wanted)
        for number in deeper:
            rests[number] = joined_pieces(rests[number], found)
    return [(blob.kind, blob.head + rest) for blob, rest in zip(blobs, rests, strict=True)]


async def _checked_pieces(
    rows: SaverRows, thread_id: str, wanted: Collection[bytes]
) -> Mapping[bytes, bytes]:
    found = await rows.pieces(thread_id, wanted)
    for name in wanted:
        if name not in found:
            raise StoredStateError(thread_id, f"piece {name.hex()} of a value is missing")
        if not is_piece(name, found[name]):
            raise StoredStateError(thread_id, f"piece {name.hex()} of a value has changed")
    return found


async def pieces_below(rows: SaverRows, thread_id: str, blobs: Iterable[Blob]) -> set[bytes]:
    """Return the hashes of all pieces of values."""
    kept: set[bytes] = set()
    level = [(blob.depth, name) for blob in blobs for name in hashes_of(blob.hashes)]
    while level:
        kept.update(name for _, name in level)
        lists = {name: depth for depth, name in level if depth > 1}
        found = await _checked_pieces(rows, thread_id, lists)
        level = [(lists[name] - 1, below) for name in lists for below in hashes_of(found[name])]
    return kept


async def retain(rows: SaverRows, thread_id: str, keeps: Collection[tuple[str, str]]) -> None:
    """Keep some checkpoints of a thread, by namespace and id, with their values and writes; remove the rest.

    Locked before.
    """
    everything = await rows.records(thread_id)
    kept = [record for record in everything if (record.place.ns, record.id) in keeps]
    removed = [record for record in everything if (record.place.ns, record.id) not in keeps]
    if not removed:
        return
    if not kept:
        await rows.delete(thread_id)
        return
    whole_records = [
        with_own_values(record, _by_id(kept, record.place.ns), _by_id(everything, record.place.ns))
        for record in kept
    ]
    writes = [
        one for one in await rows.writes_of_thread(thread_id) if (one.place.ns, one.checkpoint_id) in keeps
    ]
    blobs = [blob for record in whole_records for blob in record.blobs()] + [one.value for one in writes]
    pieces = await pieces_below(rows, thread_id, blobs)
    await rows.retain(thread_id, Retained(records=whole_records, removed=removed, pieces=pieces))


def _by_id(records: Iterable[CheckpointRecord], ns: str) -> dict[str, CheckpointRecord]:
    return {record.id: record for record in records if record.place.ns == ns}


def newest_and_needed(
    records: Sequence[CheckpointRecord], deltas: Mapping[str, Collection[str]]
) -> set[tuple[str, str]]:
    """Return namespace and id of the newest checkpoint of each history, and of those it needs.

    A delta channel has no value in most checkpoints: it is made of the writes back to the last one with it.

    Args:
        records: Of a thread, newest first within each history.
        deltas: The delta channels without a value in the newest checkpoint of a namespace.
    """
    kept: set[tuple[str, str]] = set()
    for ns in dict.fromkeys(record.place.ns for record in records):
        history = {record.id: record for record in records if record.place.ns == ns}
        current = next(iter(history.values()))
        kept.add((ns, current.id))
        left = set(deltas.get(ns, ())) - set(current.whereabouts)
        while left and current.parent_id in history:
            current = history[current.parent_id]
            kept.add((ns, current.id))
            left -= set(current.whereabouts)
    return kept


async def copy(rows: SaverRows, source: str, target: str) -> None:
    """Copy a thread with all of its history.

    Raises:
        ThreadNotCopiedError: The target has checkpoints.
        StoredStateError: A part of the source is missing or has changed.
    """
    if not await rows.records(source):
        return
    for thread_id in sorted((source, target)):  # in one order, so that two copies never wait for each other
        await rows.lock(thread_id)
    if await rows.records(target):
        raise ThreadNotCopiedError(target)
    if not (records := await rows.records(source)):
        return
    writes = await rows.writes_of_thread(source)
    blobs = [blob for record in records for blob in record.blobs()] + [one.value for one in writes]
    pieces = await _checked_pieces(rows, source, await pieces_below(rows, source, blobs))
    moved = [
        replace(record, place=replace(record.place, thread_id=target))
        for record in sorted(records, key=lambda one: one.number)
    ]
    written = [replace(one, place=replace(one.place, thread_id=target)) for one in writes]
    await rows.add_thread(moved, written, pieces)


def refuse_stale(new: NewCheckpoint, newest_id: str | None) -> None:
    """Refuse a checkpoint whose history has moved on.

    Raises:
        ThreadTakenError: It has.
    """
    if new.follows is not None and new.follows != (newest_id or ""):
        raise ThreadTakenError(new.record.place.thread_id, CONTINUED)
