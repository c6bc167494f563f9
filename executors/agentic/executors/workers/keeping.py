"""Restarts a worker whose tasks run in its own process: the pools ``threads`` and ``solo``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence

from agentic.core.logging import get_logger
from agentic.core.services import launcher
from agentic.executors.workers.pulse import has_stalled

log = get_logger(__name__)

KEPT_VARIABLE = "AGENTIC_WORKER_IS_KEPT"

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)


def is_kept() -> bool:
    """Whether this process is a worker with a keeper; its own child processes are not."""
    return os.environ.pop(KEPT_VARIABLE, None) is not None


class Keeper:
    """Runs a worker in its own process, and restarts it when it was ended because its loop stalled.

    Signals are passed on; the worker has its own session, so that Ctrl-C reaches it once. However this
    process ends, the worker ends with it.

    Args:
        options: Options of ``agentic worker``.
    """

    def __init__(self, options: Sequence[str]) -> None:
        command = [sys.executable, "-m", "agentic.core.cli", "worker", *options]
        self._command = [sys.executable, "-S", "-E", launcher.__file__, str(os.getpid()), *command]
        self._worker: subprocess.Popen[bytes] | None = None
        self._is_stopping = False

    def run(self) -> int:
        """Return the worker's exit code, as a shell reports it."""
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._hand_on)
        while True:
            environment = {**os.environ, KEPT_VARIABLE: "1"}
            self._worker = subprocess.Popen(self._command, start_new_session=True, env=environment)
            code = self._worker.wait()
            if self._is_stopping or not has_stalled(self._worker.pid):
                return 128 - code if code < 0 else code
            log.warning("worker.replaced", reason="its event loop was blocked")

    def _hand_on(self, number: int, _frame: object) -> None:
        self._is_stopping = True
        if self._worker is not None and self._worker.returncode is None:
            self._worker.send_signal(number)
        elif self._worker is None:
            raise SystemExit(128 + number)
