"""Tasks of handlers: some at a time, each with context variables of its own."""

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


async def side_by_side(jobs: Iterator[Awaitable[None]], limit: int | None) -> None:
    """Do all ``jobs``; they begin in order.

    A task, and the switch to it, costs more than a short handler and all that the engine does around it. So a
    worker does one job after the other, and before each it sees to it that other workers stand by, who start
    when this one waits: jobs that never wait are all done by the first.

    Args:
        jobs: Made when their turn comes.
        limit: How many to do at a time; None for all.

    Raises:
        BaseExceptionGroup: Some raised something; the others were cancelled.
    """
    async with OwnGroup() as group:
        await _Crew(group, jobs, limit or sys.maxsize).work()


class _Crew:
    """Those who work off one iterator of jobs."""

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
        """Let workers stand by: twice as many each time, so that many jobs that wait have soon all begun."""
        self._standing_by = min(self._next_call, self._places)
        self._places -= self._standing_by
        self._next_call *= 2
        for _ in range(self._standing_by):
            self._group.create_task(self.work())


ResultT = TypeVar("ResultT")


@types.coroutine
def in_own_context(  # noqa: C901  # each call less is a tenth of what it costs
    coroutine: Coroutine[Any, Any, ResultT],
) -> Generator[Any, Any, ResultT]:
    """Let a coroutine see the context variables as they are, and keep what it sets from everybody else.

    Handlers of one superstep may share a task: without this, one would see what another bound for its log.
    """
    step: Any = copy_context().run
    task = current_task()
    # Looked at before and after each step, in place: a call for it would cost as much as the step.
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
        return done.value  # type: ignore[no-any-return]  # what the coroutine returned
    except GeneratorExit as exc:
        if is_closed:
            raise
        # Raised by the coroutine itself, as Python does with a StopIteration: else everybody who awaits this
        # would take it for the order to close.
        raise RuntimeError(f"coroutine raised GeneratorExit: {text_of(exc)}".rstrip(": ")) from exc
    finally:
        if count() != before and not is_closed:
            note_own(task, others)


def _none() -> int:
    return 0
