"""Processes end between any two steps of the protocol, in every superstep."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from tests.faults.executors.crash_points import (
    ALWAYS,
    AT_A_BARRIER,
    BEATEN,
    BEGUN,
    TAKEN_BACK,
    Point,
    mark_of,
)
from tests.faults.executors.scene import undisturbed

from agentic.executors.durable.runs.service import Submission

if TYPE_CHECKING:
    from tests.faults.executors.conftest import MakeStage, Note
    from tests.faults.executors.scene import Scene

pytestmark = [pytest.mark.faults, pytest.mark.integration]

SUPERSTEPS = range(3)
KEY = "only once"
FANNED_OUT = 1
"""The superstep of three activations."""


@pytest.fixture(scope="module")
def stage(configured_stage: MakeStage) -> Scene:
    """A place whose processes end at certain points; a second reconciler is there, as one of them will."""
    made = configured_stage(3, "import tests.faults.executors.crashing\n")
    made.place.start_command("reconcile", "--every", "0.5")
    return made


def test_a_process_ends_at_each_point_of_each_superstep(scene: Scene, note: Note) -> None:
    scene.march(8, "short")
    points = [(name, step) for name in ALWAYS for step in SUPERSTEPS]
    points += [(name, FANNED_OUT) for name in AT_A_BARRIER]
    points += [TAKEN_BACK]
    scene.kills = len(points)
    note(scene.check())
    assert [point for point in points if not has_crashed(scene, point)] == []


def test_a_program_ends_when_its_run_is_accepted(scene: Scene, note: Note) -> None:
    program = scene.place.start_command(KEY, module="tests.faults.executors.submitter")
    assert program.wait() == -signal.SIGKILL
    assert has_crashed(scene, BEGUN)
    ((run_id,),) = scene.read("SELECT run_id FROM runs")
    how = Submission(idempotency_key=KEY)
    assert scene.submit("short", [0], undisturbed("short", 0), how).run_id == run_id
    scene.kills = 1
    note(scene.check())


@pytest.mark.slow
def test_a_process_ends_when_it_has_extended_its_claim(scene: Scene, note: Note) -> None:
    scene.submit("gated", "beaten")
    scene.place.eventually(lambda: has_crashed(scene, BEATEN))
    scene.kills = 1
    scene.open_gate("beaten")
    note(scene.check())


def has_crashed(scene: Scene, point: Point) -> bool:
    """Return whether a process has ended at a point."""
    return (scene.place.path / mark_of(point)).exists()
