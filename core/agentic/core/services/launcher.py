"""Starts a command that cannot outlive the process that started it.

Run by path, with the standard library alone: ``python -S -E launcher.py <parent pid> <program> <arguments>``.
On Linux the kernel kills the command when the thread that started it ends, for any reason.
Elsewhere a process beside the command watches the parent, and kills the command's group.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time

_PR_SET_PDEATHSIG = 1
_LOOK_EVERY_S = 0.5


def main(parent_pid: int, command: list[str]) -> None:
    """Become ``command``, unless the parent is already gone."""
    if sys.platform == "linux":
        bind_to_parent(parent_pid)
    else:
        guard(parent_pid)
    # Python ignores this signal, and an ignored signal stays ignored in the program.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)  # noqa: S606 - a list of our own words, no shell
    except OSError as exc:
        sys.exit(f"cannot start {command[0]!r}: {exc.strerror}")


def bind_to_parent(parent_pid: int) -> None:
    """Ask the kernel to kill this process when the thread that started it ends."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
    # The request above comes too late for a parent that died before it.
    if os.getppid() != parent_pid:
        sys.exit(f"the parent {parent_pid} is gone")


def guard(parent_pid: int) -> None:
    """Fork a process that kills the group of this one when the parent is gone; it ends with this one."""
    guarded = os.getpid()
    if os.fork():
        return
    while os.getppid() == guarded:
        if not _is_alive(parent_pid):
            os.killpg(guarded, signal.SIGKILL)
        time.sleep(_LOOK_EVERY_S)
    os._exit(0)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:  # the group is gone, or belongs to another user by now
        return False
    return True


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
