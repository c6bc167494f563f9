"""One asyncio loop on a thread of its own, for callers that block."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine
from typing import Generic, TypeVar

T = TypeVar("T")
# What an interrupted coroutine gets to clean up: write its end, close what it opened.
CLEANUP_S = 10.0


class LoopThread:
    """Runs coroutines on a daemon thread. One a process: connections live on the loop they were made on.

    Make it after fork; a loop does not survive one.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="agentic-loop", daemon=True)
        self._thread.start()

    def run(
        self,
        work: Coroutine[object, object, T],
        *,
        explain: Callable[[BaseException], str] = repr,
    ) -> T:
        """Run ``work`` on the loop and wait for what it returns.

        An exception that interrupts the waiting thread (a time limit or a signal, which Python raises there)
        cancels ``work``, gives it 10 s to end, and is then raised.

        Args:
            work: The coroutine.
            explain: Says why ``work`` is cancelled; becomes the message of its ``CancelledError``.
        """
        job = _Job(self._loop, work)
        try:
            # An exception may come at any point from here on, also before this returns.
            self._loop.call_soon_threadsafe(job.begin)
            return job.outcome.result()
        except BaseException as exc:
            if not job.outcome.done():
                job.interrupted = explain(exc)
                self._loop.call_soon_threadsafe(job.cancel)
                concurrent.futures.wait([job.outcome], timeout=CLEANUP_S)
            raise

    def close(self) -> None:
        """Cancel what still runs and end the thread; a second call does nothing."""
        if self._loop.is_closed():
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=CLEANUP_S)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            _cancel_all(self._loop)
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._loop.close()


class _Job(Generic[T]):
    """A coroutine that a thread waits for; its methods are called on the loop.

    Attributes:
        outcome: What the thread waits for.
        interrupted: Why the thread no longer wants it, if so.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, work: Coroutine[object, object, T]) -> None:
        self.outcome: concurrent.futures.Future[T] = concurrent.futures.Future()
        self.interrupted: str | None = None
        self._loop = loop
        self._work = work
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        if self.interrupted is None:
            self._task = self._loop.create_task(self._settle())
        else:
            self._work.close()
            self._give_up()

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel(self.interrupted)

    async def _settle(self) -> None:
        try:
            self.outcome.set_result(await self._work)
        except asyncio.CancelledError:
            self._give_up()
            raise
        except BaseException as exc:
            self.outcome.set_exception(exc)

    def _give_up(self) -> None:
        self.outcome.cancel()
        self.outcome.set_running_or_notify_cancel()  # who waits for it is told only by this


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel("the process ends")
    if tasks:
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
