"""Ends processes of a worker whose event loop is stalled; runs in the process beside it."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from agentic.core.logging import get_logger
from agentic.core.records import record
from agentic.executors.workers.pulse import Reading, note_stalled, readings

log = get_logger(__name__)

LOOK_S = 1.0
_TAKE_BACK_S = 10.0
"""A database that does not answer must not keep a useless process alive."""

_SYSTEM = Path("/proc")


@record
class Stalled:
    """A process whose loop is stalled.

    Attributes:
        pid: The process.
        stood_s: For how long.
        activation: The activation that blocks the loop, if known.
        by: The place in code that does, if known.
    """

    pid: int
    stood_s: float
    activation: str = ""
    by: str = ""

    def reason(self, executor_id: str) -> str:
        """Return why the process was ended, for the activation of an executor."""
        where = f" ({self.by})" if self.by else ""
        return (
            f"executor {executor_id!r} blocked the event loop of its process for {self.stood_s:.0f} "
            f"s{where}, so the process was killed"
        )


class StallWatch:
    """Checks the pulses of a worker's processes once a second.

    Time counts only while this process itself runs, so that a suspended machine or worker is not a reason
    to end anything.

    Args:
        where: Folder of the pulses.
        worker_pid: The worker's main process.
        stall_s: How long a loop may stall beyond the timeouts of its running handlers.
        lease_s: How long claims last without extension, as in a process with no running thread.
        on_stall: Takes back the activations of the process, before it is ended.
    """

    def __init__(
        self,
        where: Path,
        worker_pid: int,
        stall_s: float,
        lease_s: float,
        on_stall: Callable[[Stalled], Awaitable[None]],
    ) -> None:
        self._where = where
        self._worker_pid = worker_pid
        self._stall_s = stall_s
        self._frozen_s = 0.8 * lease_s  # before others take over the activation and freeze, too
        self._on_stall = on_stall
        self._seen: dict[int, tuple[float, float]] = {}

    async def keep_watching(self) -> None:
        """Watch until cancelled."""
        looked = time.monotonic()
        while True:
            await asyncio.sleep(LOOK_S)
            before, looked = looked, time.monotonic()
            for stalled in self.look(min(looked - before, 2 * LOOK_S)):
                await self._end(stalled)

    def look(self, passed_s: float) -> list[Stalled]:
        """Return the processes that are stalled for too long, ``passed_s`` after the last look."""
        found, seen = [], {}
        for reading in readings(self._where) if self._where.is_dir() else ():
            beat, stood_s = self._seen.get(reading.pid, (reading.beat, 0.0))
            stood_s = stood_s + passed_s if beat == reading.beat and _runs(reading.pid) else 0.0
            seen[reading.pid] = (reading.beat, stood_s)
            if stood_s > self._limit_s(reading) and self._is_ours(reading.pid):
                found.append(_stalled(reading, stood_s))
        self._seen = seen
        return found

    def _limit_s(self, reading: Reading) -> float:
        limit_s = self._stall_s + reading.allowance_s
        is_frozen = reading.thread_beat - reading.beat < self._frozen_s / 2
        return min(limit_s, self._frozen_s) if is_frozen else limit_s

    async def _end(self, stalled: Stalled) -> None:
        log.error("loop.stalled", pid=stalled.pid, for_s=round(stalled.stood_s), by=stalled.by or None)
        try:
            async with asyncio.timeout(_TAKE_BACK_S):
                await self._on_stall(stalled)
        except Exception as exc:  # the next sweep takes it back, with fewer details
            log.warning("activation.kept", pid=stalled.pid, reason=str(exc) or type(exc).__name__)
        self._seen.pop(stalled.pid, None)
        note_stalled(self._where, stalled.pid)
        os.kill(stalled.pid, signal.SIGKILL)

    def _is_ours(self, pid: int) -> bool:
        """Whether it is the worker or its child: process ids are reused."""
        if pid == self._worker_pid:
            return True
        try:
            text = (_SYSTEM / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return not _SYSTEM.is_dir()
        return int(text.rpartition(")")[2].split()[1]) == self._worker_pid


def _stalled(reading: Reading, stood_s: float) -> Stalled:
    blamed = reading.blamed
    return Stalled(reading.pid, stood_s, blamed.get("activation", ""), blamed.get("by", ""))


def _runs(pid: int) -> bool:
    """Whether a process is not suspended, for example by Ctrl-Z."""
    try:
        text = (_SYSTEM / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return not _SYSTEM.is_dir()
    return text.rpartition(")")[2].strip()[:1] not in {"T", "t", "Z", "X"}
