"""A bucket in NATS: a stream with one message for each key.

The client's own buckets are not used: they have no time to live for an update, read an expired key as the
value None, and do not show whether a write whose answer was lost succeeded.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TypeVar
from uuid import uuid4

from nats.aio.client import Client
from nats.js.errors import APIError

from agentic.core.bus.errors import BusDeniedError, BusUnavailableError, KeyConflictError
from agentic.core.bus.kv import (
    EVERY_KEY,
    MARKER_KEPT_S,
    NOT_THERE,
    KeyChange,
    KeyEntry,
    KeyWrite,
    checked_key,
    checked_pattern,
    checked_writes,
)
from agentic.core.bus.limits import refuse_oversized_value
from agentic.core.bus.nats.batch import BatchMessage, DuplicateError, store_together
from agentic.core.bus.nats.direct import LastMessage, read_last, read_lasts
from agentic.core.bus.nats.link import NATS_FAULTS, NatsLink
from agentic.core.bus.nats.pushes import StreamCursor, open_pushes
from agentic.core.bus.nats.streams import bucket_config

T = TypeVar("T")

PATIENCE_S = 10.0
"""How long a call waits for an unavailable server."""

_RETRY_S = 0.2
_OPERATION = "KV-Operation"
_WRONG_REVISION = 10071
_EXPECTED = "Nats-Expected-Last-Subject-Sequence"


class NatsKeyValue:
    """Implements :class:`KeyValue`.

    Args:
        link: Connection to the server.
        bucket: Its name.
        ttl_s: Seconds after which every value is gone, if the bucket does not exist yet; None for never.
    """

    def __init__(self, link: NatsLink, bucket: str, *, ttl_s: float | None = None) -> None:
        self._link = link
        self._config = bucket_config(bucket, ttl_s)
        self._stream = f"KV_{bucket}"
        self._prefix = f"$KV.{bucket}."

    async def get(self, key: str) -> KeyEntry | None:
        """See :meth:`KeyValue.get`."""
        checked_key(key)
        message = await self._patiently(lambda client: read_last(client, self._stream, self._prefix + key))
        return None if message is None or _OPERATION in message.headers else self._entry(message)

    async def get_many(self, keys: Collection[str]) -> Mapping[str, KeyEntry]:
        """See :meth:`KeyValue.get_many`."""
        subjects = [self._prefix + checked_key(key) for key in dict.fromkeys(keys)]
        messages = await self._patiently(lambda client: read_lasts(client, self._stream, subjects))
        entries = (self._entry(message) for message in messages if _OPERATION not in message.headers)
        return {entry.key: entry for entry in entries}

    async def put(
        self, key: str, value: bytes, *, revision: int | None = None, ttl_s: int | None = None
    ) -> int:
        """See :meth:`KeyValue.put`."""
        return await self._write([KeyWrite(key=key, value=value, revision=revision, ttl_s=ttl_s)])

    async def delete(self, key: str, *, revision: int | None = None) -> None:
        """See :meth:`KeyValue.delete`."""
        await self._write([KeyWrite(key=key, value=None, revision=revision)])

    async def write(self, changes: Sequence[KeyWrite]) -> None:
        """See :meth:`KeyValue.write`."""
        if changes:
            await self._write(changes)

    async def keys(self, pattern: str = EVERY_KEY) -> Mapping[str, int]:
        """See :meth:`KeyValue.keys`."""
        subject = self._prefix + checked_pattern(pattern)
        return await self._patiently(lambda client: self._keys(client, subject))

    async def watch(self, pattern: str = EVERY_KEY, *, after: int = 0) -> AsyncGenerator[KeyChange, None]:
        """See :meth:`KeyValue.watch`."""
        subject = self._prefix + checked_pattern(pattern)
        cursor = StreamCursor(after)
        while True:
            try:
                async with aclosing(self._changes(subject, cursor)) as changes:
                    async for change in changes:
                        yield change
            except BusUnavailableError:
                await asyncio.sleep(_RETRY_S)

    async def _changes(self, subject: str, cursor: StreamCursor) -> AsyncGenerator[KeyChange, None]:
        client = await self._link.client(self._config)
        connection = self._link.reconnect_count
        try:
            after = await cursor.find(client, self._stream)
            async with open_pushes(client, self._stream, after, subject=subject) as pushes:
                while self._link.reconnect_count == connection:  # the server's memory may be gone
                    pushed = await pushes.next()
                    if pushed is not None:
                        cursor.after = pushed.sequence
                        value = None if _OPERATION in pushed.headers else pushed.payload
                        yield KeyChange(
                            key=pushed.subject.removeprefix(self._prefix),
                            value=value,
                            revision=pushed.sequence,
                        )
        except NATS_FAULTS as exc:
            raise self._link.failed(exc) from exc

    async def _keys(self, client: Client, subject: str) -> dict[str, int]:
        found: dict[str, int] = {}
        async with open_pushes(client, self._stream, 0, subject=subject, headers_only=True) as pushes:
            while pushes.pending_count:
                pushed = await pushes.next()
                if pushed is not None and _OPERATION not in pushed.headers:
                    found[pushed.subject.removeprefix(self._prefix)] = pushed.sequence
        return found

    async def _write(self, changes: Sequence[KeyWrite]) -> int:
        """Write until it is known to have succeeded or failed; return the last revision."""
        write = _Write(uuid4().hex, checked_writes(changes))
        while True:
            try:
                return await self._patiently(lambda client: self._send(client, write))
            except _StaleError:
                write.changes = await self._seen_anew(changes)

    async def _send(self, client: Client, write: _Write) -> int:
        for change in write.changes:
            refuse_oversized_value(change.key, change.value or b"", client.max_payload)
        messages = [self._message(change, f"{write.id}.{n}") for n, change in enumerate(write.changes)]
        # The server first checks whether it knows a batch; of a single message it first checks the revision,
        # so a repeated message would conflict with itself. But a batch takes 6 ms, a message 0.8.
        is_again, write.is_sent = write.is_sent, True
        try:
            return await store_together(client, messages, as_batch=is_again)
        except DuplicateError:  # it was stored, but the answer was lost
            return await self._revision_of(client, messages[-1])
        except APIError as exc:
            if exc.err_code == _WRONG_REVISION:
                raise _StaleError from exc
            raise

    async def _revision_of(self, client: Client, stored: BatchMessage) -> int:
        """Return the revision of a stored message; a stale one if its key was written again since."""
        last = await read_last(client, self._stream, stored.subject)
        if last is None or last.headers.get("Nats-Msg-Id") == stored.message_id:
            return last.sequence if last else NOT_THERE
        return last.sequence - 1

    async def _seen_anew(self, changes: Sequence[KeyWrite]) -> Sequence[KeyWrite]:
        """Return the changes with the revisions that the server expects: a deleted key has a marker.

        Raises:
            KeyConflictError: One of the keys does not have its expected revision.
        """
        subjects = [self._prefix + change.key for change in changes if change.revision is not None]
        found = await self._patiently(lambda client: read_lasts(client, self._stream, subjects))
        last = {message.subject.removeprefix(self._prefix): message for message in found}
        return [_expecting(change, last.get(change.key)) for change in changes]

    async def _patiently(self, call: Callable[[Client], Awaitable[T]]) -> T:
        """Call, and repeat when the connection is lost: it usually returns within a moment."""
        loop = asyncio.get_running_loop()
        until = loop.time() + PATIENCE_S
        while True:
            try:
                async with self._link.requesting(self._config) as client:
                    return await call(client)
            except BusUnavailableError as exc:
                is_refused = isinstance(exc, BusDeniedError) or isinstance(exc.__cause__, APIError)
                if is_refused or not self._link.has_been_connected or loop.time() > until:
                    raise
            await asyncio.sleep(_RETRY_S)

    def _message(self, change: KeyWrite, message_id: str) -> BatchMessage:
        headers: dict[str, str] = {}
        if change.revision is not None:
            headers[_EXPECTED] = str(change.revision)
        ttl_s = change.ttl_s
        if change.value is None:
            headers[_OPERATION] = "DEL"
            ttl_s = MARKER_KEPT_S
        if ttl_s is not None:
            headers["Nats-TTL"] = f"{ttl_s}s"
        return BatchMessage(
            subject=self._prefix + change.key,
            payload=change.value or b"",
            message_id=message_id,
            headers=headers,
        )

    def _entry(self, message: LastMessage) -> KeyEntry:
        return KeyEntry(
            key=message.subject.removeprefix(self._prefix), value=message.payload, revision=message.sequence
        )


@dataclass(slots=True)
class _Write:
    """A write in progress; ``is_sent``: it may be stored already."""

    id: str
    changes: Sequence[KeyWrite]
    is_sent: bool = False


class _StaleError(Exception):
    """The server reports that a key does not have its expected revision."""


def _expecting(change: KeyWrite, last: LastMessage | None) -> KeyWrite:
    is_there = last is not None and _OPERATION not in last.headers
    actual = last.sequence if last is not None and is_there else NOT_THERE
    if change.revision is not None and change.revision != actual:
        raise KeyConflictError(change.key, change.revision, actual)
    if change.revision == NOT_THERE and last is not None:
        return replace(change, revision=last.sequence)
    return change
