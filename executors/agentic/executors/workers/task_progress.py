"""Shows Flower how far a task is: between its start and its end it is in the state PROGRESS."""

from __future__ import annotations

import threading
import time
from typing import Any

from celery import Celery, Task

from agentic.core.ledger import ActivationId
from agentic.core.logging import get_logger

log = get_logger(__name__)

EVERY_S = 1.0
"""Minimum interval between two progress reports of a task; a shorter task reports nothing."""


class TaskProgress:
    """Reports the activations that a task handles in sequence; made in the task's own thread.

    Args:
        task: The task.
    """

    def __init__(self, task: Task[Any, Any]) -> None:
        self._app: Celery = task.app
        self._task_id = task.request.id
        self._hostname = task.request.hostname
        self._told_at = time.monotonic()
        self._count = 0

    def __call__(self, activation: ActivationId) -> None:
        """Report that one begins; never waits, and never fails."""
        self._count += 1
        if time.monotonic() - self._told_at >= EVERY_S:
            self._told_at = time.monotonic()
            # An unavailable broker must not delay the handlers.
            threading.Thread(target=self._send, args=(self._count - 1, activation), daemon=True).start()

    def _send(self, done: int, activation: ActivationId) -> None:
        facts = {"done": done, "step": activation.superstep, "node": str(activation.executor_id)}
        try:
            with self._app.events.default_dispatcher(hostname=self._hostname) as dispatcher:
                dispatcher.send("task-progress", uuid=self._task_id, retry=False, **facts)
        except Exception as exc:  # any error of a broker: the run continues
            log.debug("progress.failed", error=f"{type(exc).__name__}: {exc}")
