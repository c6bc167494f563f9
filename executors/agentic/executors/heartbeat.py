"""Says from time to time that an execution is still being worked on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from agentic.core.logging import get_logger

log = get_logger(__name__)


class Heartbeat:
    """Calls ``beat`` every ``interval_s`` seconds until its ``async with`` block ends.

    It does so from a plain thread: an event loop that is blocked must not look like a dead worker.

    Args:
        beat: Says it. What it raises is logged, the first time, and tried again.
        interval_s: Seconds from one call to the next; the first comes after as long.
    """

    def __init__(self, beat: Callable[[], object], interval_s: float) -> None:
        self._beat = beat
        self._interval_s = interval_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="heartbeat", daemon=True)

    async def __aenter__(self) -> Self:
        self._thread.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        await asyncio.to_thread(self._thread.join)

    def _serve(self) -> None:
        is_failing = False
        while not self._over.wait(self._interval_s):
            try:
                self._beat()
            except Exception as exc:
                if not is_failing:
                    log.warning("heartbeat.failed", error=f"{type(exc).__name__}: {exc}")
                is_failing = True
            else:
                is_failing = False
