"""Stops a worker whose tasks run in its own process: the pools ``threads`` and ``solo``."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

from celery.worker import state

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)


def let_interrupt_terminate() -> None:
    """Make Ctrl-C act like SIGTERM; by default Celery then waits for its tasks, however long they take."""
    signal.signal(signal.SIGINT, signal.getsignal(signal.SIGTERM))


class SoftStop:
    """Handles the signals that stop a worker; install it in the main thread.

    Celery can only stop tasks by terminating their process: in these pools it raises ``NotImplementedError``
    half-way and never ends (seen with 5.7.0). Here the first signal gives tasks ``grace_s`` seconds and then
    ends them, a second ends them at once, a third ends the process.

    Args:
        end_tasks: Ends the running tasks and waits for them.
        grace_s: Time for the tasks to end by themselves.
    """

    def __init__(self, end_tasks: Callable[[], None], grace_s: float) -> None:
        self._end_tasks = end_tasks
        self._grace_s = grace_s
        self._received_count = 0
        self._is_urgent = threading.Event()

    def install(self) -> None:
        """Replace Celery's signal handlers."""
        for number in _SIGNALS:
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _frame: object) -> None:
        self._received_count += 1
        if self._received_count == 1:
            # The consumer looks at it, and takes no more messages. The stub knows its first value only.
            state.should_stop = os.EX_OK  # type: ignore[assignment]
            threading.Thread(target=self._run_down, name="agentic-stop", daemon=True).start()
        elif self._received_count == 2:
            self._is_urgent.set()
        else:
            os._exit(128 + number)

    def _run_down(self) -> None:
        self._is_urgent.wait(self._grace_s)
        self._end_tasks()
