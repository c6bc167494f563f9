"""A clock that shows the time a test sets."""

from __future__ import annotations

import asyncio


class Clock:
    """Seconds that pass when a test adds them, and while code sleeps by this clock.

    Attributes:
        now: The time that it shows.
        slept: The lengths of all sleeps.
    """

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)
