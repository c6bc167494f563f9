"""Every worker has a process beside it that recovers work from workers that are gone."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from celery.signals import heartbeat_sent, worker_ready, worker_shutdown

from agentic.core.logging import get_logger
from agentic.core.services import launcher
from agentic.core.settings import load_settings

log = get_logger(__name__)

_STOP_GRACE_S = 5.0
_MIN_LIFE_S = 10.0
"""One that ends sooner, because the database is missing, is restarted after this time at the earliest."""


class ReconcilerProcess:
    """``agentic reconcile`` beside a worker.

    A separate process, so that the worker has no connections when it forks. It ends with the worker,
    however the worker ends.

    Args:
        every_s: Seconds between its sweeps.
    """

    def __init__(self, every_s: float) -> None:
        command = [sys.executable, "-m", "agentic.core.cli", "reconcile", "--every", f"{every_s:g}"]
        self._command = [sys.executable, "-S", "-E", launcher.__file__, str(os.getpid()), *command]
        self._start()

    def keep(self) -> None:
        """Restart it if it has ended."""
        code = self._process.poll()
        if code is not None and time.monotonic() - self._started_at >= _MIN_LIFE_S:
            log.warning("reconciler.ended", exit_code=code)
            self._start()

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        try:
            self._process.wait(_STOP_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _start(self) -> None:
        self._started_at = time.monotonic()
        self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, start_new_session=True)


_running: list[ReconcilerProcess] = []


@worker_ready.connect
def start_reconciler(**_facts: object) -> None:
    """Start it, unless the settings disable it."""
    every_s = load_settings().sweep_s
    if every_s:
        _running.append(ReconcilerProcess(every_s))


@heartbeat_sent.connect  # not its own timer: Celery forgets timers when the broker is unavailable
def keep_reconciler(**_facts: object) -> None:
    """Restart it if it was killed."""
    for process in _running:
        process.keep()


@worker_shutdown.connect
def stop_reconciler(**_facts: object) -> None:
    """Stop it."""
    for process in _running:
        process.stop()
    _running.clear()
