"""Does jobs side by side, with as few tasks as that takes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Iterator

from agentic.core.graph.cancels import OwnGroup


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
