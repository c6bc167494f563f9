"""The pulse of a worker's processes: their event loops write it, and a process beside them reads it.

It is memory shared through a small file, so that it can be read while a C function blocks all of Python.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree

from agentic.core.records import record

FOLDER_VARIABLE = "AGENTIC_PULSE_FOLDER"
"""Names the folder to the processes of a worker."""

BEAT_S = 0.5
_PREFIX = "agentic-pulse-"
_SIZE = 4096
_STALLED = ".stalled"
_HEAD = struct.Struct("<dd")
_THREAD = struct.Struct("<d")
_THREAD_AT = 32
_LENGTH = struct.Struct("<H")
_BLAMED_AT = 64


@record
class Reading:
    """The last pulse of a process.

    Attributes:
        pid: The process.
        beat: When its loop was alive, by the monotonic clock of the system.
        thread_beat: When another of its threads was alive; none is while a C function blocks Python.
        allowance_s: How long its running handlers may take, by their own timeouts.
        blamed: The cause of a blocked loop, if known: ``activation`` and ``by``, a place in code.
    """

    pid: int
    beat: float
    thread_beat: float
    allowance_s: float
    blamed: Mapping[str, str]


class Pulse:
    """Writes the pulse of this process.

    Args:
        path: The file, which is created.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("wb") as made:
            made.truncate(_SIZE)
        with path.open("r+b") as opened:
            self._memory = mmap.mmap(opened.fileno(), _SIZE)
        self._lock = threading.Lock()
        self._at_work: dict[object, float] = {}
        self._allowance_s = 0.0
        self.beat()

    def beat(self) -> None:
        """Record that the loop is alive."""
        _HEAD.pack_into(self._memory, 0, time.monotonic(), self._allowance_s)

    def beat_of_thread(self) -> None:
        """Record that a thread beside the loop is alive."""
        _THREAD.pack_into(self._memory, _THREAD_AT, time.monotonic())

    @contextmanager
    def at_work(self, timeout_s: float) -> Iterator[None]:
        """Record that a handler with a timeout is running; it may block the loop for that long."""
        token = object()
        self._set(token, timeout_s)
        try:
            yield
        finally:
            self._set(token, None)

    def blame(self, **facts: object) -> None:
        """Record the cause of a blocked loop; nothing, when it is free again."""
        data = json.dumps({key: str(value) for key, value in facts.items()}).encode()
        if len(data) <= _SIZE - _BLAMED_AT - _LENGTH.size:
            end = _BLAMED_AT + _LENGTH.size
            self._memory[end : end + len(data)] = data
            _LENGTH.pack_into(self._memory, _BLAMED_AT, len(data))

    def close(self) -> None:
        """Remove this process: it ends."""
        self._path.unlink(missing_ok=True)

    def _set(self, token: object, timeout_s: float | None) -> None:
        with self._lock:
            if timeout_s is None:
                self._at_work.pop(token, None)
            else:
                self._at_work[token] = timeout_s
            self._allowance_s = max(self._at_work.values(), default=0.0)
            self.beat()


_pulses: dict[int, Pulse] = {}


def make_folder() -> Path:
    """Make the folder for the processes of a worker, and show it to the processes it starts."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        pid = left.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdecimal() and not _is_alive(int(pid)):
            rmtree(left, ignore_errors=True)  # of a worker that was killed; not ours: it stays
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    os.environ[FOLDER_VARIABLE] = str(folder)
    return folder


def folder() -> Path | None:
    """Return the folder of the worker that this process belongs to."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else None


def own_pulse() -> Pulse | None:
    """Return the pulse of this process, if a reader exists."""
    pid = os.getpid()
    found = _pulses.get(pid)
    if found is None and (where := folder()) is not None and where.is_dir():
        found = _pulses[pid] = Pulse(where / str(pid))
    return found


def close_pulse() -> None:
    """Forget this process."""
    found = _pulses.pop(os.getpid(), None)
    if found is not None:
        found.close()


def readings(where: Path) -> Iterator[Reading]:
    """Yield the last pulse of each process of a worker."""
    for path in where.iterdir():
        if path.name.isdecimal():
            with suppress(OSError, ValueError, struct.error):
                yield _read(path)


def note_stalled(where: Path, pid: int) -> None:
    """Record that a process is ended because its loop stalled; its pulse is no longer read."""
    with suppress(OSError):
        (where / f"{pid}{_STALLED}").touch()
        (where / str(pid)).unlink(missing_ok=True)


def has_stalled(worker_pid: int) -> bool:
    """Whether a worker's main process was ended because it stalled."""
    folders = Path(tempfile.gettempdir()).glob(f"{_PREFIX}{worker_pid}-*")
    return any((where / f"{worker_pid}{_STALLED}").exists() for where in folders)


def _read(path: Path) -> Reading:
    data = path.read_bytes()
    beat, allowance_s = _HEAD.unpack_from(data, 0)
    (thread_beat,) = _THREAD.unpack_from(data, _THREAD_AT)
    (length,) = _LENGTH.unpack_from(data, _BLAMED_AT)
    start = _BLAMED_AT + _LENGTH.size
    blamed: Mapping[str, str] = {}
    with suppress(ValueError):  # it is being written
        blamed = json.loads(data[start : start + length]) if length else {}
    return Reading(int(path.name), beat, thread_beat, allowance_s, blamed)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
