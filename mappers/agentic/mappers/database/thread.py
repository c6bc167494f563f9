"""A thread that does one thing after the other for an event loop."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import ParamSpec, TypeAlias, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
Job: TypeAlias = Callable[[], None]


class Lane:
    """Calls functions in a thread of its own, in the order they were asked for.

    A way there and back costs 60 us where ``asyncio.to_thread`` costs 160, and those who write to one SQLite
    database wait here instead of in its busy handler, which sleeps for milliseconds.

    The thread starts with the first call, in each process anew, and ends with the lane.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._queues: dict[int, SimpleQueue[Job | None]] = {}

    async def run(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Return what ``call`` returns; when cancelled meanwhile, it ends before the cancellation goes on."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[R] = _Answer(loop=loop)
        self._queue().put(partial(_work, loop, answer, partial(call, *args, **kwargs)))
        return await answer

    def _queue(self) -> SimpleQueue[Job | None]:
        pid = os.getpid()
        if queue := self._queues.get(pid):
            return queue
        queue = self._queues.setdefault(pid, SimpleQueue())
        # Two threads that come here at once start two workers: no harm, as both end on the same mark.
        threading.Thread(target=_serve, args=(queue,), name=self._name, daemon=True).start()
        weakref.finalize(self, queue.put, None)
        return queue


def _serve(queue: SimpleQueue[Job | None]) -> None:
    while (job := queue.get()) is not None:
        job()
        del job  # it holds the lane's owner, which could else not end while the thread waits
    queue.put(None)


class _Answer(asyncio.Future[R]):
    def cancel(self, msg: object = None) -> bool:  # noqa: ARG002 - asyncio's signature
        """Say no: the task that waits is cancelled all the same, as soon as there is an answer."""
        return False


def _work(loop: asyncio.AbstractEventLoop, answer: asyncio.Future[R], call: Callable[[], R]) -> None:
    tell: Callable[[], None]
    try:
        tell = partial(answer.set_result, call())
    except BaseException as exc:  # whatever it is, it belongs to the one who waits
        tell = partial(answer.set_exception, exc)
    with suppress(RuntimeError):  # the loop is closed: nobody waits any more
        loop.call_soon_threadsafe(tell)
