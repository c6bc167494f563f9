"""Blocking work beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call in a thread and return what it returns.

    A thread cannot be stopped: when cancelled meanwhile, wait for its end, so that nobody is told of an end
    while a transaction is still being written.
    """
    # As asyncio.to_thread, but without a task around the future.
    loop = asyncio.get_running_loop()
    work: asyncio.Future[T] = loop.run_in_executor(None, partial(copy_context().run, call, *args, **kwargs))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        raise
