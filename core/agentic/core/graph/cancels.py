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
        before = cancel_count()
        try:
            await super().__aexit__(kind, error, trace)
        except BaseExceptionGroup:
            task = asyncio.current_task()
            if task is not None and cancel_count() > before:
                task.uncancel()
            raise


def cancel_count() -> int:
    """Return how often the task was cancelled: code before this may have swallowed some of it."""
    task = asyncio.current_task()
    if task is None:
        return 0
    count = task.cancelling()
    return count - _leaked.get(task, 0) if count and _leaked else count


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
