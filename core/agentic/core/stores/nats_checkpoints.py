"""The checkpoints of runs in a NATS bucket."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Self
from uuid import uuid4

from agentic.core.bus import BusError, KeyConflictError, KeyValue, KeyWrite, NatsAccess
from agentic.core.bus.large import packed, read_large
from agentic.core.graph.checkpoints.store import Checkpoint, CheckpointMetadata, StoredCheckpoint
from agentic.core.graph.errors import (
    CheckpointConflictError,
    CheckpointNotFoundError,
    CheckpointStoreError,
    CorruptCheckpointError,
)
from agentic.core.stores import assembly, layout
from agentic.core.stores.layout import PieceKey, RunHead
from agentic.core.stores.server_checkpoints import ServerCheckpointStore
from agentic.core.types import RunId

BUCKET = "AGENTIC_CHECKPOINTS"

_GROUP_COUNT = 500
_GROUP_BYTES = 4 * 1024 * 1024
"""Maximum number of messages per write; a server holds them in memory until it is complete."""


class NatsCheckpointStore(ServerCheckpointStore):
    """The checkpoints of a project's runs in a bucket; implements :class:`CheckpointStore`.

    A save is written under keys of its own, and counts when the run's head moves from the checkpoint before
    to this one: a compare-and-set, in one batch with the last of its data. Any number of stores, in any
    number of processes, may work on one run: if several save one revision at once, one succeeds.
    ``keep_last`` also removes the remains of failed saves.
    """

    def __init__(self, bucket: KeyValue, *, project: str) -> None:
        """Remember where the checkpoints live; nothing is read or written yet.

        Args:
            bucket: Of this project alone.
            project: Its name, for messages.
        """
        self._bucket = bucket
        self._project = project

    @classmethod
    @asynccontextmanager
    async def open(
        cls, url: str, *, project: str = "default", access: NatsAccess | None = None
    ) -> AsyncGenerator[Self, None]:
        """Open the checkpoints of a project on a NATS server, until the block ends.

        Args:
            url: As ``nats://host:port``.
            project: Name of the project.
            access: Further credentials for the server.
        """
        from agentic.core.bus.nats.bus import NatsBus

        bus = NatsBus(url, access)
        try:
            yield cls(bus.bucket(BUCKET, project=project), project=project)
        finally:
            await bus.aclose()

    async def _save(self, checkpoint: Checkpoint) -> None:
        metadata = checkpoint.metadata
        head, revision = await self._head(metadata.run_id)
        newest = head.newest if head else 0
        if metadata.revision != newest + 1:
            raise CheckpointConflictError(metadata.run_id, metadata.revision, newest)
        life, oldest, write = (head.life, head.oldest, uuid4().hex) if head else (uuid4().hex, 1, uuid4().hex)
        entries = {
            stored: piece
            for key, value in layout.entries_of(checkpoint, life, write).items()
            for stored, piece in packed(key, value).items()
        }
        *before, last = _groups(entries)
        for group in before:
            await self._bucket.write([KeyWrite(key=key, value=value) for key, value in group.items()])
        following = RunHead(life=life, oldest=oldest, metadata=layout.described(checkpoint), write=write)
        key = layout.head_key(metadata.run_id)
        deciding = KeyWrite(key=key, value=layout.to_json(following), revision=revision)
        try:
            await self._bucket.write(
                [*(KeyWrite(key=key, value=value) for key, value in last.items()), deciding]
            )
        except KeyConflictError:
            now, _ = await self._head(metadata.run_id)
            raise CheckpointConflictError(
                metadata.run_id, metadata.revision, now.newest if now else 0
            ) from None

    async def _load(self, run_id: RunId, wanted: int | None) -> StoredCheckpoint:
        """Read a checkpoint; retry once if it was removed, or replaced as the newest, meanwhile."""
        seen = -1
        while True:
            head, at = await self._head(run_id)
            revision = head.newest if head and wanted is None else wanted
            if head is None or revision is None or not head.oldest <= revision <= head.newest:
                raise CheckpointNotFoundError(run_id, wanted)
            try:
                return await self._read(run_id, head, revision)
            except CorruptCheckpointError:
                if at == seen:
                    raise
                seen = at

    async def _read(self, run_id: RunId, head: RunHead, revision: int) -> StoredCheckpoint:
        places = await self._places(layout.run_pattern(run_id, head.life))
        pieces = assembly.pieces_of(places, head.life, run_id, revision)
        return assembly.put_together(pieces, await read_large(self._bucket, pieces.keys))

    async def _keep_last(self, run_id: RunId, count: int) -> int:
        while True:
            head, revision = await self._head(run_id)
            if head is None:
                return 0
            first = head.newest - count + 1
            if first <= head.oldest:
                return 0
            shorter = layout.to_json(replace(head, oldest=first))
            try:
                decided = await self._bucket.put(layout.head_key(run_id), shorter, revision=revision)
            except KeyConflictError:
                continue
            await self._sweep(run_id, head.life, first, decided)
            return first - head.oldest

    async def _sweep(self, run_id: RunId, life: str, first: int, decided: int) -> None:
        """Delete keys that no checkpoint from ``first`` on needs, if they existed at the time ``decided``.

        Newer keys may belong to a save that is in progress.
        """
        keys = await self._bucket.keys(layout.run_pattern(run_id))
        places = [place for key in keys if (place := layout.parse_piece_key(key))]
        kept = {*layout.needed(places, life, first), layout.head_key(run_id)}
        await self._delete(
            key
            for key, revision in keys.items()
            if revision < decided and key not in kept and key.rpartition(".")[0] not in kept
        )

    async def _delete_all(self, run_id: RunId) -> int:
        while True:
            head, revision = await self._head(run_id)
            if head is None:
                return 0
            try:
                await self._bucket.delete(layout.head_key(run_id), revision=revision)
            except KeyConflictError:
                continue
            found = await self._bucket.keys(layout.run_pattern(run_id))
            own = layout.run_pattern(run_id, head.life).removesuffix(">")
            await self._delete(key for key, at in found.items() if key.startswith(own) or at < revision)
            return head.newest - head.oldest + 1

    async def _delete(self, keys: Iterator[str]) -> None:
        for group in _groups(dict.fromkeys(keys, b"")):
            await self._bucket.write([KeyWrite(key=key, value=None) for key in group])

    async def _head(self, run_id: RunId) -> tuple[RunHead | None, int]:
        entry = await self._bucket.get(layout.head_key(run_id))
        return (layout.head_of(run_id, entry.value), entry.revision) if entry else (None, 0)

    async def _heads(self, run_id: RunId | None) -> dict[str, RunHead]:
        """Return the heads of runs by the first word of their keys."""
        keys = await self._bucket.keys(layout.EVERY_HEAD) if run_id is None else [layout.head_key(run_id)]
        entries = await self._bucket.get_many(list(keys))
        return {key.partition(".")[0]: layout.head_of(key, entry.value) for key, entry in entries.items()}

    async def _metadata(self, run_id: RunId | None, *, newest_only: bool) -> list[CheckpointMetadata]:
        heads = await self._heads(run_id)
        return [head.metadata for head in heads.values()] if newest_only else await self._all(heads)

    async def _all(self, heads: Mapping[str, RunHead]) -> list[CheckpointMetadata]:
        one = next(iter(heads)) if len(heads) == 1 else "*"
        places = await self._places(layout.meta_pattern(one))
        wanted = [
            place.key
            for place in places
            if (head := heads.get(place.key.partition(".")[0]))
            and place.life == head.life
            and head.oldest <= place.revision <= head.newest
        ]
        found = await self._bucket.get_many(wanted)
        return [layout.metadata_of(key, entry.value) for key, entry in found.items()]

    async def _places(self, pattern: str) -> list[PieceKey]:
        return [place for key in await self._bucket.keys(pattern) if (place := layout.parse_piece_key(key))]

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Turn the errors of an unusable server into errors of this store.

        Raises:
            CheckpointStoreError: The server cannot be used.
        """
        try:
            yield
        except (BusError, UnicodeError) as exc:
            raise CheckpointStoreError(
                f"checkpoints of project {self._project!r} cannot be stored: {exc}"
            ) from exc


def _groups(entries: Mapping[str, bytes]) -> Iterator[dict[str, bytes]]:
    """Yield entries in groups that are written together, in order; none without entries."""
    group: dict[str, bytes] = {}
    size_bytes = 0
    for key, value in entries.items():
        if len(group) == _GROUP_COUNT or (group and size_bytes + len(value) > _GROUP_BYTES):
            yield group
            group, size_bytes = {}, 0
        group[key] = value
        size_bytes += len(value)
    if group:
        yield group
