"""What can be done to the broker, its messages and the clocks while runs are under way."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from agentic.executors.durable.publish.messages import ACTIVATE

if TYPE_CHECKING:
    from tests.faults.executors.broker import Broker
    from tests.faults.executors.scene import Scene

OUTAGE_S = 2.0
HOUR_S = 3600.0

Trouble = Callable[["Broker"], None]

Message = tuple[str, str, int, str, int]


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


def forgets(broker: Broker) -> None:
    """Lose all messages, those that workers have taken too."""
    broker.do("FLUSHALL")


def drops_connections(broker: Broker) -> None:
    """Close all connections, again and again."""
    for _ in range(5):
        broker.do("CLIENT", "KILL", "TYPE", "normal")
        time.sleep(0.2)


def restarts(broker: Broker) -> None:
    """Die, and come back at once."""
    broker.kill()
    broker.start()


def is_away(broker: Broker) -> None:
    """Die, stay away for a while, and come back with nothing."""
    broker.kill()
    time.sleep(OUTAGE_S)
    broker.start()
    forgets(broker)


def is_read_only(broker: Broker) -> None:
    """Take no message for a while, as a replica does that was not told to take over."""
    broker.do("REPLICAOF", "127.0.0.1", "1")
    time.sleep(OUTAGE_S)
    broker.do("REPLICAOF", "NO", "ONE")


def is_full(broker: Broker) -> None:
    """Take no message for a while, as it may use no more memory and throws nothing away."""
    broker.do("CONFIG", "SET", "maxmemory", "1")
    time.sleep(OUTAGE_S)
    broker.do("CONFIG", "SET", "maxmemory", "0")


def has_no_room(broker: Broker) -> None:
    """Take no message for a while, as its disk is full."""
    broker.may_write(is_so=False)
    time.sleep(OUTAGE_S)
    broker.may_write(is_so=True)


def set_clocks(scene: Scene, skew_s: float) -> None:
    """Set the clocks wrong of all processes of a place that import ``skewed_clock``, those to come too."""
    new = scene.place.path / "skew.new"
    new.write_text(str(skew_s))
    new.rename(scene.place.path / "skew")
