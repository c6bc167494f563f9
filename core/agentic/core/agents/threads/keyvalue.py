"""Threads in a bucket: of NATS, or in memory."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Self

from pydantic import BaseModel, ConfigDict

from agentic.core.agents.errors import (
    ThreadConflictError,
    ThreadExistsError,
    ThreadNotFoundError,
)
from agentic.core.agents.threads.entries import ThreadEntry, ThreadMetadata, reading_stored, stored_text
from agentic.core.agents.threads.store import StoredThread
from agentic.core.bus import KeyConflictError, KeyValue, KeyWrite, NatsAccess, token
from agentic.core.bus.kv import MAX_WRITES, NOT_THERE
from agentic.core.bus.large import packed, read_large

BUCKET = "AGENTIC_THREADS"
"""Keys: ``thread.ID.meta``, and ``thread.ID.turn.NUMBER`` for each entry; large ones in pieces beside it."""


class _Meta(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: str
    metadata: ThreadMetadata


class KeyValueThreadStore:
    """Keeps the threads of one project in a bucket.

    Args:
        bucket: Of the project.
    """

    def __init__(self, bucket: KeyValue) -> None:
        self._bucket = bucket

    @classmethod
    @asynccontextmanager
    async def open(
        cls, url: str, *, project: str = "default", access: NatsAccess | None = None
    ) -> AsyncGenerator[Self, None]:
        """Open the threads of a project on a NATS server, until the block ends.

        Args:
            url: As ``nats://host:port``.
            project: Name of the project.
            access: Further credentials for the server.
        """
        from agentic.core.bus.nats.bus import NatsBus

        bus = NatsBus(url, access)
        try:
            yield cls(bus.bucket(BUCKET, project=project))
        finally:
            await bus.aclose()

    async def create(self, thread_id: str, metadata: ThreadMetadata) -> None:
        """Keep a new thread; see :class:`~agentic.core.agents.ThreadStore`."""
        key = _meta_key(thread_id)
        value = stored_text(_Meta(id=thread_id, metadata=metadata)).encode()
        try:
            await self._bucket.put(key, value, revision=NOT_THERE)
        except KeyConflictError:
            known = await self._bucket.get(key)
            if known is None or known.value != value:
                raise ThreadExistsError(thread_id) from None

    async def append(self, thread_id: str, number: int, entry: ThreadEntry) -> None:
        """Keep one more entry; see :class:`~agentic.core.agents.ThreadStore`."""
        key, before, meta = _key(thread_id, number), _key(thread_id, number - 1), _meta_key(thread_id)
        known = await self._bucket.get_many([meta, *([before] if number > 1 else [])])
        if meta not in known:
            raise ThreadNotFoundError(thread_id)
        if number > 1 and before not in known:
            raise ThreadConflictError(thread_id, number)
        content = packed(key, stored_text(entry).encode())
        writes = [
            KeyWrite(key=name, value=value, revision=NOT_THERE if name == key else None)
            for name, value in content.items()
        ]
        try:
            await self._bucket.write(writes)
        except KeyConflictError:
            kept = await self._bucket.get(key)
            if kept is None or kept.value != content[key]:
                raise ThreadConflictError(thread_id, number) from None

    async def load(self, thread_id: str) -> StoredThread:
        """Return a thread; see :class:`~agentic.core.agents.ThreadStore`."""
        found = await self._bucket.get(_meta_key(thread_id))
        if found is None:
            raise ThreadNotFoundError(thread_id)
        prefix = f"thread.{token(thread_id)}.turn."
        keys = await self._bucket.keys(f"{prefix}*")
        ordered = sorted(keys, key=lambda key: int(key.removeprefix(prefix)))
        contents = await read_large(self._bucket, ordered)
        with reading_stored(thread_id):
            entries = tuple(ThreadEntry.model_validate(json.loads(contents[key])) for key in ordered)
            return StoredThread(thread_id, _Meta.model_validate(json.loads(found.value)).metadata, entries)

    async def list(self, *, user_id: str | None = None, agent: str | None = None) -> Sequence[StoredThread]:
        """Return the threads of a person or an agent; see :class:`~agentic.core.agents.ThreadStore`."""
        found = await self._bucket.get_many(await self._bucket.keys("thread.*.meta"))
        metas = [_read_meta(key, entry.value) for key, entry in found.items()]
        wanted = [
            StoredThread(one.id, one.metadata)
            for one in metas
            if user_id in (None, one.metadata.user_id) and agent in (None, one.metadata.agent)
        ]
        return sorted(wanted, key=lambda one: (one.metadata.created_at, one.id))

    async def delete(self, thread_id: str) -> bool:
        """Remove a thread; see :class:`~agentic.core.agents.ThreadStore`."""
        if await self._bucket.get(_meta_key(thread_id)) is None:
            return False
        # Its facts first: without them no entry can be added.
        await self._bucket.delete(_meta_key(thread_id))
        keys = list(await self._bucket.keys(f"thread.{token(thread_id)}.>"))
        for start in range(0, len(keys), MAX_WRITES):
            part = keys[start : start + MAX_WRITES]
            await self._bucket.write([KeyWrite(key=key, value=None) for key in part])
        return True


def _meta_key(thread_id: str) -> str:
    return f"thread.{token(thread_id)}.meta"


def _read_meta(key: str, value: bytes) -> _Meta:
    with reading_stored(key.removeprefix("thread.").removesuffix(".meta")):
        return _Meta.model_validate(json.loads(value))


def _key(thread_id: str, number: int) -> str:
    return f"thread.{token(thread_id)}.turn.{number}"
