"""Blocking work beside the event loop."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_MAX_IDLE = 32


async def in_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call in a thread and return the result.

    A thread cannot be stopped: when cancelled meanwhile, wait for its end, so that no end is reported while
    a transaction is still being written.
    """
    # Like asyncio.to_thread, but without a task around the future.
    loop = asyncio.get_running_loop()
    bound = partial(copy_context().run, call, *args, **kwargs)
    work: asyncio.Future[T] = loop.run_in_executor(None, _quiet, bound)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        raise


async def in_spare_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call foreign code in a thread and return its result; when cancelled, abandon the thread.

    Code that never returns keeps its thread for ever. So the number of these threads is unlimited, they are
    separate from :func:`in_thread`, and none keeps its process alive.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()
    _spare.do(_Call(partial(copy_context().run, call, *args, **kwargs), loop, answer))
    return await answer


def _quiet(call: Callable[[], T]) -> T:
    try:
        return call()
    except (StopIteration, GeneratorExit) as exc:
        # A future rejects StopIteration: its awaiter would wait for ever (seen with Python 3.11).
        # The other one would close the coroutines that await it.
        raise RuntimeError(f"the function raised {type(exc).__name__}") from exc


class _Call:
    """A call, and the receiver of its answer."""

    def __init__(
        self, call: Callable[[], Any], loop: asyncio.AbstractEventLoop, answer: asyncio.Future[Any]
    ) -> None:
        self._call = call
        self._loop = loop
        self._answer = answer

    def do(self) -> Callable[[], None]:
        """Call; return a function that passes the answer to the loop."""
        try:
            return partial(self._settle, self._answer.set_result, _quiet(self._call))
        except BaseException as exc:  # its awaiter gets it, and the thread stays
            return partial(self._settle, self._answer.set_exception, exc)

    def answer(self, give: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed: no task waits
            self._loop.call_soon_threadsafe(give)

    def _settle(self, settle: Callable[[Any], None], value: object) -> None:
        if not self._answer.done():
            settle(value)


class _SpareThreads:
    """Daemon threads: idle ones are reused, and a new one is created when all are busy."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[_Call]] = []

    def do(self, call: _Call) -> None:
        with self._lock:
            queue = self._idle.pop() if self._idle else None
        if queue is None:
            queue = SimpleQueue()
            threading.Thread(target=self._serve, args=(queue,), name="agentic-spare", daemon=True).start()
        queue.put(call)

    def _serve(self, queue: SimpleQueue[_Call]) -> None:
        is_needed = True
        while is_needed:
            call = queue.get()
            give = call.do()
            with self._lock:
                if is_needed := len(self._idle) < _MAX_IDLE:
                    self._idle.append(queue)
            call.answer(give)
            del call, give  # their objects must not live until the next call


_spare = _SpareThreads()


def _begin_anew() -> None:
    """Forget the threads of the parent process after a fork."""
    global _spare  # noqa: PLW0603 - one for each process
    _spare = _SpareThreads()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
