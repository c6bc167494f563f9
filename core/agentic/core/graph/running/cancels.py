"""Whether a task was cancelled from outside, even if the code in the task suppresses it.

``asyncio`` counts the cancellations of a task that were not taken back. Before Python 3.13, a task group
does not take its own back if a task fails while the group waits for its end: this module leaves them out.
It also leaves out cancellations by the handler itself, with ``current_task().cancel()``: while its code
runs, only handlers of signals also run in the thread.
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
    """A task group of the engine, which takes back its own cancellations."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for the tasks; if one failed, leave the count of cancellations unchanged."""
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
        # In nearly all steps the task was never cancelled.
        return task is not None and task.cancelling() > 0 and _count(task) > self._before

    def cancelled_itself(self) -> bool:
        """Whether the code in the task cancelled the task since then, and did not take it back."""
        task = self._task
        return task is not None and task.cancelling() > 0 and _own.get(task, 0) > self._own_before

    def drop_own(self) -> None:
        """Stop counting cancellations by the task's own code."""
        task = self._task
        if task is not None and (own := _own.get(task, 0)) > self._own_before:
            for _ in range(own - self._own_before):
                task.uncancel()
            _own[task] = self._own_before

    async def take_back(self) -> None:
        """Take back the cancellations by the task's own code.

        Raises:
            CancelledError: The task was cancelled from outside, too.
        """
        self.drop_own()
        try:
            await asyncio.sleep(0)  # up to Python 3.12 it is still thrown, at the next wait
        except asyncio.CancelledError:
            if self.is_cancelled():
                raise


def _count(task: asyncio.Task[Any]) -> int:
    """Return how often a task was cancelled from outside."""
    return task.cancelling() - _leaked.get(task, 0) - _own.get(task, 0)


def count_of_others(task: asyncio.Task[Any] | None) -> int:
    """Return how often a task was cancelled, without the known cancellations by its handler's code."""
    if task is None:
        return 0
    if count := task.cancelling():
        return count - _own.get(task, 0)
    _own.pop(task, None)
    return 0


def note_own(task: asyncio.Task[Any] | None, before: int) -> None:
    """Note cancellations that a handler made or took back since :func:`count_of_others` was ``before``."""
    more = count_of_others(task) - before
    if task is not None and more and not (more > 0 and _is_interrupted()):
        _own[task] = max(0, _own.get(task, 0) + more)


def _is_interrupted() -> bool:
    """Whether Ctrl-C ended ``asyncio.run``, and it cancelled its main task in the middle of a step."""
    installed = signal.getsignal(signal.SIGINT)
    runner = getattr(getattr(installed, "func", None), "__self__", None)
    return bool(getattr(runner, "_interrupt_count", 0))


def note_cancellation(coroutine: Coroutine[Any, Any, object]) -> None:
    """Note where a coroutine is before a cancellation is thrown into it."""
    task = asyncio.current_task()
    if _LEAKS and task is not None and _is_of_its_own_group(coroutine):
        _leaked[task] = _leaked.get(task, 0) + 1


def _is_of_its_own_group(coroutine: object) -> bool:
    """Whether a coroutine waits for a task group that cancelled it because a task of the group failed."""
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
