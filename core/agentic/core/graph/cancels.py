"""Whether a task was cancelled from outside, whatever the code that runs in it makes of that.

``asyncio`` counts the cancellations of a task that nobody has taken back. Before Python 3.13 a task group
whose task fails while the group waits for its end does not take its own back: those are left out here.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from types import CoroutineType, TracebackType
from typing import Any
from weakref import WeakKeyDictionary

_LEAKS = sys.version_info < (3, 13)
_leaked: WeakKeyDictionary[asyncio.Task[Any], int] = WeakKeyDictionary()


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

    __slots__ = ("_before", "_task")

    def __init__(self) -> None:
        self._task = task = asyncio.current_task()
        self._before = _count(task) if task is not None and task.cancelling() else 0

    def is_cancelled(self) -> bool:
        """Whether the task was cancelled since."""
        task = self._task
        # In nearly all steps nobody ever cancelled the task.
        return task is not None and task.cancelling() > 0 and _count(task) > self._before


def _count(task: asyncio.Task[Any]) -> int:
    """Return how often a task was cancelled from outside."""
    return task.cancelling() - _leaked.get(task, 0)


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
