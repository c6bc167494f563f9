"""A wide superstep, many runs, and several who see to them: one decision each, in bounded memory."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psutil
import pytest
from tests.faults.executors.scene import children_of

from agentic.executors.config import QUEUES
from agentic.executors.durable.process import RunProcess
from agentic.executors.durable.sweeping import Sweeper
from agentic.mappers import Database

if TYPE_CHECKING:
    from tests.faults.executors.conftest import Note
    from tests.faults.executors.scene import Scene

pytestmark = [pytest.mark.faults, pytest.mark.integration]

MAX_BYTES = 300 << 20
"""What a process of the pool may hold; without any work it holds half of that."""


def test_a_superstep_of_a_thousand_ends_once(scene: Scene, note: Note) -> None:
    scene.march(1, "wide")
    figures = scene.check()
    note(figures)
    assert (figures.activations, figures.repeated) == (1002, 0)
    assert held_bytes(scene) < MAX_BYTES


def test_a_hundred_runs_at_once(scene: Scene, note: Note) -> None:
    scene.march(100, "short")
    figures = scene.check()
    note(figures)
    assert (figures.activations, figures.repeated) == (500, 0)
    assert held_bytes(scene) < MAX_BYTES


def test_five_more_reconcilers_write_nothing_twice(scene: Scene, note: Note) -> None:
    dice = random.Random(16)
    with sweepers(scene, 5):
        scene.march(8)
        while scene.running_count() and scene.kills < 4:
            time.sleep(dice.uniform(0.1, 0.4))
            scene.kill_one_at_work(dice)
        figures = scene.check()
    note(figures)
    assert figures.repeated <= figures.crashes <= figures.kills


@contextmanager
def sweepers(scene: Scene, count: int) -> Iterator[None]:
    """Look again and again for what nobody works on, so many at once, each with connections of its own."""
    over = threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(sweep_until(over, scene, count)))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


async def sweep_until(over: threading.Event, scene: Scene, count: int) -> None:
    databases = [Database(scene.settings.database) for _ in range(count)]
    runs = [RunProcess(scene.settings, database, scene.place.app, QUEUES) for database in databases]
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(Sweeper(database, process).keep_sweeping(0.1))
            for database, process in zip(databases, runs, strict=True)
        ]
        await asyncio.to_thread(over.wait)
        for task in tasks:
            task.cancel()
    for database, process in zip(databases, runs, strict=True):
        process.close()
        database.dispose()


def held_bytes(scene: Scene) -> int:
    """Return what the largest process of the pool holds."""
    return max(int(psutil.Process(pid).memory_info().rss) for pid in children_of(scene.worker()))
