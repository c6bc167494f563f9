"""A run is cancelled at any moment: it ends soon, once, and nothing of it happens afterwards."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from tests.faults.executors.history import Expected, entries
from tests.faults.executors.scene import undisturbed

from agentic.core import RunStatus
from agentic.executors.durable.reconcile.deciding import GRACE_S

if TYPE_CHECKING:
    from tests.faults.executors.conftest import Note
    from tests.faults.executors.scene import Scene

    from agentic.executors.runs import RunHandle

pytestmark = [pytest.mark.faults, pytest.mark.integration]

SOON_S = 5.0
CANCELLED = Expected(status=RunStatus.CANCELLED)


def test_while_it_is_queued(scene: Scene, note: Note) -> None:
    with scene.busy():
        queued = scene.submit("gated", "queued", CANCELLED)
        assert cancelled_within(queued) < SOON_S
    note(scene.check())
    assert not any(entry.startswith(queued.run_id) for entry in entries(scene.place.path))


def test_while_a_handler_awaits(scene: Scene, note: Note) -> None:
    handle = scene.submit("gated", "awaiting", CANCELLED)
    scene.pid_at("awaiting")
    assert cancelled_within(handle) < SOON_S
    scene.open_gate("awaiting")
    note(scene.check())
    assert scene.read("SELECT * FROM fault_rows") == []


def test_while_a_function_blocks(scene: Scene, note: Note) -> None:
    handle = scene.submit("blocking", "blocked", Expected(status=RunStatus.CANCELLED, writes_rows=False))
    scene.pid_at("blocked")
    assert cancelled_within(handle) < GRACE_S + SOON_S
    scene.open_gate("blocked")
    note(scene.check())
    assert not (scene.place.path / "blocked.after").exists()


def test_between_two_supersteps(scene: Scene, note: Note) -> None:
    """Several at once, each somewhere else in its loop."""
    handles = scene.march(8)
    scene.place.eventually(lambda: scene.read("SELECT 1 FROM runs WHERE superstep >= 2"))
    began = time.monotonic()
    for handle in handles:
        if handle.cancel("enough"):
            scene.expected[handle.run_id] = CANCELLED
    scene.until_ended()
    assert time.monotonic() - began < 2 * SOON_S
    note(scene.check())


def test_twice_and_after_its_end(scene: Scene, note: Note) -> None:
    handle = scene.submit("gated", "twice", CANCELLED)
    scene.pid_at("twice")
    assert handle.cancel("once")
    handle.cancel("and again")
    assert handle.result(SOON_S).status is RunStatus.CANCELLED
    assert not handle.cancel("too late")
    (done,) = scene.march(1)
    assert done.result(30).status is RunStatus.COMPLETED
    assert not done.cancel("too late")
    note(scene.check())


def test_and_taken_up_again(scene: Scene, note: Note) -> None:
    (handle,) = scene.march(1)
    handle.cancel("not now")
    handle.result(SOON_S)
    handle.resume()
    scene.expected[handle.run_id] = Expected(outputs=undisturbed("march", 0).outputs)
    note(scene.check())


def cancelled_within(handle: RunHandle) -> float:
    """Cancel a run; return how long it took to end."""
    began = time.monotonic()
    assert handle.cancel("enough")
    assert handle.result(60).status is RunStatus.CANCELLED
    return time.monotonic() - began
