"""What ``agentic worker`` ends with tells a service manager whether to start it again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery
from celery.apps.worker import Worker
from celery.worker import state

from agentic.executors.commands.servers.worker import run_worker

pytestmark = pytest.mark.filterwarnings("ignore::celery.exceptions.SecurityWarning")  # tests may be root

ARGUMENTS = ["worker", "--pool", "solo", "--without-mingle", "--without-gossip"]


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = state.should_stop, state.should_terminate
    yield
    state.should_stop, state.should_terminate = before


def ended(monkeypatch: pytest.MonkeyPatch, code: Any, *, stop: Any = None) -> int:
    """Return what the command ends with when a worker ended with a code."""

    def start(worker: Worker) -> None:
        state.should_stop = stop
        worker.exitcode = code

    monkeypatch.setattr(Worker, "start", start)
    return run_worker(Celery("test", broker="memory://", set_as_current=False), ARGUMENTS)


def test_a_worker_that_was_asked_to_stop_has_not_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ended(monkeypatch, None, stop=os.EX_OK) == os.EX_OK
    assert ended(monkeypatch, os.EX_OK, stop=os.EX_OK) == os.EX_OK
    assert ended(monkeypatch, "Got shutdown from remote") == os.EX_OK


@pytest.mark.parametrize(("code", "told"), [(1, 1), (70, 70), (None, os.EX_SOFTWARE)])
def test_a_worker_that_ended_by_itself_has(monkeypatch: pytest.MonkeyPatch, code: object, told: int) -> None:
    assert ended(monkeypatch, code) == told
