"""Messages come several times, in any order, too early and too late: nothing is done because of that."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest
import redis
from tests.faults.executors.disturbing import foreseen, known, tell
from tests.faults.executors.history import entries

if TYPE_CHECKING:
    from tests.faults.executors.conftest import Note
    from tests.faults.executors.scene import Scene

pytestmark = [pytest.mark.faults, pytest.mark.integration]


def test_what_is_told_of_again_is_not_done_again(scene: Scene, note: Note) -> None:
    dice = random.Random(5)
    held = waiting_count(scene)  # by workers that were killed
    scene.march(6)
    sent = 0
    while scene.running_count():
        sent += tell(scene, dice, known(scene) + foreseen(scene), most=3)
        time.sleep(0.1)
    figures = scene.check()
    for _ in range(3):
        sent += tell(scene, dice, known(scene), most=1)
    scene.place.eventually(lambda: waiting_count(scene) <= held)
    note(scene.check())
    assert sent > 2 * figures.activations
    assert len(entries(scene.place.path)) == figures.activations == 60


def waiting_count(scene: Scene) -> int:
    """Return how many messages workers have not taken, or are at."""
    with redis.Redis.from_url(scene.place.broker_url) as broker:
        queues = broker.keys("agentic:agentic.default*")
        return int(sum(broker.llen(queue) for queue in queues) + broker.hlen("agentic:unacked"))
