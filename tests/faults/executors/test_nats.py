"""Runs while NATS is not to be had: they do not care, and nothing of what they tell is lost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.faults.executors.nats import Nats

if TYPE_CHECKING:
    from tests.faults.executors.conftest import Note
    from tests.faults.executors.scene import Scene

pytestmark = [pytest.mark.faults, pytest.mark.requirement("NA20", "NA25")]


def test_nats_that_hangs_and_is_killed_changes_no_result_and_has_each_event_once(
    scene: Scene, note: Note, tmp_path: Path
) -> None:
    with Nats(tmp_path) as nats, scene.env(AGENTIC_NATS_URL=nats.url):
        worker = scene.start_worker()
        nats.hang(5.0)
        scene.march(10)
        figures = scene.check()
        nats.restart(1.0)
        scene.march(5)
        note(scene.check())
        event_count = nats.check(scene)
        scene.place.kill(worker)

    assert (figures.activations, figures.repeated, figures.doubled) == (100, 0, 0)
    assert event_count > 400
