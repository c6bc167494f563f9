"""Slots for parallel tasks: a task that only waits leaves its slot to others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, Protocol

LONG_S = 0.1
"""Shorter waits keep their slot: a handover would take longer."""


class Slot(Protocol):
    """The slot of one task among a limited number of working tasks.

    Attributes:
        task: The task with the slot; tasks that it starts have none.
        is_begun: Whether a restart would repeat or lose some of its work.
    """

    task: asyncio.Task[Any] | None
    is_begun: bool

    def leave(self) -> None:
        """Leave the slot to others."""
        ...

    def enter(self) -> None:
        """Take a slot again, even if none is free: a task that others wait for must continue."""
        ...

    async def enter_in_turn(self) -> None:
        """Wait until a slot is free, and take it."""
        ...


SLOT: ContextVar[Slot | None] = ContextVar("slot", default=None)
"""Slot of the task; None where slots are not counted."""


def own_slot() -> Slot | None:
    """Return the slot of the current task; None if it has none."""
    slot = SLOT.get()
    return slot if slot is not None and slot.task is asyncio.current_task() else None


def note_begun() -> None:
    """Record that a restart of this task would lose or repeat work."""
    if (slot := own_slot()) is not None:
        slot.is_begun = True


@asynccontextmanager
async def idle(expected_s: float = 0.0, *, in_turn: bool = False) -> AsyncIterator[None]:
    """Wait inside this ``async with``: if that takes long, others use the slot of this task meanwhile.

    Args:
        expected_s: The minimum wait, if known.
        in_turn: Also wait for a slot afterwards. Only for tasks that hold nothing that others may wait for.
    """
    slot = own_slot()
    if slot is None:
        yield
        return
    has_left = False

    def leave() -> None:
        nonlocal has_left
        has_left = True
        slot.leave()

    patience = asyncio.get_running_loop().call_later(0.0 if expected_s > LONG_S else LONG_S, leave)
    token = SLOT.set(None)  # waits inside are counted already
    try:
        yield
    except BaseException:
        if has_left:
            slot.enter()
        raise
    finally:
        SLOT.reset(token)
        patience.cancel()
    if has_left and in_turn:
        await slot.enter_in_turn()
    elif has_left:
        slot.enter()
