"""Connects an event loop to the blocking ledger: one thread, shared transactions, retries when it is away."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from agentic.core.graph.errors import error_text
from agentic.core.ledger import LedgerConflictError, LedgerStore, LedgerTransaction
from agentic.core.logging import get_logger
from agentic.mappers.database.away import went_away

log = get_logger(__name__)

T = TypeVar("T")

PAUSES_S = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0)
"""Half a minute in all: a server restart, a failover. A longer outage fails the run."""


def pauses() -> Iterator[float]:
    """Return the seconds to wait before each further try; each is drawn on demand."""
    return map(shortened, PAUSES_S)


def shortened(pause_s: float) -> float:
    """Return a pause shortened at random: many wait for one database."""
    return pause_s * random.uniform(0.5, 1.0)  # noqa: S311 - jitter is not a secret


async def patiently(do: Callable[[], Awaitable[T]]) -> T:
    """Do something, and retry while the database is unavailable; it may then be done twice."""
    for pause_s in pauses():
        try:
            return await do()
        except Exception as exc:
            if not went_away(exc):
                raise
            log.warning("database.away", reason=error_text(exc), again_in_s=round(pause_s, 1))
        await asyncio.sleep(pause_s)
    return await do()


R = TypeVar("R")
Work = Callable[[LedgerTransaction], R]

MAX_GROUP = 100
"""Maximum number of calls per transaction: the first of them waits for the last."""

_MAX_CONFLICTS = 20
_FIRST_PAUSE_S = 0.002


class LedgerExecutor:
    """Does work in transactions of a ledger, in the order of the calls.

    Calls that arrive while a transaction is written share the next one: a disk flush costs more than all
    statements of a step. If one call raises, only its own changes are undone.

    Args:
        store: The ledger.
    """

    def __init__(self, store: LedgerStore) -> None:
        self._store = store
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    async def do(self, work: Work[R]) -> R:
        """Return the result of ``work``, once its transaction is committed.

        Once begun it runs to its end, even if the caller is cancelled.

        Raises:
            LedgerUnavailableError: The ledger cannot be used.
            Exception: Raised by ``work``.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[R] = loop.create_future()
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="agentic-ledger", daemon=True)
            self._thread.start()
        self._queue.put(_Job(work, loop, answer))
        return await asyncio.shield(answer)

    def close(self) -> None:
        """Finish all calls, and end the thread."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _serve(self) -> None:
        while (job := self._queue.get()) is not None:
            jobs = [job]
            is_over = False
            with suppress(Empty):
                while len(jobs) < MAX_GROUP and not is_over:
                    more = self._queue.get_nowait()
                    is_over = more is None
                    if more is not None:
                        jobs.append(more)
            self._do_all(jobs)
            if is_over:
                return

    def _do_all(self, jobs: Sequence[_Job]) -> None:
        # Savepoints for each cost a tenth of their time: only after one has raised.
        if len(jobs) > 1 and not (self._kept(jobs, self._together) or self._kept(jobs, self._apart)):
            for job in jobs:  # alone, each shows whether it failed
                self._alone(job)
        if len(jobs) == 1:
            self._alone(jobs[0])
        _answer(jobs)

    def _kept(self, jobs: Sequence[_Job], do: Callable[[LedgerTransaction, Sequence[_Job]], None]) -> bool:
        try:
            with self._store.transaction() as transaction:
                do(transaction, jobs)
        except BaseException:  # foreign code joins transactions, and this thread serves the whole process
            return False
        return True

    def _together(self, transaction: LedgerTransaction, jobs: Sequence[_Job]) -> None:
        for job in jobs:
            job.outcome = partial(job.answer.set_result, job.work(transaction))

    def _apart(self, transaction: LedgerTransaction, jobs: Sequence[_Job]) -> None:
        for job in jobs:
            try:
                with transaction.savepoint():
                    job.outcome = partial(job.answer.set_result, job.work(transaction))
            except LedgerConflictError:
                raise
            except BaseException as exc:
                job.outcome = partial(job.answer.set_exception, exc)

    def _alone(self, job: _Job) -> None:
        try:
            job.outcome = partial(job.answer.set_result, in_transaction(self._store, job.work))
        except BaseException as exc:
            job.outcome = partial(job.answer.set_exception, exc)


class DirectLedgerExecutor(LedgerExecutor):
    """Does work at once, on the event loop: for a process that does one activation at a time.

    A thread switch costs as much as a small transaction, and nothing else waits for the loop.
    """

    async def do(self, work: Work[R]) -> R:
        """Return the result of ``work``, once its transaction is committed."""
        return in_transaction(self._store, work)


def in_transaction(store: LedgerStore, work: Work[R]) -> R:
    """Return the result of ``work`` in its own transaction, which is retried after conflicts.

    Raises:
        LedgerUnavailableError: The ledger cannot be used, or is too busy.
        Exception: Raised by ``work``.
    """
    for attempt in range(_MAX_CONFLICTS):
        try:
            with store.transaction() as transaction:
                return work(transaction)
        except LedgerConflictError:
            if attempt + 1 == _MAX_CONFLICTS:
                raise
            time.sleep(random.uniform(0, _FIRST_PAUSE_S * 2 ** min(attempt, 6)))  # noqa: S311  # jitter is not a secret
    raise AssertionError("unreachable")


@dataclass(slots=True, eq=False)
class _Job:
    work: Work[Any]
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Any]
    outcome: Callable[[], None] | None = None


def _answer(jobs: Sequence[_Job]) -> None:
    """Answer the callers: all of one loop at once, because waking it costs more than an answer."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
    for job in jobs:
        by_loop.setdefault(job.loop, []).append(job)
    for loop, of_loop in by_loop.items():
        with suppress(RuntimeError):  # the loop is closed: nothing waits
            loop.call_soon_threadsafe(_tell, of_loop)


def _tell(jobs: Sequence[_Job]) -> None:
    for job in jobs:
        if job.outcome is not None and not job.answer.done():
            job.outcome()
