"""Runs a browser that cannot outlive the process it was started for, however that process ends.

Run by path, with the standard library alone: ``python -IS launcher.py <folder> <browser> <switches>``. A
driver of another language stands between the two processes, so there is no parent to watch. Instead, the
owner keeps a lock on a file; the kernel gives the lock to this process in the moment the owner is gone, and
this process then kills its group, which is all of the browser. Locks by ``lockf`` belong to a process, not to
a thread and not to its children, so neither ends the watch or prolongs it. Works wherever there is ``lockf``.
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
    # The driver takes the end of its pipes for the end of the browser.
    os.closerange(*_DRIVERS_PIPES)
    threading.Thread(target=_kill_without_owner, args=(folder / OWNER,), daemon=True).start()
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def profile_of(folder: Path) -> str:
    """Return the switch by which the browser of ``folder`` is known among all processes."""
    return f"{PROFILE_SWITCH}{folder}/profile"


def _moved(argument: str, folder: Path) -> str:
    """Return the argument with the profile in ``folder``, where it is found again; remove the empty other."""
    if not argument.startswith(PROFILE_SWITCH):
        return argument
    with suppress(OSError):
        Path(argument.removeprefix(PROFILE_SWITCH)).rmdir()
    return profile_of(folder)


def _become(command: list[str]) -> None:
    # Python ignores this signal, and what is ignored stays so in the program.
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
