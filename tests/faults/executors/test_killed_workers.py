"""Processes are killed or stopped in the middle of runs: nothing is lost, nothing is done twice."""

from __future__ import annotations

import random
import signal
import time
from functools import partial
from typing import TYPE_CHECKING

import psutil
import pytest
from tests.faults.executors.history import Expected, entries
from tests.faults.executors.killing import (
    at_work,
    children_of,
    kill_group,
    kill_one_at_work,
    reconcilers_of,
    suspend,
)

if TYPE_CHECKING:
    from tests.faults.executors.conftest import Note
    from tests.faults.executors.scene import Scene

pytestmark = [pytest.mark.faults, pytest.mark.integration]

KILLS = 6
SWEPT_WITHIN_S = 10.0
"""What a dead process held is taken back so soon after its lease ended, if a worker is alive."""


def test_without_faults_nothing_is_repeated(scene: Scene, note: Note) -> None:
    scene.march(10)
    figures = scene.check()
    note(figures)
    assert (figures.repeated, figures.activations) == (0, 100)


def test_processes_of_the_pool_are_killed_at_work(scene: Scene, note: Note) -> None:
    dice = random.Random(1)
    scene.march(10)
    while scene.running_count() and scene.kills < KILLS:
        time.sleep(dice.uniform(0.05, 0.4))
        kill_one_at_work(scene, dice)
    figures = scene.check()
    note(figures)
    assert figures.kills == KILLS
    assert figures.repeated <= figures.crashes
    assert figures.overdue_s <= SWEPT_WITHIN_S


@pytest.mark.requirement("SC08")
def test_a_whole_worker_is_killed(scene: Scene, note: Note) -> None:
    for _ in range(2):
        worker = scene.worker()
        scene.start_worker()
        scene.march(4)
        scene.place.eventually(partial(at_work, scene, worker))
        kill_group(scene, worker)
    figures = scene.check()
    note(figures)
    assert figures.repeated <= figures.kills * 2  # it had two processes
    assert figures.overdue_s <= SWEPT_WITHIN_S


def test_only_the_parent_of_a_pool_is_killed(scene: Scene, note: Note) -> None:
    scene.march(6)
    worker = scene.worker()
    scene.until_under_way()
    children = children_of(worker)
    scene.signal(worker.pid)
    scene.place.eventually(lambda: not any(is_alive(pid) for pid in children))
    worker.wait()
    scene.start_worker()
    figures = scene.check()
    note(figures)
    assert figures.repeated <= len(children)


def test_what_takes_over_is_started_again_when_it_is_killed(scene: Scene, note: Note) -> None:
    worker = scene.only_worker()
    scene.place.eventually(lambda: bool(reconcilers_of(worker)))
    (before,) = reconcilers_of(worker)
    scene.signal(before)
    scene.submit("gated", "held")
    scene.signal(scene.pid_at("held"))
    scene.open_gate("held")
    scene.march(4)
    figures = scene.check()
    note(figures)
    assert (figures.kills, figures.crashes) == (2, 1)
    assert reconcilers_of(worker) not in ([before], [])


def test_a_process_that_comes_back_after_its_lease_ended_changes_nothing(scene: Scene, note: Note) -> None:
    run_id = scene.submit("gated", "stopped").run_id
    stopped = scene.pid_at("stopped")
    suspend(scene, stopped)
    try:
        scene.place.eventually(lambda: len(entries(scene.place.path)) == 2)
        scene.place.eventually(lambda: scene.pid_at("stopped") != stopped)
        scene.open_gate("stopped")
        scene.until_ended()
    finally:
        scene.signal(stopped, signal.SIGCONT)
    scene.place.eventually(lambda: f"{run_id}:0:wait:0:0] succeeded" in scene.place.log_of(scene.worker()))
    figures = scene.check()
    note(figures)
    assert (figures.repeated, figures.activations) == (1, 2)
    assert figures.overdue_s <= SWEPT_WITHIN_S


def test_a_claim_is_kept_while_its_workflow_is_built(scene: Scene, note: Note) -> None:
    scene.submit("heavy", 1, Expected(outputs=(1,), writes_rows=False))
    figures = scene.check()
    note(figures)
    assert figures.crashes == 0


@pytest.mark.requirement("CK09")
def test_what_was_kept_of_a_call_outlives_the_process_that_called(scene: Scene) -> None:
    scene.submit("once", "order", Expected(outputs=("order receipt",), writes_rows=False))
    scene.check()
    assert (scene.place.path / "order.charges").read_text() == "x"
    assert len(entries(scene.place.path)) == 2


def is_alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
