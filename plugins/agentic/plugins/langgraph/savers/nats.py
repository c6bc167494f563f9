"""Threads of LangGraph in buckets: of NATS, or in memory.

    THREAD.NS.head                       the newest checkpoint: the only key that is replaced
    THREAD.NS.c.CHECKPOINT               an earlier one, copied from there before the newest took its place
    THREAD.NS.w.CHECKPOINT.TASK.SLOT     writes of a task: its results (r), an error, interrupts, answers
    THREAD.d.HASH                        a piece of large values

Names are hashed, because they may be any text. A checkpoint is stored when its head is: the pieces and the
copy of the head before come first, and change nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Self, TypeVar
from uuid import uuid4

from agentic.core.bus import KeyConflictError, KeyEntry, KeyValue, NatsAccess
from agentic.core.bus.errors import BusUnavailableError
from agentic.core.bus.kv import MAX_WRITES, NOT_THERE, KeyWrite
from agentic.core.bus.large import packed, piece_keys, read_large, unpacked
from agentic.core.stores.layout import word
from agentic.plugins.langgraph.errors import LangGraphError, SaverUnavailableError, StoredStateError
from agentic.plugins.langgraph.savers.records import (
    CheckpointPlace,
    CheckpointRecord,
    WriteRecord,
    merged,
    read_checkpoint,
    read_writes,
    write_checkpoint,
    write_writes,
)
from agentic.plugins.langgraph.savers.rows import NewCheckpoint, Retained, refuse_stale
from agentic.plugins.langgraph.savers.saver import AgenticSaver, Job
from agentic.plugins.langgraph.savers.serializer import StateType

T = TypeVar("T")

BUCKET = "AGENTIC_LANGGRAPH"
RESULTS = "r"

_TRIES = 20
_AT_A_TIME = 64


class NatsSaver(AgenticSaver):
    """Keeps threads in a bucket of NATS.

    Make it on the event loop that it is used on. Its sync methods may be called in other threads, where
    LangGraph calls them for nested graphs of sync nodes.

    Args:
        bucket: Of the project.
        types: See :class:`AgenticSaver`.
    """

    def __init__(self, bucket: KeyValue, *, types: Iterable[type | StateType] = ()) -> None:
        super().__init__(types=types)
        self._bucket = bucket
        self._loop: asyncio.AbstractEventLoop | None = None

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        url: str,
        *,
        project: str = "default",
        access: NatsAccess | None = None,
        types: Iterable[type | StateType] = (),
    ) -> AsyncGenerator[Self, None]:
        """Open the threads of a project on a NATS server, until the block ends.

        Args:
            url: As ``nats://host:port``.
            project: Name of the project.
            access: Further credentials for the server.
            types: See :class:`AgenticSaver`.
        """
        from agentic.core.bus.nats.bus import NatsBus

        bus = NatsBus(url, access)
        try:
            saver = cls(bus.bucket(BUCKET, project=project), types=types)
            saver._loop = asyncio.get_running_loop()
            yield saver
        finally:
            await bus.aclose()

    async def _do(self, job: Job[T], *, reads: bool = False) -> T:  # noqa: ARG002 - both are alike here
        self._loop = asyncio.get_running_loop()
        try:
            for _ in range(_TRIES):
                try:
                    return await job(_BucketRows(self._bucket))
                except _ChangedError:
                    continue
        except BusUnavailableError as exc:
            raise SaverUnavailableError(f"threads of LangGraph cannot be stored: {exc}") from exc
        raise SaverUnavailableError("a thread of LangGraph changes all the time; try again")

    def _do_now(self, job: Job[T], *, reads: bool = False) -> T:
        if self._loop is None or self._loop.is_closed():
            raise LangGraphError(
                "the sync methods of NatsSaver need its event loop: use ainvoke() and astream(), or SqlSaver"
            )
        try:
            is_here = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            is_here = False
        if is_here:
            raise LangGraphError(
                "a sync method of NatsSaver would block its own event loop; use ainvoke() and astream(), or "
                "call it in a thread: await asyncio.to_thread(graph.invoke, ...)"
            )
        return asyncio.run_coroutine_threadsafe(self._do(job, reads=reads), self._loop).result()


class _ChangedError(Exception):
    """The thread has changed since this job read it: do it again."""


class _BucketRows:
    """Implements :class:`SaverRows`; compares the revisions of heads at the end."""

    def __init__(self, bucket: KeyValue) -> None:
        self._bucket = bucket
        self._heads: dict[CheckpointPlace, KeyEntry | None] = {}  # with their whole values
        self._keys: Mapping[str, int] = {}  # of the thread whose writes were read, with their revisions

    async def lock(self, thread_id: str) -> None:  # noqa: ARG002 - the port has it
        self._heads.clear()  # heads are compared with those that are read from here on

    async def newest(self, place: CheckpointPlace) -> CheckpointRecord | None:
        entry = await self._head(place)
        return None if entry is None else _record(place.thread_id, entry.value)

    async def find(self, place: CheckpointPlace, ids: Collection[str]) -> Mapping[str, CheckpointRecord]:
        if not ids:
            return {}
        # The head first: a checkpoint that it leaves is copied before.
        newest = await self.newest(place)
        if newest is None:
            return {}
        values = await self._values([_checkpoint_key(place, one) for one in ids if one != newest.id])
        found = [newest, *(_record(place.thread_id, value) for value in values.values())]
        return {one.id: one for one in found if one.id in ids and one.life == newest.life}

    async def records(self, thread_id: str | None = None, ns: str | None = None) -> list[CheckpointRecord]:
        base = f"{'*' if thread_id is None else word(thread_id)}.{'*' if ns is None else word(ns)}"
        heads = await self._bucket.get_many(list(await self._bucket.keys(f"{base}.head")))
        values = await self._values(list(await self._bucket.keys(f"{base}.c.*")))
        lives: dict[CheckpointPlace, str] = {}
        found = [_record(key, value) for key, value in values.items()]
        for entry in heads.values():
            whole = await self._whole(entry)
            record = _record(entry.key, whole.value)
            self._heads[record.place], lives[record.place] = whole, record.life
            found.append(record)
        # Both the newest and a copy of it may be there: they are alike.
        unique = {(one.place, one.id): one for one in found if one.life == lives.get(one.place)}
        return sorted(unique.values(), key=lambda one: (one.place.thread_id, one.place.ns, -one.number))

    async def threads_of_runs(self, run_ids: Collection[str]) -> list[str]:
        found = (one.place.thread_id for one in await self.records() if one.run_id in run_ids)
        return list(dict.fromkeys(found))

    async def writes(self, place: CheckpointPlace, checkpoint_id: str) -> list[WriteRecord]:
        values = await self._values_of(f"{_base(place)}.w.{word(checkpoint_id)}.*.*")
        return [one for value in values.values() for one in _writes(place, value)]

    async def writes_of_thread(self, thread_id: str) -> list[WriteRecord]:
        places = {word(one.place.ns): one.place for one in await self.records(thread_id)}
        # Before the writes: a piece that is put again after its write has another revision then.
        self._keys = await self._bucket.keys(f"{word(thread_id)}.>")
        values = await self._values_of(f"{word(thread_id)}.*.w.*.*.*")
        return [
            one
            for key, value in values.items()
            if (place := places.get(key.split(".")[1])) is not None
            for one in _writes(place, value)
        ]

    async def pieces(self, thread_id: str, hashes: Collection[bytes]) -> Mapping[bytes, bytes]:
        names = {_piece_key(thread_id, name): name for name in hashes}
        entries = await self._bucket.get_many(list(names)) if names else {}
        return {names[key]: entry.value for key, entry in entries.items()}

    async def add(self, new: NewCheckpoint) -> None:
        record, place = new.record, new.record.place
        head = self._heads[place] if place in self._heads else await self._head(place)
        newest = None if head is None else _record(place.thread_id, head.value)
        if record.id in await self.find(place, [record.id]):
            return
        refuse_stale(new, None if newest is None else newest.id)
        first = {_piece_key(place.thread_id, name): piece for name, piece in new.pieces.items()}
        if head is not None and newest is not None:
            first |= packed(_checkpoint_key(place, newest.id), head.value)
        await self._put_all(first)
        number, life = (1, uuid4().hex) if newest is None else (newest.number + 1, newest.life)
        await self._put_head(place, replace(record, number=number, life=life), head)

    async def add_writes(self, writes: Sequence[WriteRecord], pieces: Mapping[bytes, bytes]) -> None:
        if not writes:
            return
        thread_id = writes[0].place.thread_id
        below = {_piece_key(thread_id, name): piece for name, piece in pieces.items()}
        await self._put_all(below)
        if results := [one for one in writes if one.slot >= 0]:
            await self._add_results(results)
        for one in writes:
            if one.slot < 0:
                await self._put_all(packed(_write_key(one), write_writes([one])))
        # No head changes: one that prunes the thread may have seen the pieces, and not yet their write.
        await self._put_all(below)

    async def add_thread(
        self,
        records: Sequence[CheckpointRecord],
        writes: Sequence[WriteRecord],
        pieces: Mapping[bytes, bytes],
    ) -> None:
        thread_id = records[0].place.thread_id
        values = {_piece_key(thread_id, name): piece for name, piece in pieces.items()}
        tasks: dict[str, list[WriteRecord]] = {}
        for one in writes:
            tasks.setdefault(_write_key(one), []).append(one)
        for key, together in tasks.items():
            values |= packed(key, write_writes(together))
        tops = {one.place: one for one in records}
        for record in records:
            if record is not tops[record.place]:
                values |= packed(_checkpoint_key(record.place, record.id), write_checkpoint(record))
        await self._put_all(values)
        for place, record in sorted(tops.items(), key=lambda one: one[0].ns, reverse=True):
            await self._put_head(place, record, None)

    async def _add_results(self, writes: Sequence[WriteRecord]) -> None:
        key, place = _write_key(writes[0]), writes[0].place
        if await self._put(key, write_writes(writes), NOT_THERE):
            return
        entry = await self._bucket.get(key)
        if entry is None:
            raise _ChangedError
        known = _writes(place, (await self._whole(entry)).value)
        after = merged(known, writes)
        if len(after) > len(known) and not await self._put(key, write_writes(after), entry.revision):
            raise _ChangedError

    async def retain(self, thread_id: str, kept: Retained) -> None:
        keys = self._keys
        tops = {one.place: one for one in sorted(kept.records, key=lambda one: one.number)}
        stays = {_piece_key(thread_id, name) for name in kept.pieces}
        for record in kept.records:
            if tops[record.place] is record:
                await self._put_head(record.place, record, self._heads.get(record.place))
                stays.add(_head_key(record.place))
            else:
                key = _checkpoint_key(record.place, record.id)
                await self._put_all(packed(key, write_checkpoint(record)))
                stays.add(key)
        stays.update(key for key in keys if ".w." in key)
        stays.difference_update(
            key
            for one in kept.removed
            for key in keys
            if key.startswith(f"{_base(one.place)}.w.{word(one.id)}.")
        )
        gone = [key for key in keys if not {key, key.rpartition(".")[0]} & stays]
        await self._delete_unchanged({key: keys[key] for key in gone})

    async def delete(self, thread_id: str) -> None:
        # Heads first: without them the rest is nothing.
        keys = sorted(
            await self._bucket.keys(f"{word(thread_id)}.>"), key=lambda key: not key.endswith(".head")
        )
        for start in range(0, len(keys), MAX_WRITES):
            part = keys[start : start + MAX_WRITES]
            await self._bucket.write([KeyWrite(key=key, value=None) for key in part])

    async def _head(self, place: CheckpointPlace) -> KeyEntry | None:
        entry = await self._bucket.get(_head_key(place))
        self._heads[place] = None if entry is None else await self._whole(entry)
        return self._heads[place]

    async def _put_head(
        self, place: CheckpointPlace, record: CheckpointRecord, before: KeyEntry | None
    ) -> None:
        key, value = _head_key(place), write_checkpoint(record)
        if not await self._put(key, value, NOT_THERE if before is None else before.revision):
            raise _ChangedError
        if before is not None:
            stale = packed(key, before.value).keys() - packed(key, value).keys()
            for piece in stale:
                await self._bucket.delete(piece)

    async def _put(self, key: str, value: bytes, revision: int) -> bool:
        """Write a value if its key has a revision; return whether it had."""
        stored = packed(key, value)
        await self._put_all({name: piece for name, piece in stored.items() if name != key})
        try:
            await self._bucket.put(key, stored[key], revision=revision)
        except KeyConflictError:
            return False
        return True

    async def _put_all(self, values: Mapping[str, bytes]) -> None:
        """Write keys, many at a time, and those that name others last; a batch would take longer."""
        found = sorted(values.items(), key=lambda one: one[0].count("."), reverse=True)
        for start in range(0, len(found), _AT_A_TIME):
            part = found[start : start + _AT_A_TIME]
            await asyncio.gather(*(self._bucket.put(key, value) for key, value in part))

    async def _whole(self, entry: KeyEntry) -> KeyEntry:
        names = piece_keys(entry.key, entry.value)
        if not names:
            return entry
        found = await self._bucket.get_many(names)
        if len(found) < len(set(names)):
            raise _ChangedError  # replaced meanwhile
        pieces = {key: one.value for key, one in found.items()}
        return replace(entry, value=unpacked(entry.key, entry.value, pieces))

    async def _values(self, keys: Collection[str]) -> Mapping[str, bytes]:
        return await read_large(self._bucket, keys) if keys else {}

    async def _values_of(self, pattern: str) -> Mapping[str, bytes]:
        return await self._values(list(await self._bucket.keys(pattern)))

    async def _delete_unchanged(self, revisions: Mapping[str, int]) -> None:
        """Delete keys that were not written since: others may need them again."""
        found = list(revisions.items())
        for start in range(0, len(found), _AT_A_TIME):
            part = found[start : start + _AT_A_TIME]
            await asyncio.gather(*(self._delete_at(key, revision) for key, revision in part))

    async def _delete_at(self, key: str, revision: int) -> None:
        with suppress(KeyConflictError):
            await self._bucket.delete(key, revision=revision)


def _base(place: CheckpointPlace) -> str:
    return f"{word(place.thread_id)}.{word(place.ns)}"


def _head_key(place: CheckpointPlace) -> str:
    return f"{_base(place)}.head"


def _checkpoint_key(place: CheckpointPlace, checkpoint_id: str) -> str:
    return f"{_base(place)}.c.{word(checkpoint_id)}"


def _piece_key(thread_id: str, name: bytes) -> str:
    return f"{word(thread_id)}.d.{name.hex()}"


def _write_key(one: WriteRecord) -> str:
    slot = RESULTS if one.slot >= 0 else str(one.slot)
    return f"{_base(one.place)}.w.{word(one.checkpoint_id)}.{word(one.task_id)}.{slot}"


def _record(thread_id: str, data: bytes) -> CheckpointRecord:
    try:
        return read_checkpoint(data)
    except ValueError as exc:
        raise StoredStateError(thread_id, str(exc)) from exc


def _writes(place: CheckpointPlace, data: bytes) -> list[WriteRecord]:
    try:
        return read_writes(place, data)
    except ValueError as exc:
        raise StoredStateError(place.thread_id, str(exc)) from exc
