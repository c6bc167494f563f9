"""Waits in this process for a run to end, or to wait for answers."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from agentic.core.types import RunId


class RunWaiters:
    """Wakes the waiters of a run that comes to rest by a decision of this process."""

    def __init__(self) -> None:
        self._waiting: dict[RunId, set[asyncio.Event]] = {}

    def wake(self, run_id: RunId) -> None:
        """Wake the waiters of a run."""
        for event in self._waiting.get(run_id, ()):
            event.set()

    async def wait(self, run_id: RunId, timeout_s: float) -> None:
        """Return when a run rests by a decision of this process, or after ``timeout_s``."""
        event = asyncio.Event()
        self._waiting.setdefault(run_id, set()).add(event)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await event.wait()
        finally:
            self._waiting[run_id].discard(event)
            if not self._waiting[run_id]:
                del self._waiting[run_id]
