"""What Flower hears of a task that goes on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery

from agentic.core.ledger import ActivationId
from agentic.core.types import ExecutorId, RunId
from agentic.executors.workers import task_progress
from agentic.executors.workers.task_progress import TaskProgress

STEP = ActivationId(RunId("one"), 3, ExecutorId("fetch"), 0)


def test_a_task_that_takes_long_says_what_it_is_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_progress, "EVERY_S", 0.0)
    app = Celery("test", broker="memory://", set_as_current=False)
    heard: list[dict[str, Any]] = []
    with app.connection_for_read() as connection:
        receiver = app.events.Receiver(connection, handlers={"task-progress": heard.append})
        with receiver.consumer_context():  # it hears what comes from now on
            task: Any = SimpleNamespace(app=app, request=SimpleNamespace(id="one:0", hostname="w@test"))
            TaskProgress(task)(STEP)
            for _ in receiver.consume(limit=1, timeout=5):
                pass
    (told,) = heard
    assert {name: told[name] for name in ("uuid", "done", "step", "node")} == {
        "uuid": "one:0",
        "done": 0,
        "step": 3,
        "node": "fetch",
    }


def test_a_task_that_is_soon_done_says_nothing() -> None:
    app: Any = None  # which would not take an event
    TaskProgress(SimpleNamespace(app=app, request=SimpleNamespace(id="one:0", hostname="w@test")))(STEP)  # type: ignore[arg-type]  # as much of a task as is needed
