"""Checkpoints and writes of LangGraph as they are stored. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import ormsgpack

from agentic.plugins.langgraph.savers.pieces import Blob

SCHEMA = 1

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPlace:
    """A history of checkpoints: a graph's in a thread, or a nested graph's.

    Attributes:
        thread_id: The thread.
        ns: The namespace: "" for the outermost graph.
    """

    thread_id: str
    ns: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRecord:
    """A checkpoint.

    Attributes:
        place: Its history.
        id: Its id there.
        number: From 1, in the order of the commits: the newest has the greatest. Ids come from clocks.
        parent_id: The checkpoint before it, if any.
        run_id: The run that made it, if it says so.
        checkpoint: LangGraph's checkpoint without the values.
        metadata: LangGraph's metadata.
        values: The values of channels that it changed.
        origins: For the other channels with a value, the checkpoint whose record has it.
        life: In a bucket, drawn when the history begins: the rest of a deleted one does not belong to it.
    """

    place: CheckpointPlace
    id: str
    number: int
    parent_id: str | None
    run_id: str
    checkpoint: Blob
    metadata: Blob
    values: Mapping[str, Blob]
    origins: Mapping[str, str]
    life: str = ""

    @property
    def whereabouts(self) -> dict[str, str]:
        """The checkpoint that has the value of each channel."""
        return {**self.origins, **dict.fromkeys(self.values, self.id)}

    def blobs(self) -> list[Blob]:
        """All that may have pieces."""
        return [self.checkpoint, self.metadata, *self.values.values()]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRecord:
    """A write of a task, pending until the next checkpoint.

    Attributes:
        place: The history of its checkpoint.
        checkpoint_id: The checkpoint whose task it is of.
        task_id: The task.
        slot: Its number among the task's writes; negative for errors, interrupts and answers.
        channel: The channel.
        path: Path of the task, for the order.
        value: The value.
    """

    place: CheckpointPlace
    checkpoint_id: str
    task_id: str
    slot: int
    channel: str
    path: str
    value: Blob

    @property
    def order(self) -> tuple[str, str, int]:
        """Its place among the writes of its checkpoint."""
        return (self.path, self.task_id, self.slot)


def write_checkpoint(record: CheckpointRecord) -> bytes:
    """Return a record as bytes."""
    made_by: dict[str, list[str]] = {}
    for channel, origin in record.origins.items():
        made_by.setdefault(origin, []).append(channel)
    return ormsgpack.packb(
        {
            "schema": SCHEMA,
            "thread": record.place.thread_id,
            "ns": record.place.ns,
            "id": record.id,
            "number": record.number,
            "parent": record.parent_id,
            "run": record.run_id,
            "checkpoint": record.checkpoint.as_list(),
            "metadata": record.metadata.as_list(),
            "values": {name: blob.as_list() for name, blob in record.values.items()},
            "origins": made_by,
            "life": record.life,
        }
    )


def read_checkpoint(data: bytes) -> CheckpointRecord:
    """Read a record.

    Raises:
        ValueError: It is not one.
    """
    found = _unpacked(data)
    try:
        return CheckpointRecord(
            place=CheckpointPlace(thread_id=_a(str, found["thread"]), ns=_a(str, found["ns"])),
            id=_a(str, found["id"]),
            number=_a(int, found["number"]),
            parent_id=None if found["parent"] is None else _a(str, found["parent"]),
            run_id=_a(str, found["run"]),
            checkpoint=Blob.from_list(found["checkpoint"]),
            metadata=Blob.from_list(found["metadata"]),
            values={name: Blob.from_list(blob) for name, blob in found["values"].items()},
            origins={name: origin for origin, names in found["origins"].items() for name in names},
            life=_a(str, found["life"]),
        )
    except (KeyError, TypeError, AttributeError) as exc:
        raise ValueError(f"a record misses a part ({type(exc).__name__}: {exc})") from exc


def write_writes(writes: Sequence[WriteRecord]) -> bytes:
    """Return writes of one task at one checkpoint as bytes."""
    first = writes[0]
    return ormsgpack.packb(
        {
            "schema": SCHEMA,
            "checkpoint": first.checkpoint_id,
            "task": first.task_id,
            "path": first.path,
            "writes": [[one.slot, one.channel, one.value.as_list()] for one in writes],
        }
    )


def read_writes(place: CheckpointPlace, data: bytes) -> list[WriteRecord]:
    """Read writes.

    Raises:
        ValueError: The bytes are something else.
    """
    found = _unpacked(data)
    try:
        return [
            WriteRecord(
                place=place,
                checkpoint_id=_a(str, found["checkpoint"]),
                task_id=_a(str, found["task"]),
                path=_a(str, found["path"]),
                slot=_a(int, slot),
                channel=_a(str, channel),
                value=Blob.from_list(value),
            )
            for slot, channel, value in found["writes"]
        ]
    except (KeyError, TypeError, ValueError) as exc:
        raise ValueError(f"writes of a task miss a part ({type(exc).__name__}: {exc})") from exc


def write_blob(blob: Blob) -> bytes:
    """Return a value as bytes."""
    return ormsgpack.packb(blob.as_list())


def read_blob(data: bytes) -> Blob:
    """Read a value.

    Raises:
        ValueError: It is not one.
    """
    try:
        return Blob.from_list(ormsgpack.unpackb(data))
    except TypeError as exc:
        raise ValueError(str(exc)) from exc


def merged(known: Sequence[WriteRecord], new: Sequence[WriteRecord]) -> list[WriteRecord]:
    """Return the writes of a task: the first one of a slot counts, in a negative slot the last one."""
    slots = {one.slot: one for one in known}
    for one in new:
        if one.slot < 0 or one.slot not in slots:
            slots[one.slot] = one
    return list(slots.values())


def with_own_values(
    record: CheckpointRecord,
    kept: Mapping[str, CheckpointRecord],
    all_records: Mapping[str, CheckpointRecord],
) -> CheckpointRecord:
    """Return a record that finds its values in itself or in ``kept``, by id, when the others are removed."""
    lost = {name: origin for name, origin in record.origins.items() if origin not in kept}
    if not lost:
        return record
    taken = {
        name: all_records[origin].values[name]
        for name, origin in lost.items()
        if origin in all_records and name in all_records[origin].values
    }
    origins = {name: origin for name, origin in record.origins.items() if name not in lost}
    return replace(record, values={**record.values, **taken}, origins=origins)


def _unpacked(data: bytes) -> Any:  # noqa: ANN401 - checked part by part
    found = ormsgpack.unpackb(data)
    if not isinstance(found, dict):
        raise ValueError("it is not a record")  # noqa: TRY004 - of stored data, not of an argument
    if found.get("schema") != SCHEMA:
        raise ValueError(f"its schema is {found.get('schema')!r}; this version reads {SCHEMA}")
    return found


def _a(kind: type[T], value: object) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is not of type {kind.__name__}")
    return value
