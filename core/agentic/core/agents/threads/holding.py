"""Runs that hold a thread, one after the other, and the check that none would wait for ever."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import RLock

from agentic.core.agents.errors import ThreadInUseError

_guard = RLock()
"""Taken for each look at holds and each change: a tool may run an agent in another event loop.

It may be taken twice: the garbage collector may end an abandoned run, and release its thread, at any point.
"""


class Holding:
    """The run that holds a thread, and those that wait for it.

    Args:
        thread_id: The thread.
    """

    def __init__(self, thread_id: str) -> None:
        self._thread_id = thread_id
        self._holder: _Hold | None = None
        self._waiting: deque[_Hold] = deque()  # all in the event loop of the holder

    @asynccontextmanager
    async def held(self) -> AsyncGenerator[None, None]:
        """Hold the thread; see :meth:`AgentThread.held`."""
        hold = _Hold(frozenset(one for one in _around.get() if not one.has_ended))
        if not self._taken(hold):
            await self._wait(hold)
        outside = _around.set(hold.around | {hold})
        try:
            yield
        finally:
            self._release(hold)
            with suppress(ValueError):  # the garbage collector ends an abandoned run in another context
                _around.reset(outside)

    def _taken(self, hold: _Hold) -> bool:
        """Take the thread if it is free, or else a place among those that wait."""
        with _guard:
            holder = self._holder
            if holder is None or holder.loop.is_closed():  # a closed loop never ends its runs
                self._holder = hold
                self._waiting.clear()
                return True
            if holder in hold.around:
                raise ThreadInUseError(
                    self._thread_id,
                    "the run that asks for it: a tool cannot speak in the thread of its own agent",
                )
            if self._waits_for(hold.around):
                raise ThreadInUseError(
                    self._thread_id,
                    "a run that waits for the run that asks for it: both would wait for ever",
                )
            if holder.loop is not hold.loop:
                raise ThreadInUseError(
                    self._thread_id,
                    "a run in another event loop: runs wait for one another in one event loop only",
                )
            self._waiting.append(hold)
            for outer in hold.around:
                outer.waits_for.append(self)
            return False

    async def _wait(self, hold: _Hold) -> None:
        try:
            await hold.turn
        except BaseException:  # cancelled, perhaps just as its turn came
            self._release(hold)
            raise
        finally:
            with _guard:
                for outer in hold.around:
                    outer.waits_for.remove(self)

    def _release(self, hold: _Hold) -> None:
        with _guard:
            hold.has_ended = True
            if self._holder is not hold:
                with suppress(ValueError):
                    self._waiting.remove(hold)
                return
            self._holder = None
            while self._waiting and self._holder is None:
                following = self._waiting.popleft()
                with suppress(RuntimeError):  # its loop is closed
                    following.loop.call_soon_threadsafe(following.begin)
                    self._holder = following

    def _waits_for(self, runs: frozenset[_Hold]) -> bool:
        """Tell whether the holder waits, by others perhaps, for one of these runs."""
        seen: set[Holding] = set()
        found: list[Holding] = [self]
        while runs and found:
            one = found.pop()
            if one in seen or one._holder is None:
                continue
            if one._holder in runs:
                return True
            seen.add(one)
            found += one._holder.waits_for
        return False


@dataclass(slots=True, eq=False)
class _Hold:
    """A run that holds a thread, or waits for one.

    Attributes:
        around: The runs that wait for the end of this one: it began in a tool of theirs.
        waits_for: The threads that its tools wait for.
    """

    around: frozenset[_Hold]
    waits_for: list[Holding] = field(default_factory=list)
    has_ended: bool = False
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    turn: asyncio.Future[None] = field(init=False)

    def __post_init__(self) -> None:
        self.turn = self.loop.create_future()

    def begin(self) -> None:
        if not self.turn.done():
            self.turn.set_result(None)


_around: ContextVar[frozenset[_Hold]] = ContextVar("runs_around", default=frozenset())
"""The runs around this work. A task may outlive the run that began it: some of them may have ended."""
