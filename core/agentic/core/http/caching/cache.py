"""Cached answers, so that a site need not send unchanged content again."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Protocol

from agentic.core.http.errors import HttpError

MAX_MEMORY_BYTES = 64 * 1024 * 1024
ENTRY_BYTES = 1_024  # size of an entry without its body, about


class CacheUnavailableError(HttpError, ConnectionError):
    """The cache cannot be read or written now; the fetch continues without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedAnswer:
    """A cached answer with status 200.

    Attributes:
        url: Its source.
        headers: Names in lower case; without cookies and the fields about the transfer of the body.
        packed: The body, compressed by zlib.
        kept_at: When the site last confirmed it, in seconds since the epoch.
    """

    url: str
    headers: tuple[tuple[str, str], ...]
    packed: bytes = field(repr=False)
    kept_at: float


class HttpCache(Protocol):
    """Keeps answers by key; it may forget any of them at any time.

    It does not check access: answers that need a login are not kept, unless a session allows it; then the
    session has its own keys.
    """

    async def load(self, key: str) -> CachedAnswer | None:
        """Return the answer of ``key``; None if missing.

        Raises:
            CacheUnavailableError: The cache cannot be read.
        """
        ...

    async def keep(self, key: str, answer: CachedAnswer) -> None:
        """Keep ``answer`` under ``key``; it replaces an earlier one.

        Raises:
            CacheUnavailableError: It is not kept.
        """
        ...


class MemoryCache:
    """Implements :class:`HttpCache` for this process; the least recently used answers go first.

    Args:
        max_bytes: Maximum size, compressed.
    """

    def __init__(self, *, max_bytes: int = MAX_MEMORY_BYTES) -> None:
        self._max_bytes = max_bytes
        self._size = 0
        self._kept: OrderedDict[str, CachedAnswer] = OrderedDict()

    async def load(self, key: str) -> CachedAnswer | None:
        """See :meth:`HttpCache.load`."""
        if (found := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
        return found

    async def keep(self, key: str, answer: CachedAnswer) -> None:
        """See :meth:`HttpCache.keep`."""
        self._forget(key)
        self._kept[key] = answer
        self._size += _size_of(answer)
        while self._size > self._max_bytes:
            self._forget(next(iter(self._kept)))

    def _forget(self, key: str) -> None:
        if (earlier := self._kept.pop(key, None)) is not None:
            self._size -= _size_of(earlier)


def _size_of(answer: CachedAnswer) -> int:
    return ENTRY_BYTES + len(answer.packed) + sum(len(name) + len(value) for name, value in answer.headers)


PROCESS_CACHE = MemoryCache()
