"""Leases for one process at a time: a key that its holder keeps renewing, and that expires if it dies."""

from __future__ import annotations

import time
from collections.abc import Callable

from agentic.core.bus.errors import KeyConflictError
from agentic.core.bus.kv import NOT_THERE, KeyValue


class KeyLease:
    """A claim on a key that ends ``ttl_s`` after it was last held.

    It selects the process that starts a job; it does not guarantee that no other works on it: a holder that
    hangs for longer than ``ttl_s`` has lost the lease without notice. Protect an effect that must not happen
    twice with its own compare-and-set.

    Args:
        bucket: The bucket of the key.
        key: The key to claim.
        holder: Name of the holder, for people.
        ttl_s: Whole seconds.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        bucket: KeyValue,
        key: str,
        holder: str,
        *,
        ttl_s: int = 10,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._bucket = bucket
        self._key = key
        self._holder = holder.encode()
        self._ttl_s = ttl_s
        self._revision = NOT_THERE
        self._clock = clock
        self._other = NOT_THERE
        self._other_since = 0.0

    async def hold(self) -> bool:
        """Take or renew the lease; False while another process has it. Call it well before the lease ends.

        Raises:
            BusUnavailableError: The server cannot be used; a held lease is lost when it ends.
        """
        try:
            self._revision = await self._bucket.put(
                self._key, self._holder, revision=self._revision, ttl_s=self._ttl_s
            )
        except KeyConflictError as exc:
            if exc.actual != NOT_THERE or self._revision == NOT_THERE:
                self._revision = exc.actual if self._is_stale(exc.actual) else NOT_THERE
                return False
            self._revision = NOT_THERE  # it had ended, and no other process has taken it since
            return await self.hold()
        return True

    def _is_stale(self, revision: int) -> bool:
        """Whether a claim is stale: not renewed for twice ``ttl_s``, because it does not end by itself."""
        now = self._clock()
        if revision != self._other:
            self._other, self._other_since = revision, now
        return revision != NOT_THERE and now - self._other_since > 2 * self._ttl_s

    async def release(self) -> None:
        """Release the lease at once, if this process still has it.

        Raises:
            BusUnavailableError: The server cannot be used; the lease ends by itself.
        """
        revision, self._revision = self._revision, NOT_THERE
        if revision != NOT_THERE:
            try:
                await self._bucket.delete(self._key, revision=revision)
            except KeyConflictError:
                return
