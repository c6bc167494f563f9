"""A bucket of one process, for runs without a server."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from agentic.core.bus.errors import KeyConflictError
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
    fits,
)
from agentic.core.bus.limits import DEFAULT_MAX_MESSAGE_BYTES, refuse_oversized_value

_FIRST_SWEEP = 1_000
"""Number of keys that triggers a search for expired ones."""


@dataclass(frozen=True, slots=True)
class _Kept:
    value: bytes | None
    revision: int
    expires_at: float


class MemoryKeyValue:
    """Implements :class:`KeyValue` for readers and writers on one event loop.

    Args:
        ttl_s: Seconds after which every value is gone; None for never.
        clock: Monotonic seconds.
    """

    def __init__(self, *, ttl_s: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._ttl_s = ttl_s
        self._clock = clock
        self._kept: dict[str, _Kept] = {}
        self._revision = 0
        self._news = asyncio.Event()
        self._sweep_at = _FIRST_SWEEP

    async def get(self, key: str) -> KeyEntry | None:
        """See :meth:`KeyValue.get`."""
        kept = self._kept.get(checked_key(key))
        if kept is None or kept.value is None or kept.expires_at <= self._clock():
            return None
        return KeyEntry(key=key, value=kept.value, revision=kept.revision)

    async def get_many(self, keys: Collection[str]) -> Mapping[str, KeyEntry]:
        """See :meth:`KeyValue.get_many`."""
        found = [await self.get(key) for key in dict.fromkeys(keys)]
        return {entry.key: entry for entry in found if entry is not None}

    async def put(
        self, key: str, value: bytes, *, revision: int | None = None, ttl_s: int | None = None
    ) -> int:
        """See :meth:`KeyValue.put`."""
        await self.write([KeyWrite(key=key, value=value, revision=revision, ttl_s=ttl_s)])
        return self._revision

    async def delete(self, key: str, *, revision: int | None = None) -> None:
        """See :meth:`KeyValue.delete`."""
        await self.write([KeyWrite(key=key, value=None, revision=revision)])

    async def write(self, changes: Sequence[KeyWrite]) -> None:
        """See :meth:`KeyValue.write`."""
        for change in checked_writes(changes):
            refuse_oversized_value(change.key, change.value or b"", DEFAULT_MAX_MESSAGE_BYTES)
            entry = await self.get(change.key)
            actual = entry.revision if entry else NOT_THERE
            if change.revision is not None and change.revision != actual:
                raise KeyConflictError(change.key, change.revision, actual)
        for change in changes:
            self._set(change)
        self._news.set()
        self._news = asyncio.Event()

    async def keys(self, pattern: str = EVERY_KEY) -> Mapping[str, int]:
        """See :meth:`KeyValue.keys`."""
        checked_pattern(pattern)
        found = [await self.get(key) for key in self._kept if fits(key, pattern)]
        return {entry.key: entry.revision for entry in found if entry is not None}

    async def watch(self, pattern: str = EVERY_KEY, *, after: int = 0) -> AsyncGenerator[KeyChange, None]:
        """See :meth:`KeyValue.watch`."""
        checked_pattern(pattern)
        while True:
            news = self._news
            for change in self._changes(pattern, after):
                after = change.revision
                yield change
            await news.wait()

    def _changes(self, pattern: str, after: int) -> list[KeyChange]:
        now = self._clock()
        return [
            KeyChange(key=key, value=kept.value, revision=kept.revision)
            for key, kept in self._kept.items()
            if kept.revision > after and kept.expires_at > now and fits(key, pattern)
        ]

    def _set(self, change: KeyWrite) -> None:
        self._revision += 1
        ttl_s = change.ttl_s if change.value is not None else MARKER_KEPT_S
        lifetimes = [seconds for seconds in (ttl_s, self._ttl_s) if seconds is not None]
        expires_at = self._clock() + min(lifetimes, default=math.inf)
        self._kept.pop(change.key, None)  # the newest comes last
        self._kept[change.key] = _Kept(change.value, self._revision, expires_at)
        if len(self._kept) > self._sweep_at:
            now = self._clock()
            self._kept = {key: kept for key, kept in self._kept.items() if kept.expires_at > now}
            self._sweep_at = 2 * len(self._kept) + _FIRST_SWEEP
