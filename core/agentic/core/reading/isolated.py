"""Libraries that a page can keep busy forever: each call runs in a process that can be killed.

A backtracking regular expression holds Python's lock: neither a timeout nor a cancellation reaches its
process. So code that is not our own, and reads untrusted input, is called in a process beside this one. The
system ends that process when a call has used its time, and no other call notices.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, cast

from agentic.core.reading import isolated_process
from agentic.core.types import JSONValue

CPU_S = 20
"""CPU time of one call. A broken feed of 1 MB takes up to eight."""
MEMORY_BYTES = 2 * 1024**3
PROCESSES = 2
"""Concurrent calls; further calls wait in order."""
WALL_S = 600.0
"""Time until a silent process is killed: a stopped process uses no CPU."""
PIECE_BYTES = 1024 * 1024

_KEPT = (
    "PATH",
    "LD_LIBRARY_PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "HOME",
)  # nothing that may be secret


class IsolatedCallError(ValueError):
    """A library did not finish with its input, or failed."""


class ProcessEndedError(IsolatedCallError):
    """The process of a call ended before it had answered.

    Attributes:
        is_limit: Whether the call had used up its time or its memory.
    """

    def __init__(self, exit_code: int) -> None:
        super().__init__(_why_ended(exit_code))
        self.is_limit = exit_code in (-signal.SIGPROF, -signal.SIGKILL)


def call_isolated(function: str, payload: bytes) -> JSONValue:
    """Call a function in another process and return its answer. Blocks: call it in a spare thread.

    Args:
        function: ``module:name`` of a function that takes bytes and returns JSON.
        payload: The argument.

    Raises:
        IsolatedCallError: It failed, or was ended.
    """
    with _pool.process() as process:
        return process.call(function, payload)


class _Process:
    """One such process. It starts with the first call, and ends by itself after an idle minute."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None

    def call(self, function: str, payload: bytes) -> JSONValue:
        answer = self._asked(function, payload)
        exit_code = self._end() if answer is None else 0
        if answer is None and exit_code == 0:  # it was idle, and had just ended by itself
            answer = self._asked(function, payload)
            exit_code = self._end() if answer is None else 0
        if answer is None:
            raise ProcessEndedError(exit_code)
        told = cast("dict[str, Any]", json.loads(answer))
        if "fault" in told:
            raise IsolatedCallError(str(told["fault"]))
        return cast(JSONValue, told["value"])

    def close(self) -> None:
        """End the process, in any state."""
        if self._child is not None:
            self._child.kill()
            self._end()

    def forget(self) -> None:
        """Leave the process to the parent that this process was forked from."""
        if self._child is not None:
            self._close_pipes(self._child)
            self._child.returncode = 0
            self._child = None

    def _asked(self, function: str, payload: bytes) -> bytes | None:
        """Return the line of the answer, None if the process has ended before."""
        child = self._child = self._child or _started()
        head = {"function": function, "size": len(payload), "cpu_s": CPU_S}
        try:
            _write(child, json.dumps(head).encode() + b"\n" + payload)
        except BrokenPipeError:
            return None
        return _read_line(child)

    def _end(self) -> int:
        child, self._child = self._child, None
        if child is None:
            return 0
        self._close_pipes(child)
        try:
            return child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            child.kill()
            return child.wait()

    @staticmethod
    def _close_pipes(child: subprocess.Popen[bytes]) -> None:
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


class _Pool:
    """The processes of this one."""

    def __init__(self) -> None:
        self._places = threading.Semaphore(PROCESSES)
        self._idle = [_Process() for _ in range(PROCESSES)]
        self._all = tuple(self._idle)

    @contextmanager
    def process(self) -> Iterator[_Process]:
        """Return a process that no other call uses."""
        with self._places:
            process = self._idle.pop()  # the last one that worked: the others may end
            try:
                yield process
            finally:
                self._idle.append(process)

    def close(self) -> None:
        for process in self._all:
            process.close()

    def forget(self) -> None:
        for process in self._all:
            process.forget()


def _why_ended(exit_code: int) -> str:
    if exit_code == -signal.SIGPROF:
        return f"reading it took more than {CPU_S} s of CPU time"
    if exit_code == -signal.SIGKILL:  # by us, or by a system that is short of memory
        return f"the process that read it was killed: it took {WALL_S:.0f} s, or too much memory"
    return f"the process that read it ended with exit code {exit_code}"


def _write(child: subprocess.Popen[bytes], data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(cast("IO[bytes]", child.stdin).fileno(), rest) :]


def _read_line(child: subprocess.Popen[bytes]) -> bytes | None:
    place = cast("IO[bytes]", child.stdout).fileno()
    waiting = select.poll()
    waiting.register(place, select.POLLIN)
    pieces: list[bytes] = []
    while waiting.poll(WALL_S * 1000) and (piece := os.read(place, PIECE_BYTES)):
        pieces.append(piece)
        if piece.endswith(b"\n"):
            return b"".join(pieces)
    child.kill()
    return None


def _started() -> subprocess.Popen[bytes]:
    # Its own session: a Ctrl-C ends this process, and the end of its input ends that one.
    paths = [os.path.abspath(path) for path in sys.path if path]  # noqa: PTH100 - zip files are among them
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", isolated_process.__name__, str(MEMORY_BYTES)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,  # nothing may be left in a buffer when this process is forked
        env={**environment, "PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8"},
        start_new_session=True,
    )
    # An idle process ends by itself: we must wait for it, or the system keeps its remains.
    threading.Thread(target=child.wait, name="agentic-isolated", daemon=True).start()
    return child


_pool = _Pool()


def _begin_anew() -> None:
    """Forget the processes of the process that this one was forked from."""
    global _pool  # noqa: PLW0603 - one for each process
    _pool.forget()
    _pool = _Pool()


def _close() -> None:
    _pool.close()


atexit.register(_close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
