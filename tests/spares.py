"""Processes that are forked before a worker begins, and become what it starts beside itself.

A worker starts its reconciler, and a keeper starts its worker. To start Python and to load what these need
takes more than a second of CPU each time. Only the first process is forked: a second one, after the first has
ended, is started like anywhere else. Needs Linux.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from agentic.core.services import launcher

_STARTED = [sys.executable, "-S", "-E", launcher.__file__]
_COMMAND = [sys.executable, "-m", "agentic.core.cli"]


def keep_spare() -> None:
    """Fork a process for what a worker starts first; return in that process, too, when it is wanted."""
    while sys.platform == "linux" and "worker" in sys.argv[:2]:
        read, write = os.pipe()
        parent = os.getpid()
        pid = os.fork()
        if pid:
            os.close(read)
            _Launched.spare = (pid, write)
            subprocess.Popen = _Launched  # type: ignore[misc] # what starts a process finds it there
            return
        os.close(write)
        _wait_as(parent, read)


class _Launched(subprocess.Popen[Any]):
    """A process; the first that our launcher would start as ``agentic`` is the spare one."""

    spare: tuple[int, int] | None = None

    def __init__(self, args: Any, *rest: Any, **options: Any) -> None:
        words = _words_of(args)
        if words is None or not self._has_become(words, options):
            super().__init__(args, *rest, **options)

    def _has_become(self, words: Sequence[str], options: Mapping[str, Any]) -> bool:
        """Let the spare process become a command, if there is one still."""
        if _Launched.spare is None:
            return False
        (pid, write), _Launched.spare = _Launched.spare, None
        order = {
            "words": words,
            "env": dict(options.get("env") or os.environ),
            "is_apart": bool(options.get("start_new_session")),
            "has_input": "stdin" not in options,
        }
        with os.fdopen(write, "w", encoding="utf-8") as file:
            try:
                print(json.dumps(order), file=file, flush=True)
            except BrokenPipeError:
                return False
        self.args, self.pid, self.returncode = words, pid, None
        self.stdin = self.stdout = self.stderr = None
        self._waitpid_lock = threading.Lock()
        self._child_created = True
        return True


def _words_of(args: Any) -> Sequence[str] | None:
    """Return the words of a command, if it is one of ours that may not outlive this process."""
    if not isinstance(args, list) or args[:4] != _STARTED or args[4:8] != [str(os.getpid()), *_COMMAND]:
        return None
    return ["agentic", *args[8:]]


def _wait_as(parent: int, read: int) -> None:
    """Become the command that a parent wants, which this process may not outlive."""
    _show(["spare"])
    launcher.bind_to_parent(parent)
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    with os.fdopen(read, encoding="utf-8") as file:
        line = file.readline()
    if not line:
        os._exit(0)
    order = json.loads(line)
    if order["is_apart"]:
        os.setsid()
    if not order["has_input"]:
        with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a descriptor is wanted
            os.dup2(nothing.fileno(), 0)
    os.environ.clear()
    os.environ.update(order["env"])
    sys.argv = order["words"]
    _show(sys.argv)
    signal.signal(signal.SIGINT, handler)


def _show(words: Sequence[str]) -> None:
    """Have this process listed with a command line, by which tests find it."""
    with open("/proc/self/stat", encoding="utf-8") as file:  # noqa: PTH123 - its size is not known
        start, end = map(int, file.read().rpartition(")")[2].split()[45:47])
    line = "\0".join(words).encode()[: end - start - 1]
    ctypes.memmove(start, line.ljust(end - start, b"\0"), end - start)
