"""Calls that a handler makes in its own tasks: none of them outlives the handler."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class PendingCalls:
    """The unfinished calls of a context, and the tasks that made calls.

    Attributes:
        is_closed: Whether the handler has ended, so that no call can start.

    If one task of ``asyncio.gather`` raises, its other tasks keep running. A call that waits for an answer
    raises like that. The work of the other tasks is part of the handler: it must not be lost or done twice.
    """

    __slots__ = ("_calls", "_tasks", "is_closed")

    def __init__(self, *, is_over: bool = False) -> None:
        self.is_closed = is_over
        self._calls: set[asyncio.Future[None]] = set()
        self._tasks: set[asyncio.Task[object]] = set()

    @contextmanager
    def call(self) -> Iterator[None]:
        """Note the block as a pending call."""
        call = asyncio.get_running_loop().create_future()
        self._calls.add(call)
        if task := asyncio.current_task():
            self._tasks.add(task)
        try:
            yield
        finally:
            self._calls.remove(call)
            call.set_result(None)

    def stops(self, task: asyncio.Task[object] | None) -> bool:
        """Whether a task will be stopped, because its handler did not wait for its calls."""
        return task in self._tasks

    async def end(self, *, at_once: bool) -> None:
        """Wait for the calls, then stop the tasks that made them; the handler's own has ended.

        Args:
            at_once: Stop the calls, too.
        """
        try:
            while self._calls and not at_once:
                await asyncio.wait(self._calls)
        finally:
            current = asyncio.current_task()
            await _stop([task for task in self._tasks if task is not current and not task.done()])
            self._tasks.clear()


async def _stop(tasks: Sequence[asyncio.Task[object]]) -> None:
    """Cancel the tasks; a cancellation meanwhile is raised when they have ended."""
    for task in tasks:
        task.cancel()
    if not tasks:
        return
    ended = asyncio.ensure_future(asyncio.wait(tasks))
    try:
        await asyncio.shield(ended)
    except asyncio.CancelledError:
        await ended
        raise


CLOSED = PendingCalls(is_over=True)
"""For a handler that has ended: no call can start."""
