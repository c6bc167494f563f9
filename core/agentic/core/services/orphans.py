"""Processes that a pool of workers has forked always end with the worker."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from agentic.core.services.launcher import bind_to_parent

_LOOK_EVERY_S = 0.5


def end_with_parent() -> None:
    """Have this process killed when its parent ends, by the kernel where it supports this (Linux)."""
    parent_pid = os.getppid()
    if sys.platform == "linux":
        bind_to_parent(parent_pid)
    else:
        threading.Thread(target=follow, args=(parent_pid,), name="parent-watch", daemon=True).start()


def follow(parent_pid: int) -> None:
    """Wait until the parent is gone, then kill this process."""
    while os.getppid() == parent_pid:
        time.sleep(_LOOK_EVERY_S)
    os.kill(os.getpid(), signal.SIGKILL)
