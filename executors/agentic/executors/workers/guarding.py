"""Engine tasks, which handler code cannot cancel: one run must not harm another."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from typing import Any, TypeVar

from agentic.core.logging import get_logger

log = get_logger(__name__)

T = TypeVar("T")

STOP_S = 8.0
"""Time for a stopped or late handler to end; less than a closing loop gets."""

_handling: ContextVar[_Mark | None] = ContextVar("agentic_handling", default=None)
"""The attempt whose handler code runs, in all its tasks, timers and callbacks; None: the engine."""


class EngineTask(asyncio.Task[T]):
    """A task that only the engine cancels: in handler code, ``cancel()`` does nothing and returns False.

    Else a handler that cancels ``asyncio.all_tasks()`` would stop every other run of its process. A handler
    may cancel the tasks it starts itself, for example its own engine.
    """

    def __init__(self, work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> None:
        self._owner = _handling.get()
        super().__init__(work, loop=loop)

    def cancel(self, msg: Any | None = None) -> bool:  # noqa: ANN401 - as asyncio has it
        """Request the end of the task, unless the code of a handler asks for it."""
        asking = _handling.get()
        if asking not in (None, self._owner):
            return _refused(asking, "tasks of the engine")
        return super().cancel(msg)


class HandlerTask(asyncio.Task[T]):
    """A task that runs a handler. The engine stops it; the handler's own code may cancel it, too.

    Attributes:
        cancelled_itself: Whether its own code did: a cancel scope that leaks, ``current_task().cancel()``.
        ended: Done when the task is done or abandoned. Awaiting the task itself could raise a
            GeneratorExit from its code, which closes all coroutines on the way.
    """

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self.cancelled_itself = False
        self._owner = _handling.get()
        self._mark = _Mark()
        loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = loop.create_future()
        self._timer: asyncio.TimerHandle | None = None
        self._work, self._is_begun = work, False
        super().__init__(self._noting_end(), loop=loop, context=_marked(self._mark))

    async def _noting_end(self) -> T:
        # Recorded inside: a callback of the task would come one loop iteration later.
        self._is_begun = True
        try:
            return await self._work
        finally:
            self._note_end()

    def cancel(self, msg: Any | None = None) -> bool:  # noqa: ANN401 - as asyncio has it
        """Request the end of the handler, unless the code of another one asks for it."""
        asking = _handling.get()
        if asking not in (None, self._mark, self._owner):
            return _refused(asking, "the task of another activation")
        self.cancelled_itself |= asking is self._mark
        return self._request_end(msg)

    def stop(self, reason: str | None = None) -> None:
        """Request the end of the handler; after ``STOP_S`` it is abandoned."""
        self._request_end(reason)
        self.limit(0.0)

    def limit(self, seconds: float | None) -> None:
        """Abandon the handler if it still runs ``STOP_S`` after its time; None removes the limit."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds is not None and not self.done():
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(seconds + STOP_S, self._leave, context=Context())

    def _leave(self) -> None:
        if not self.ended.done():
            _left.add(self)  # a loop holds its tasks weakly
            self.add_done_callback(_left.discard)
            super().cancel()
            self.ended.set_result(None)

    def _request_end(self, reason: object) -> bool:
        if not self._is_begun:  # it never begins, and so never records its end
            self.add_done_callback(self._note_no_begin)
        return super().cancel(reason)

    def _note_no_begin(self, _task: object) -> None:
        self._work.close()
        self._note_end()

    def _note_end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if not (self.ended.done() or self.get_loop().is_closed()):
            self.ended.set_result(None)


_left: set[HandlerTask[Any]] = set()
"""Handlers whose result is no longer awaited."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Abandon the handler task that runs this when the block takes too long."""
    task = asyncio.current_task()
    if not isinstance(task, HandlerTask):
        yield
        return
    task.limit(seconds)
    try:
        yield
    finally:
        task.limit(None)


def engine_task(work: Coroutine[Any, Any, T]) -> EngineTask[T]:
    """Start ``work`` on the running loop, where handlers cannot cancel it."""
    return EngineTask(work, asyncio.get_running_loop())


class _Mark:
    """Represents one try of a handler."""

    is_refused = False


def _refused(asking: _Mark | None, what: str) -> bool:
    if asking is not None and not asking.is_refused:  # it may try that with hundreds
        asking.is_refused = True
        log.warning("cancel.refused", reason=f"a handler cannot cancel {what}")
    return False


def _marked(mark: _Mark) -> Context:
    context = copy_context()
    context.run(_handling.set, mark)
    return context
