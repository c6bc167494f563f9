"""Whether a task was cancelled from outside, whatever the code that runs in it makes of that.

``asyncio`` counts the cancellations of a task that nobody has taken back. Before Python 3.13 a task group
whose task fails while the group waits for its end does not take its own back: those are left out here. So are
those that a handler asks for itself, as ``current_task().cancel()`` does: while its code runs, nothing else
runs in the thread but handlers of signals.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Coroutine
from types import CoroutineType, TracebackType
from typing import Any
from weakref import WeakKeyDictionary

_LEAKS = sys.version_info < (3, 13)
_leaked: WeakKeyDictionary[asyncio.Task[Any], int] = WeakKeyDictionary()
_own: WeakKeyDictionary[asyncio.Task[Any], int] = WeakKeyDictionary()


class OwnGroup(asyncio.TaskGroup):
    """A task group of the engine's own, which takes back what it cancelled."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for the tasks; leave the count of cancellations as it was, if one of them failed."""
        watch = CancelWatch()
        try:
            await super().__aexit__(kind, error, trace)
        except BaseExceptionGroup:
            task = asyncio.current_task()
            if task is not None and watch.is_cancelled():
                task.uncancel()
            raise


class CancelWatch:
    """Knows whether the task that made it was cancelled since then, not before."""

    __slots__ = ("_before", "_own_before", "_task")

    def __init__(self) -> None:
        self._task = task = asyncio.current_task()
        self._before = self._own_before = 0
        if task is not None and task.cancelling():
            self._before, self._own_before = _count(task), _own.get(task, 0)

    def is_cancelled(self) -> bool:
        """Whether the task was cancelled since."""
        task = self._task
        # In nearly all steps nobody ever cancelled the task.
        return task is not None and task.cancelling() > 0 and _count(task) > self._before

    def cancelled_itself(self) -> bool:
        """Whether the code in the task asked for its cancellation since then, and did not take it back."""
        task = self._task
        return task is not None and task.cancelling() > 0 and _own.get(task, 0) > self._own_before

    def drop_own(self) -> None:
        """Count no more what the task's own code asked for."""
        task = self._task
        if task is not None and (own := _own.get(task, 0)) > self._own_before:
            for _ in range(own - self._own_before):
                task.uncancel()
            _own[task] = self._own_before

    async def take_back(self) -> None:
        """Take back what the task's own code asked for.

        Raises:
            CancelledError: The task was cancelled from outside, too.
        """
        self.drop_own()
        try:
            await asyncio.sleep(0)  # up to Python 3.12 it is thrown all the same, at the next wait
        except asyncio.CancelledError:
            if self.is_cancelled():
                raise


def _count(task: asyncio.Task[Any]) -> int:
    """Return how often a task was cancelled from outside."""
    return task.cancelling() - _leaked.get(task, 0) - _own.get(task, 0)


def count_of_others(task: asyncio.Task[Any] | None) -> int:
    """Return how often a task was cancelled, but for what its handler's code is known to have asked for."""
    if task is None:
        return 0
    if count := task.cancelling():
        return count - _own.get(task, 0)
    _own.pop(task, None)
    return 0


def note_own(task: asyncio.Task[Any] | None, before: int) -> None:
    """Note what a handler's code asked for, or took back, since :func:`count_of_others` was ``before``."""
    more = count_of_others(task) - before
    if task is not None and more and not (more > 0 and _is_interrupted()):
        _own[task] = max(0, _own.get(task, 0) + more)


def _is_interrupted() -> bool:
    """Whether ``asyncio.run`` was told to end by Ctrl-C, and cancelled its main task in the middle of it."""
    installed = signal.getsignal(signal.SIGINT)
    runner = getattr(getattr(installed, "func", None), "__self__", None)
    return bool(getattr(runner, "_interrupt_count", 0))


def note_cancellation(coroutine: Coroutine[Any, Any, object]) -> None:
    """Note where a coroutine is, into which a cancellation is about to be thrown."""
    task = asyncio.current_task()
    if _LEAKS and task is not None and _is_of_its_own_group(coroutine):
        _leaked[task] = _leaked.get(task, 0) + 1


def _is_of_its_own_group(coroutine: object) -> bool:
    """Whether a coroutine waits for the end of a task group that cancelled it, as a task of it failed."""
    while isinstance(coroutine, CoroutineType) and isinstance(coroutine.cr_await, CoroutineType):
        coroutine = coroutine.cr_await
    if (
        not isinstance(coroutine, CoroutineType)
        or coroutine.cr_code is not asyncio.TaskGroup.__aexit__.__code__
    ):
        return False
    frame = coroutine.cr_frame
    group = None if frame is None else frame.f_locals.get("self")
    return bool(getattr(group, "_parent_cancel_requested", False)) and not isinstance(group, OwnGroup)
