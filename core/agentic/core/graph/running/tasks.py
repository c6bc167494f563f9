"""Tasks of handlers: a few at a time, each with context variables of its own."""

from __future__ import annotations

import asyncio
import sys
import types
from asyncio import CancelledError, current_task
from collections.abc import Awaitable, Coroutine, Generator, Iterator
from contextvars import copy_context
from typing import Any, TypeVar

from agentic.core.errors import text_of
from agentic.core.graph.running.cancels import OwnGroup, count_of_others, note_cancellation, note_own


async def gather_bounded(jobs: Iterator[Awaitable[None]], limit: int | None) -> None:
    """Do all ``jobs``; they start in order.

    A task, and the switch to it, costs more than a short handler with the engine's work around it. So a
    worker does one job after the other. Before each job it makes sure that other workers stand by. They
    start when this one waits: the first worker does all jobs that never wait.

    Args:
        jobs: Made when their turn comes.
        limit: How many to do at a time; None for all.

    Raises:
        BaseExceptionGroup: Some jobs raised an exception; the others were cancelled.
    """
    async with OwnGroup() as group:
        await _TaskPool(group, jobs, limit or sys.maxsize).work()


class _TaskPool:
    """The workers of one iterator of jobs."""

    def __init__(self, group: asyncio.TaskGroup, jobs: Iterator[Awaitable[None]], limit: int) -> None:
        self._group = group
        self._jobs = jobs
        self._places = limit - 1
        self._next_call = 1
        self._standing_by = 1

    async def work(self) -> None:
        """Do jobs until none is left."""
        self._standing_by -= 1
        for job in self._jobs:
            if not self._standing_by and self._places:
                self._call_more()
            await job

    def _call_more(self) -> None:
        """Add workers on standby: twice as many each time, so that many waiting jobs all start soon."""
        self._standing_by = min(self._next_call, self._places)
        self._places -= self._standing_by
        self._next_call *= 2
        for _ in range(self._standing_by):
            self._group.create_task(self.work())


ResultT = TypeVar("ResultT")


@types.coroutine
def isolate_contextvars(  # noqa: C901  # inlined: each further call adds a tenth of its cost
    coroutine: Coroutine[Any, Any, ResultT],
) -> Generator[Any, Any, ResultT]:
    """Run a coroutine in a copy of the context variables, so that its changes stay private.

    Handlers of one superstep may share a task: without this, one would see the log bindings of another.
    """
    step: Any = copy_context().run
    task = current_task()
    # Checked before and after each step, inline: a call for it would cost as much as the step.
    count = _none if task is None else task.cancelling
    others = (before := count()) and count_of_others(task)
    is_closed = False
    try:
        waits_for = step(coroutine.send, None)
        while True:
            if count() != before:
                note_own(task, others)
            try:
                value = yield waits_for
            except GeneratorExit:
                is_closed = True
                step(coroutine.close)
                raise
            except BaseException as exc:
                others = (before := count()) and count_of_others(task)
                if isinstance(exc, CancelledError):
                    note_cancellation(coroutine)
                waits_for = step(coroutine.throw, exc)
            else:
                others = (before := count()) and count_of_others(task)
                waits_for = step(coroutine.send, value)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]  # the coroutine's return value
    except GeneratorExit as exc:
        if is_closed:
            raise
        # The coroutine itself raised it. Convert it, as Python does with a StopIteration: otherwise each
        # awaiting caller would take it for the order to close.
        raise RuntimeError(f"coroutine raised GeneratorExit: {text_of(exc)}".rstrip(": ")) from exc
    finally:
        if count() != before and not is_closed:
            note_own(task, others)


def _none() -> int:
    return 0
