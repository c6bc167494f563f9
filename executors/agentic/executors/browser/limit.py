"""A time limit that can pause during waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager


class TimeLimit:
    """Ends its block after a number of seconds, without pauses.

    Args:
        seconds: As in :func:`asyncio.timeout`.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._timeout = asyncio.timeout(None)
        self._began = 0.0
        self._paused_s = 0.0

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start, without pauses."""
        return time.monotonic() - self._began - self._paused_s

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Count the time, once.

        Raises:
            TimeoutError: The time is over.
        """
        async with self._timeout:
            self._began = time.monotonic()
            self._go_on()
            yield

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock in a block; only within :meth:`running`."""
        self._timeout.reschedule(None)
        began = time.monotonic()
        try:
            yield
        finally:
            self._paused_s += time.monotonic() - began
            self._go_on()

    def end(self) -> None:
        """End the time now."""
        self.seconds = 0
        self._go_on()

    def _go_on(self) -> None:
        left_s = self.seconds - self.elapsed_s
        self._timeout.reschedule(asyncio.get_running_loop().time() + left_s)
