"""The clocks of workers are an hour fast or slow, or jump: the ledger has one of its own, and that counts."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest
from tests.faults.executors.disturbing import HOUR_S, set_clocks
from tests.faults.executors.killing import kill_one_at_work

if TYPE_CHECKING:
    from tests.faults.executors.conftest import MakeStage, Note
    from tests.faults.executors.scene import Scene

pytestmark = [pytest.mark.faults, pytest.mark.integration]


@pytest.fixture(scope="module")
def stage(configured_stage: MakeStage) -> Scene:
    """A place whose processes can be wrong about the time."""
    return configured_stage(4, "import tests.faults.executors.skewed_clock\n")


def test_processes_are_killed_while_their_clocks_jump(scene: Scene, note: Note) -> None:
    dice = random.Random(9)
    scene.march(8)
    while scene.running_count() and scene.kills < 3:
        set_clocks(scene, dice.choice([-HOUR_S, 0, HOUR_S]))
        time.sleep(dice.uniform(0.1, 0.4))
        kill_one_at_work(scene, dice)
    figures = scene.check()
    note(figures)
    assert figures.repeated <= figures.crashes


@pytest.mark.parametrize("skew_s", [-HOUR_S, HOUR_S])
def test_a_limit_of_half_an_hour_is_not_over_because_a_clock_is_wrong(
    scene: Scene, note: Note, skew_s: float
) -> None:
    set_clocks(scene, skew_s)
    for number in range(4):
        scene.submit("timed", f"run {number}")
    note(scene.check())
