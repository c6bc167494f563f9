"""Starts a command that cannot outlive the process that started it.

Run by path, with the standard library alone: ``python -S -E launcher.py <parent pid> <program> <arguments>``.
On Linux the kernel kills the command when the thread that started it ends, however that comes about.
Elsewhere the command is simply started.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(parent_pid: int, command: list[str]) -> None:
    """Become ``command``, unless the parent is gone already."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
        # The request above comes too late for a parent that died before it.
        if os.getppid() != parent_pid:
            sys.exit(f"the parent {parent_pid} is gone")
    # Python ignores this signal, and what is ignored stays so in the program.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)  # noqa: S606 - a list of our own words, no shell
    except OSError as exc:
        sys.exit(f"cannot start {command[0]!r}: {exc.strerror}")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
