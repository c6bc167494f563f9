"""Lets whoever has many fetches under way go on with others while some of them only wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, Protocol

LONG_S = 0.1
"""Shorter waits keep their slot: handing it over would take longer."""


class Slot(Protocol):
    """The place of one task among so many that work at a time.

    Attributes:
        task: Whose place it is; what that task starts has none.
        is_begun: Whether it has done what would be done again, or be forgotten, if it were begun anew.
    """

    task: asyncio.Task[Any] | None
    is_begun: bool

    def leave(self) -> None:
        """Leave the place to others."""
        ...

    def enter(self) -> None:
        """Take a place again, though there may be none: who holds what others wait for must go on."""
        ...

    async def enter_in_turn(self) -> None:
        """Wait until there is a place, and take it."""
        ...


SLOT: ContextVar[Slot | None] = ContextVar("slot", default=None)
"""Slot of the task; None where slots are not counted."""


def own_slot() -> Slot | None:
    """Return the slot of the task that asks; None if it has none."""
    slot = SLOT.get()
    return slot if slot is not None and slot.task is asyncio.current_task() else None


def note_begun() -> None:
    """Say that what this task has done is lost, or done twice, if it is begun anew."""
    if (slot := own_slot()) is not None:
        slot.is_begun = True


@asynccontextmanager
async def idle(expected_s: float = 0.0, *, in_turn: bool = False) -> AsyncIterator[None]:
    """Wait inside this ``async with``: if that takes long, the slot of this task is for others meanwhile.

    Args:
        expected_s: How long it takes at least, where that is known.
        in_turn: Afterwards wait for a slot, too. Only for who holds nothing that others may wait for.
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
    token = SLOT.set(None)  # who waits within is counted already
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
