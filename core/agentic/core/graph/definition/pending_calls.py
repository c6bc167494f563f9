"""What a handler does in tasks of its own: nothing of it outlives the handler."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class UnderWay:
    """The calls of a context that are not done, and the tasks that made some.

    Attributes:
        is_over: Whether the handler has ended, so that nothing can begin.

    ``asyncio.gather`` leaves its other tasks running when one of them raises, as a call does that has to wait
    for an answer. What these still do is part of the handler, and must not be lost or done beside it again.
    """

    __slots__ = ("_calls", "_tasks", "is_over")

    def __init__(self, *, is_over: bool = False) -> None:
        self.is_over = is_over
        self._calls: set[asyncio.Future[None]] = set()
        self._tasks: set[asyncio.Task[object]] = set()

    @contextmanager
    def call(self) -> Iterator[None]:
        """Note what the block does as under way."""
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
        """Whether a task is about to be stopped, as it made calls that its handler did not wait for."""
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
    """Cancel the tasks; a cancellation meanwhile goes on when they have ended."""
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


OVER = UnderWay(is_over=True)
"""Of a handler that has ended: nothing can begin."""
