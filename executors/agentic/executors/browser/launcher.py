"""Runs a browser that cannot outlive its owner process, however that process ends.

Run by path, with the standard library alone: ``python -IS launcher.py <folder> <browser> <switches>``. A
driver in another language runs between the two processes, so it cannot watch its parent. Instead, the
owner keeps a lock on a file; the kernel gives the lock to this process at the moment the owner is gone, and
this process then kills its group, which is the whole browser. ``lockf`` locks belong to a process, not to a
thread or to child processes, so neither can end or prolong the watch. Works wherever ``lockf`` exists.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path

OWNER = "owner"
PROFILE_SWITCH = "--user-data-dir="
_DRIVERS_PIPES = (3, 5)  # from, to before


def main(folder: Path, command: list[str]) -> int:
    """Run ``command`` to its end, with its profile in ``folder``; return its exit code."""
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)
    own = [_moved(argument, folder) for argument in command]
    child = os.fork()
    if not child:
        _become(own)
    # The driver treats the end of its pipes as the end of the browser.
    os.closerange(*_DRIVERS_PIPES)
    threading.Thread(target=_kill_without_owner, args=(folder / OWNER,), daemon=True).start()
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def profile_of(folder: Path) -> str:
    """Return the switch that identifies the browser of ``folder`` among all processes."""
    return f"{PROFILE_SWITCH}{folder}/profile"


def _moved(argument: str, folder: Path) -> str:
    """Return the argument with the profile moved to ``folder``; remove the empty original profile."""
    if not argument.startswith(PROFILE_SWITCH):
        return argument
    with suppress(OSError):
        Path(argument.removeprefix(PROFILE_SWITCH)).rmdir()
    return profile_of(folder)


def _become(command: list[str]) -> None:
    # Python ignores this signal, and the program would inherit that.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execv(command[0], command)  # noqa: S606 - a list of our own words, no shell
    except OSError as exc:
        os.write(2, f"cannot start {command[0]!r}: {exc.strerror}\n".encode())
    os._exit(127)


def _kill_without_owner(lock: Path) -> None:
    """Wait until the owner's lock is free, or the file gone, then kill the group, this process included."""
    with suppress(OSError), lock.open("r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    code = main(Path(sys.argv[1]), sys.argv[2:])
    os._exit(code if code >= 0 else 128 - code)
