"""Watches the memory and the number of files of a run, which no limit of a single process covers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress

from agentic.core.sandbox.model import Ending, SandboxLimits

_FIRST_S, _LAST_S = 0.004, 0.05
_PAGE = os.sysconf("SC_PAGE_SIZE")


class SandboxWatch:
    """Looks at the processes of a sandbox from time to time.

    Args:
        processes: Descriptor of the sandbox's own ``/proc``: it lists its processes and no others.
        folder: Descriptor of a folder on its disk.
        limits: The limits.
    """

    def __init__(self, processes: int, folder: int, limits: SandboxLimits) -> None:
        self._processes = processes
        self._folder = folder
        self._limits = limits
        self._interval_s = _FIRST_S
        self._due = time.monotonic() + _FIRST_S
        self.most_bytes = 0

    def wait_s(self) -> float:
        """Return the seconds until the next look."""
        return max(0.0, self._due - time.monotonic())

    def look(self) -> Ending | None:
        """Return the reason to end the run, if it is time to look and there is one."""
        if time.monotonic() < self._due:
            return None
        self._interval_s = min(_LAST_S, self._interval_s * 2)
        disk = os.fstatvfs(self._folder)
        ending = Ending.FILES if disk.f_files - disk.f_ffree > self._limits.file_count else self._memory()
        self._due = time.monotonic() + self._interval_s
        return ending

    def close(self) -> None:
        """Close its descriptor of the processes."""
        os.close(self._processes)

    def _memory(self) -> Ending | None:
        used = sum(self._numbers("statm", _resident))
        if used > self._limits.memory_bytes:  # pages that processes share were counted for each
            used = sum(self._numbers("smaps_rollup", _proportional))
        self.most_bytes = max(self.most_bytes, used)
        return Ending.MEMORY if used > self._limits.memory_bytes else None

    def _numbers(self, name: str, read: object) -> Iterator[int]:
        parse = _resident if read is _resident else _proportional
        for process in os.listdir(self._processes):  # noqa: PTH208 - of a descriptor
            if process.isdigit():
                with suppress(OSError, IndexError, ValueError):  # it has just ended
                    yield parse(self._text(f"{process}/{name}"))

    def _text(self, path: str) -> bytes:
        place = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._processes)
        try:
            return os.read(place, 4096)
        finally:
            os.close(place)


def _resident(text: bytes) -> int:
    return int(text.split()[1]) * _PAGE


def _proportional(text: bytes) -> int:
    return int(text.partition(b"\nPss:")[2].split()[0]) * 1024
