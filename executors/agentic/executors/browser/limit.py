"""A time limit that stands still while others are waited for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager


class TimeLimit:
    """Ends what runs in it after so many seconds, pauses apart.

    Args:
        seconds: As of :func:`asyncio.timeout`.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._timeout = asyncio.timeout(None)
        self._began = 0.0
        self._paused_s = 0.0

    @property
    def elapsed_s(self) -> float:
        """Seconds since the begin, pauses apart."""
        return time.monotonic() - self._began - self._paused_s

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Count the time, once.

        Raises:
            TimeoutError: It is up.
        """
        async with self._timeout:
            self._began = time.monotonic()
            self._go_on()
            yield

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Count no time meanwhile; only within :meth:`running`."""
        self._timeout.reschedule(None)
        began = time.monotonic()
        try:
            yield
        finally:
            self._paused_s += time.monotonic() - began
            self._go_on()

    def end(self) -> None:
        """Let no time be left."""
        self.seconds = 0
        self._go_on()

    def _go_on(self) -> None:
        left_s = self.seconds - self.elapsed_s
        self._timeout.reschedule(asyncio.get_running_loop().time() + left_s)
