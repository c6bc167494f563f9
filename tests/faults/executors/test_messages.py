"""Messages come several times, in any order, too early and too late: nothing is done because of that."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest
import redis
from tests.faults.executors.history import entries

from agentic.executors.durable.messages import ACTIVATE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.faults.executors.conftest import Note
    from tests.faults.executors.scene import Scene

pytestmark = [pytest.mark.faults, pytest.mark.integration]

Message = tuple[str, str, int, str, int]


def test_what_is_told_of_again_is_not_done_again(scene: Scene, note: Note) -> None:
    dice = random.Random(5)
    scene.march(10)
    sent = 0
    while scene.running_count():
        sent += tell(scene, dice, known(scene) + foreseen(scene), most=3)
        time.sleep(0.1)
    figures = scene.check()
    for _ in range(3):
        sent += tell(scene, dice, known(scene), most=1)
    assert waiting_count(scene)
    scene.place.eventually(lambda: waiting_count(scene) == 0)
    note(scene.check())
    assert sent > 2 * figures.activations
    assert len(entries(scene.place.path)) == figures.activations == 100


def known(scene: Scene) -> list[Message]:
    """Return a message for each activation there is, whatever became of it."""
    query = "SELECT project_id, run_id, superstep, executor_id, shard FROM activations"
    return [
        (project, run, int(step), node, int(shard)) for project, run, step, node, shard in scene.read(query)
    ]


def foreseen(scene: Scene) -> list[Message]:
    """Return messages of supersteps that have not begun, and of a run that is not there."""
    query = "SELECT project_id, run_id, superstep FROM runs"
    runs = [(project, run, int(step)) for project, run, step in scene.read(query)]
    early = [(project, run, step + 1, "split", 0) for project, run, step in runs]
    return [*early, *((project, "nobody", step, "split", 0) for project, _, step in runs)]


def tell(scene: Scene, dice: random.Random, messages: Sequence[Message], most: int) -> int:
    """Send some messages once to ``most`` times each, in any order, some of them late; return how many."""
    chosen = dice.sample(messages, min(len(messages), 20))
    several = [message for message in chosen for _ in range(dice.randint(1, most))]
    dice.shuffle(several)
    for message in several:
        scene.place.app.send_task(
            ACTIVATE, args=message, queue="agentic.default", countdown=dice.choice([None, 0.5])
        )
    return len(several)


def waiting_count(scene: Scene) -> int:
    """Return how many messages workers have not taken, or are at."""
    with redis.Redis.from_url(scene.place.broker_url) as broker:
        queues = broker.keys("agentic:agentic.default*")
        return int(sum(broker.llen(queue) for queue in queues) + broker.hlen("agentic:unacked"))
