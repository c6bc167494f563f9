"""Names of the processes that work on runs; with them, processes on one machine detect dead ones."""

from __future__ import annotations

import os
import socket
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

_SYSTEM = Path("/proc")
_PLACE_DIGITS = 8


def process_name(who: str | None = None) -> str:
    """Return the name of this process: ``who/pid``, and on Linux ``who/pid/place``.

    A place is one system since its start, or one container: its processes see each other by their ids.

    Args:
        who: Owner of the process; the host by default.
    """
    place = _place(os.getpid())
    name = f"{who or socket.gethostname()}/{os.getpid()}"
    return name if place is None else f"{name}/{place}"


def is_gone(name: object) -> bool:
    """Whether the process of this name is known to have ended.

    This is never known of a process in another place, or when a new process has its id.
    """
    if not isinstance(name, str):  # a row of SQLite may hold anything
        return False
    _, _, process = name.partition("/")
    pid, _, place = process.partition("/")
    if not place or place != _place(os.getpid()) or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)  # not /proc: it may hide other users' processes
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return _is_zombie(pid)


def is_process(name: str, pid: int) -> bool:
    """Whether a name belongs to a process of this place."""
    _, _, process = name.partition("/")
    own, _, place = process.partition("/")
    return own == str(pid) and place == (_place(os.getpid()) or "")


def _is_zombie(pid: str) -> bool:
    """Whether a process is dead, but its parent has not noticed yet."""
    try:
        text = (_SYSTEM / pid / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    # The name of the program, in parentheses, may hold anything; the state follows it.
    return text.rpartition(")")[2].strip()[:1] in {"Z", "X"}


@lru_cache(maxsize=1)
def _place(pid: int) -> str | None:
    """Return an id of the place where process ``pid``, this one, runs; None if unknown."""
    try:
        boot = (_SYSTEM / "sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
        namespace = (_SYSTEM / str(pid) / "ns/pid").readlink()
    except OSError:
        return None
    return sha256(f"{boot} {namespace}".encode()).hexdigest()[:_PLACE_DIGITS]
