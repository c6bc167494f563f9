"""Answers that are kept, so that a site need not send again what has not changed."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Protocol

from agentic.core.http.errors import HttpError

MAX_MEMORY_BYTES = 64 * 1024 * 1024
ENTRY_BYTES = 1_024  # what an entry takes besides its body, about


class CacheUnavailableError(HttpError, ConnectionError):
    """What is kept cannot be read or written now; the fetch goes on without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedAnswer:
    """An answer with status 200, as it is kept.

    Attributes:
        url: Where it came from.
        headers: Names in lower case; without cookies and what described the body on its way.
        packed: The body, compressed by zlib.
        kept_at: When the site last said that it is right, in seconds since the epoch.
    """

    url: str
    headers: tuple[tuple[str, str], ...]
    packed: bytes = field(repr=False)
    kept_at: float


class HttpCache(Protocol):
    """Keeps answers by key; it may forget any of them at any time.

    What belongs to whom is not its business: nothing is kept that a login was needed for, but for a session
    that wants it so, under a key of its own.
    """

    async def load(self, key: str) -> CachedAnswer | None:
        """Return what is kept under ``key``; None if nothing is.

        Raises:
            CacheUnavailableError: Nobody knows.
        """
        ...

    async def keep(self, key: str, answer: CachedAnswer) -> None:
        """Keep ``answer`` in place of what was kept under ``key``.

        Raises:
            CacheUnavailableError: It is not kept.
        """
        ...


class MemoryCache:
    """Implements :class:`HttpCache` for this process; what was used longest ago goes first.

    Args:
        max_bytes: How much is kept, compressed.
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
