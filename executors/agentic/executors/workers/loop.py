"""One asyncio loop on its own thread, for callers that block."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import Any, Generic, TypeVar

from agentic.core.errors import line_of
from agentic.core.logging import get_logger
from agentic.executors.workers.guarding import EngineTask
from agentic.executors.workers.loop_watch import LoopWatch
from agentic.executors.workers.pulse import BEAT_S, own_pulse

log = get_logger(__name__)

T = TypeVar("T")
# Time for an interrupted coroutine to clean up: write its end, close its resources.
CLEANUP_S = 10.0
# Of sysexits.h, EX_SOFTWARE; Celery ends its processes with it, too.
STUCK_EXIT_CODE = 70


LOOK_S = 0.5
"""A signal just before a thread waits does not wake it, so it wakes up at this interval."""


class LoopClosedError(RuntimeError):
    """The loop was closed before or while it ran this work; the message says why."""


class LoopThread:
    """Runs coroutines on a daemon thread. One per process: connections live on the loop they were made on.

    Make it after fork; a loop does not survive one. Code that blocks the loop is named in the log.

    Args:
        finish: Called on the loop at its end, when all work is over, to close its resources.
        cleanup_s: Time for cancelled work to end; after that the thread stops waiting.
    """

    def __init__(
        self, finish: Callable[[], Awaitable[None]] | None = None, *, cleanup_s: float = CLEANUP_S
    ) -> None:
        self._finish = finish
        self._cleanup_s = cleanup_s
        self._jobs: set[_Job[Any]] = set()
        self._beginning = threading.Lock()
        self._closed_because: str | None = None
        self._is_stuck = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="agentic-loop", daemon=True)
        self._thread.start()
        self._watch = LoopWatch(self._thread)

    def run(
        self,
        work: Coroutine[object, object, T],
        *,
        explain: Callable[[BaseException], str] = repr,
    ) -> T:
        """Run ``work`` on the loop and wait for its result.

        An exception that interrupts the waiting thread (a time limit or a signal, which Python raises there)
        cancels ``work``, gives it ``cleanup_s`` to end, and is then raised.

        Args:
            work: The coroutine.
            explain: Returns why ``work`` is cancelled: the message of its ``CancelledError``.

        Raises:
            LoopClosedError: The loop was closed, before or meanwhile.
            SystemExit: Interrupted work does not end, so the process cannot continue.
        """
        job = _Job(self._loop, work)
        try:
            # An exception may come at any point from here on, also before this returns.
            self._begin(job)
            return _awaited(job.outcome)
        except BaseException as exc:
            if self._closed_because is not None and isinstance(exc, concurrent.futures.CancelledError):
                raise LoopClosedError(self._closed_because) from None
            if not job.outcome.done():
                self._interrupt(job, explain(exc))
            raise
        finally:
            self._jobs.discard(job)

    def close(self, reason: str = "the process ends") -> None:
        """Cancel running work, wait ``cleanup_s`` for its end, and end the thread; may be called again.

        Args:
            reason: The message of the ``CancelledError``, and of the error that :meth:`run` raises.
        """
        with self._beginning:
            if self._closed_because is None:
                self._closed_because = reason
                self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=0 if self._is_stuck else self._cleanup_s)
        self._is_stuck = self._thread.is_alive()
        self._watch.close()
        for job in tuple(self._jobs):
            job.outcome.cancel()  # it does not end, but the waiting must stop

    def _begin(self, job: _Job[T]) -> None:
        with self._beginning:
            if self._closed_because is not None:
                job.abandon()
                return
            self._jobs.add(job)
            self._loop.call_soon_threadsafe(job.begin)

    def _interrupt(self, job: _Job[T], reason: str) -> None:
        job.interrupted = reason
        self._loop.call_soon_threadsafe(job.cancel)
        _, unended = concurrent.futures.wait([job.outcome], timeout=self._cleanup_s)
        if unended:
            self._is_stuck = True
            log.error("loop.stuck", reason=reason, waited_s=self._cleanup_s)
            raise SystemExit(STUCK_EXIT_CODE)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._beat()
        self._run_until_closed()
        for last in (self._end, self._loop.shutdown_asyncgens, self._loop.shutdown_default_executor):
            self._run_to_end(last())
        self._loop.close()

    def _beat(self) -> None:
        """Show the watcher of this process that its loop is alive."""
        if (pulse := own_pulse()) is not None:
            pulse.beat()
            self._loop.call_later(BEAT_S, self._beat)

    def _run_until_closed(self) -> None:
        """Run the loop, and restart it when foreign code ends it: the rest of the process needs it.

        ``loop.stop()`` ends it, and a task or callback that raises SystemExit or KeyboardInterrupt.
        """
        while self._closed_because is None:
            try:
                self._loop.run_forever()
            except BaseException as exc:  # not from a signal: only the main thread gets signals
                log.warning("loop.interrupted", error=line_of(exc))
                if self._loop.is_closed():  # everything open in this process lived on it
                    os._exit(STUCK_EXIT_CODE)
            else:
                if self._closed_because is None:
                    log.warning("loop.interrupted", error="its stop() was called")

    def _run_to_end(self, last: Coroutine[object, object, None]) -> None:
        task = EngineTask(last, self._loop)
        while not task.done():
            try:
                self._loop.run_until_complete(task)
            except BaseException as exc:
                log.warning("loop.interrupted", error=line_of(exc))

    async def _end(self) -> None:
        """Cancel the work first, then the tasks and resources that it may need."""
        await _cancelled([job.task for job in tuple(self._jobs) if job.task], self._closed_because)
        if self._finish is not None:
            try:
                await self._finish()
            except Exception as exc:
                log.warning("cleanup.failed", error=line_of(exc))
        await _cancelled(asyncio.all_tasks() - {asyncio.current_task()}, self._closed_because)


class _Job(Generic[T]):
    """A coroutine that a thread waits for; its methods are called on the loop.

    Attributes:
        outcome: The result that the thread waits for.
        interrupted: Why the thread no longer wants it, if so.
        task: Its task, once it has begun.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, work: Coroutine[object, object, T]) -> None:
        self.outcome: concurrent.futures.Future[T] = concurrent.futures.Future()
        self.interrupted: str | None = None
        self._loop = loop
        self._work = work
        self.task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        if self.interrupted is None:
            self.task = EngineTask(self._settle(), self._loop)
            # A task that is cancelled before its first step never enters its coroutine.
            self.task.add_done_callback(lambda _: self.abandon())
        else:
            self.abandon()

    def cancel(self) -> None:
        if self.task is not None:
            self.task.cancel(self.interrupted)

    def abandon(self) -> None:
        """Cancel the outcome, if it is still missing."""
        self._work.close()
        if not self.outcome.done():
            self.outcome.cancel()
            self.outcome.set_running_or_notify_cancel()  # only this wakes the waiting thread

    async def _settle(self) -> None:
        try:
            result = await self._work
        except asyncio.CancelledError:
            raise
        except BaseException as exc:
            if not self.outcome.done():
                self.outcome.set_exception(exc)
        else:
            if not self.outcome.done():
                self.outcome.set_result(result)


async def _cancelled(tasks: Collection[asyncio.Task[Any]], reason: str | None) -> None:
    """Cancel tasks and wait for their end."""
    for task in tasks:
        task.cancel(reason)
    await asyncio.gather(*tasks, return_exceptions=True)


def _awaited(outcome: concurrent.futures.Future[T]) -> T:
    while True:
        try:
            return outcome.result(LOOK_S)
        except TimeoutError:
            if outcome.done():  # it is the work's own
                return outcome.result()
