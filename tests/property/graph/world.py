"""What surrounds scripted executors: how long things take, what goes wrong, and who was there."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from zlib import crc32

from tests.property.graph.mail import gist

Hitch = Callable[["Entry"], float]
"""Called with each entry; returns seconds it is to take longer, or raises."""


@dataclass(frozen=True)
class Entry:
    """A scripted executor was entered.

    Attributes:
        key: The activation, as ``ctx.idempotency_key`` calls it.
        executor_id: The executor.
        superstep: When.
        attempt: The try.
        sources: Who sent the message.
        seen: Gist of the message.
        feedback: Gist of what validators sent back.
    """

    key: str
    executor_id: str
    superstep: int
    attempt: int
    sources: tuple[str, ...]
    seen: str
    feedback: tuple[str, ...]


class World:
    """One.

    Args:
        seed: Decides how long everything takes.
        hitch: What goes wrong.

    Attributes:
        entries: Every entry of a handler, in order.
        left: Those that came to their end.
        onces: How often each activation did what it does once.
        is_over: Whether the process is dead, and what is still done in it has not happened.
    """

    def __init__(self, seed: int = 0, hitch: Hitch | None = None) -> None:
        self._seed = seed
        self._hitch = hitch
        self.entries: list[Entry] = []
        self.left: list[Entry] = []
        self.onces: Counter[str] = Counter()
        self.is_over: Callable[[], bool] = lambda: False

    async def enter(self, entry: Entry) -> None:
        """Note an entry; take some time."""
        self.entries.append(entry)
        longer = self._hitch(entry) if self._hitch else 0
        await self.wait(entry, "entered", longer)

    async def wait(self, entry: Entry, moment: str, longer: float = 0) -> None:
        """Take some time, maybe none."""
        await self._take(f"{entry.key}{entry.attempt}{entry.superstep}{moment}", longer)

    async def think(self, message: object) -> None:
        """Take the time that a condition takes."""
        await self._take(gist(message), 0)

    def do_once(self, entry: Entry) -> str:
        """Note what is to be done once."""
        self.onces[entry.key] += not self.is_over()
        return f"done for {entry.seen}"

    def leave(self, entry: Entry) -> None:
        """Note that a handler came to its end."""
        if not self.is_over():
            self.left.append(entry)

    async def _take(self, what: str, longer: float) -> None:
        chance = crc32(f"{self._seed}{what}".encode()) % 7
        if longer or chance > 3:
            await asyncio.sleep(chance + longer)
        elif chance > 1:
            await asyncio.sleep(0)


_WORLD: ContextVar[World] = ContextVar("world")
_QUIET = World()


def world_now() -> World:
    """Return the world around the running handler."""
    return _WORLD.get(_QUIET)


@contextmanager
def living_in(world: World) -> Iterator[World]:
    """Make ``world`` the one that handlers find."""
    token = _WORLD.set(world)
    try:
        yield world
    finally:
        _WORLD.reset(token)
