"""Watches the memory and the number of files of a run, which no limit of a single process covers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from agentic.core.sandbox.model import Ending, SandboxLimits

_FIRST_S, _LAST_S = 0.004, 0.05
SOCKET_BYTES = 208 * 1024
"""Memory that a socket can take: the kernel's default for a buffer, which the filter of calls keeps."""


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
        sockets = sum(map(_sockets, self._texts("net/sockstat", ["1"]))) * SOCKET_BYTES
        used = sockets + sum(_bytes(text, b"VmRSS", b"VmSwap", b"VmPTE") for text in self._texts("status"))
        if used > self._limits.memory_bytes:  # pages that processes share were counted for each
            used = sockets + sum(_bytes(text, b"VmPTE") for text in self._texts("status"))
            used += sum(_bytes(text, b"Pss", b"SwapPss") for text in self._texts("smaps_rollup"))
        self.most_bytes = max(self.most_bytes, used)
        return Ending.MEMORY if used > self._limits.memory_bytes else None

    def _texts(self, name: str, processes: Sequence[str] | None = None) -> Iterator[bytes]:
        """Yield a file of each process."""
        for process in processes or os.listdir(self._processes):  # noqa: PTH208 - of a descriptor
            if process.isdigit():
                with suppress(OSError):  # it has just ended
                    yield self._text(f"{process}/{name}")

    def _text(self, path: str) -> bytes:
        place = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._processes)
        try:
            return os.read(place, 4096)
        finally:
            os.close(place)


def _bytes(text: bytes, *names: bytes) -> int:
    """Return the sum of fields in KiB, as bytes; a process that is ending has none."""
    values = (text.partition(b"\n%s:" % name)[2].split(maxsplit=1) for name in names)
    return sum(int(value[0]) for value in values if value) * 1024


def _sockets(text: bytes) -> int:
    return int(text.split()[2])  # "sockets: used 3"
