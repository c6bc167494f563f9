"""One asyncio loop on a thread of its own, for callers that block."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine
from typing import TypeVar

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
        outcome: concurrent.futures.Future[T] = concurrent.futures.Future()
        tasks: list[asyncio.Task[None]] = []
        interrupted: list[str] = []

        def give_up() -> None:
            outcome.cancel()
            outcome.set_running_or_notify_cancel()  # who waits for it is told only by this

        async def settle() -> None:
            try:
                outcome.set_result(await work)
            except asyncio.CancelledError:
                give_up()
                raise
            except BaseException as exc:
                outcome.set_exception(exc)

        def begin() -> None:
            if interrupted:
                work.close()
                give_up()
            else:
                tasks.append(self._loop.create_task(settle()))

        def cancel() -> None:
            for task in tasks:
                task.cancel(interrupted[0])

        try:
            # An exception may come at any point from here on, also before this returns.
            self._loop.call_soon_threadsafe(begin)
            return outcome.result()
        except BaseException as exc:
            if not outcome.done():
                interrupted.append(explain(exc))
                self._loop.call_soon_threadsafe(cancel)
                concurrent.futures.wait([outcome], timeout=CLEANUP_S)
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


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel("the process ends")
    if tasks:
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
