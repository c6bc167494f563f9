"""Lets whoever has many fetches under way go on with others while some of them only wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, Protocol, cast

LONG_S = 0.1
"""Whoever waits for less keeps its slot: to find another for it would take longer."""


class Slot(Protocol):
    """The place of one task among so many that work at a time."""

    def leave(self, task: asyncio.Task[Any], *, is_tried: bool) -> None:
        """Leave the place to others.

        Args:
            task: Whose place it is.
            is_tried: Whether the work failed before: to begin it anew would forget that.
        """
        ...

    async def enter(self, task: asyncio.Task[Any]) -> None:
        """Wait until there is a place, and take it."""
        ...


SLOT: ContextVar[Slot | None] = ContextVar("slot", default=None)
"""Of the task; None where nobody counts."""


@asynccontextmanager
async def idle(expected_s: float = 0.0, *, is_tried: bool = False) -> AsyncIterator[None]:
    """Wait inside this ``async with``: if that takes long, the slot of this task is for others meanwhile.

    Args:
        expected_s: How long it takes at least, where that is known.
        is_tried: Whether the work failed before.
    """
    slot = SLOT.get()
    if slot is None:
        yield
        return
    task = cast("asyncio.Task[Any]", asyncio.current_task())
    has_left = False

    def leave() -> None:
        nonlocal has_left
        has_left = True
        slot.leave(task, is_tried=is_tried)

    patience = asyncio.get_running_loop().call_later(0.0 if expected_s > LONG_S else LONG_S, leave)
    token = SLOT.set(None)  # who waits within is counted already
    try:
        yield
    finally:
        SLOT.reset(token)
        patience.cancel()
    if has_left:
        await slot.enter(task)
