"""Every worker has a process beside it that takes over from workers which are gone."""

from __future__ import annotations

import os
import subprocess
import sys

from celery.signals import worker_ready, worker_shutdown

from agentic.core.services import launcher
from agentic.core.settings import load_settings

_STOP_GRACE_S = 5.0

_running: list[subprocess.Popen[bytes]] = []


@worker_ready.connect
def start_reconciler(**_facts: object) -> None:
    """Start it; a process of its own, so that the worker has connected nothing when it forks."""
    every_s = load_settings().sweep_s
    if every_s:
        command = [sys.executable, "-m", "agentic.core.cli", "reconcile", "--every", f"{every_s:g}"]
        # It ends with the worker, however that one ends.
        bound = [sys.executable, "-S", "-E", launcher.__file__, str(os.getpid()), *command]
        _running.append(subprocess.Popen(bound, stdin=subprocess.DEVNULL, start_new_session=True))


@worker_shutdown.connect
def stop_reconciler(**_facts: object) -> None:
    """Stop it."""
    for process in _running:
        process.terminate()
        try:
            process.wait(_STOP_GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    _running.clear()
