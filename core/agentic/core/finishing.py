"""Work that must finish, even if it is cancelled meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")


async def finish(work: Coroutine[object, object, T]) -> T:
    """Await ``work`` to its end even if cancelled; the cancellation is raised once it is done."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # otherwise asyncio reports it
        raise
