"""Workers are replaced while runs are under way, by others of the same code and of another."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text
from tests.faults.executors import flows

if TYPE_CHECKING:
    from tests.faults.executors.conftest import Note
    from tests.faults.executors.scene import Scene

pytestmark = [pytest.mark.faults, pytest.mark.integration]


def test_what_a_worker_was_at_is_given_back_when_it_is_told_to_end(scene: Scene, note: Note) -> None:
    worker, names = scene.worker(), ("one", "two")
    for name in names:
        scene.submit("gated", name)
        scene.pid_at(name)
    worker.terminate()
    worker.wait(30)
    given_back = "SELECT count(*) FROM activations WHERE status = 'pending' AND note LIKE 'given back%'"
    assert scene.read(given_back) == [(2,)]
    for name in names:
        scene.open_gate(name)
    figures = scene.check()
    note(figures)
    assert (figures.crashes, figures.repeated) == (0, 2)


def test_a_worker_of_another_version_leaves_a_run_to_those_that_have_its_code(
    scene: Scene, note: Note
) -> None:
    with scene.busy(), scene.env(**{flows.VERSION: "2"}):
        newer = scene.start_worker()
        scene.submit("versioned", "pinned")
        scene.place.eventually(lambda: scene.read("SELECT 1 FROM runs WHERE note LIKE '%version%'"))
        scene.place.kill(newer)
    let_half_a_minute_pass(scene)
    figures = scene.check()
    note(figures)
    assert (figures.crashes, figures.repeated) == (0, 0)


def let_half_a_minute_pass(scene: Scene) -> None:
    """Have what was refused tried again, as if one had waited."""
    with scene.place.database.writing() as session:
        session.execute(text("UPDATE activations SET not_before = :now"), {"now": time.time()})
