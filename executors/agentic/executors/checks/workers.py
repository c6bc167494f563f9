"""Checks Celery's tasks as a worker finds them, and the workers that run."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from celery import Celery

from agentic.core.hooks import Finding, warning


def task_findings(app: Celery) -> Iterator[Finding]:
    """Report tasks that cannot be imported, and names that two tasks use."""
    fault = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            app.loader.import_default_modules()
        except Exception as exc:
            fault = f"{type(exc).__name__}: {exc}"
        app.finalize()
    if fault:
        yield Finding(f"tasks cannot be imported, so no worker starts ({fault}); correct celeryconfig.py")
    for one in caught:
        if one.category.__name__ == "DuplicateTaskNameWarning":
            said = " ".join(str(one.message).split())
            yield Finding(f"{said.rstrip('.')}; rename one of them")


ANSWER_S = 1.0
BEAT = "celerybeat@"


def worker_findings(app: Celery, *, has_schedules: bool) -> Iterator[Finding]:
    """Report queues without a worker, and schedules that no beat fires.

    Beat is checked only when there are schedules.
    """
    if not _can_be_asked(app):
        return
    answers = app.control.ping(timeout=ANSWER_S) or []
    names = {name for answer in answers for name in answer}
    if has_schedules and not any(name.startswith(BEAT) for name in names):
        yield Finding(
            "schedules exist, but no beat answers to start them; start one with `agentic up`, or `celery "
            "-A agentic.executors beat -S agentic.executors.beat:LedgerScheduler`"
        )
    if any(not name.startswith(BEAT) for name in names):
        yield from _queue_findings(app)
    else:
        waiting = sum(_waiting(app).values())
        yield warning(
            f"no worker answers, and {waiting} messages wait; start one with `agentic worker` (a busy "
            "worker with pool `solo` cannot answer)"
        )


def _queue_findings(app: Celery) -> Iterator[Finding]:
    listening = app.control.inspect(timeout=ANSWER_S).active_queues() or {}
    heard = {queue["name"] for queues in listening.values() for queue in queues}
    for name, count in _waiting(app).items():
        if name not in heard:
            yield warning(
                f"no worker serves the queue {name}, where {count} messages wait; start one with `agentic "
                f"worker --queues {name}`"
            )


def _waiting(app: Celery) -> dict[str, int]:
    """Return how many messages wait in each queue of the settings."""
    with app.connection_for_read() as connection:
        channel: Any = connection.default_channel
        return {
            name: int(channel.queue_declare(queue=name).message_count) for name in sorted(app.amqp.queues)
        }


def _can_be_asked(app: Celery) -> bool:
    """Whether the broker passes a question on to all listeners; a SQL database does not."""
    with app.connection_for_read() as connection:
        return "fanout" in connection.transport.implements.exchange_type
