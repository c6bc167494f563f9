"""A wide superstep, many runs, and several who see to them: one decision each, in bounded memory."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

import psutil
import pytest
from tests.faults.executors.history import Expected
from tests.faults.executors.killing import children_of, kill_one_at_work
from tests.faults.executors.scene import MODULE

from agentic.executors.durable.publish.messages import MessageDispatcher
from agentic.executors.durable.reconcile.reconciler import REDISPATCH_AFTER_S, Reconciler
from agentic.executors.durable.runs.catalog import WorkflowCatalog
from agentic.executors.durable.runs.service import RunService
from agentic.executors.durable.worker.host import RunHost
from agentic.mappers import Database, find_project
from agentic.mappers.ledger.ledger import SqlLedger

if TYPE_CHECKING:
    from tests.faults.executors.conftest import Note
    from tests.faults.executors.scene import Scene

pytestmark = [pytest.mark.faults, pytest.mark.integration]

MAX_BYTES = 300 << 20
"""What a process of the pool may hold; without any work it holds half of that."""

MAX_TOLD = 300
"""Messages for a superstep of a thousand: workers that were told of one go on with others by themselves."""

QUEUED = 500


@pytest.mark.slow
def test_a_superstep_of_a_thousand_ends_once(scene: Scene, note: Note) -> None:
    scene.lost_after_s = REDISPATCH_AFTER_S
    told = told_count(scene)
    scene.march(1, "wide")
    figures = scene.check()
    note(figures)
    assert (figures.activations, figures.repeated) == (1002, 0)
    assert told_count(scene) - told <= MAX_TOLD
    assert held_bytes(scene) < MAX_BYTES


def test_a_hundred_runs_at_once(scene: Scene, note: Note) -> None:
    scene.march(100, "short")
    figures = scene.check()
    note(figures)
    assert (figures.activations, figures.repeated) == (500, 0)
    assert held_bytes(scene) < MAX_BYTES


@pytest.mark.slow
def test_five_hundred_runs_wait_in_the_queue(scene: Scene, note: Note) -> None:
    scene.lost_after_s = REDISPATCH_AFTER_S
    asyncio.run(queue(scene, QUEUED))
    figures = scene.check()
    note(figures)
    assert (figures.activations, figures.crashes) == (QUEUED, 0)
    assert held_bytes(scene) < MAX_BYTES


@pytest.mark.slow
def test_five_more_reconcilers_write_nothing_twice(scene: Scene, note: Note) -> None:
    dice, told = random.Random(16), told_count(scene)
    with sweepers(scene, 5):
        scene.march(8)
        while scene.running_count() and scene.kills < 4:
            time.sleep(dice.uniform(0.1, 0.4))
            kill_one_at_work(scene, dice)
        figures = scene.check()
    note(figures)
    assert figures.repeated <= figures.crashes
    assert told_count(scene) - told <= 2 * figures.activations


@contextmanager
def sweepers(scene: Scene, count: int) -> Iterator[None]:
    """Look again and again for what nobody works on, so many at once, each with connections of its own."""
    over = threading.Event()
    with ThreadPoolExecutor(count) as threads:
        sweeping = [threads.submit(lambda: asyncio.run(sweep_until(over, scene))) for _ in range(count)]
        try:
            yield
        finally:
            over.set()
    for sweeper in sweeping:
        sweeper.result()


async def sweep_until(over: threading.Event, scene: Scene) -> None:
    async with service_of(scene) as service:
        reconciler = Reconciler(service.host)
        while not over.is_set():
            await reconciler.sweep()
            await asyncio.sleep(0.1)


async def queue(scene: Scene, count: int) -> None:
    """Submit so many runs of one activation, as fast as one program can."""
    async with service_of(scene) as service:
        handles = await asyncio.gather(*(service.submit(f"{MODULE}:echo", number) for number in range(count)))
    for number, handle in enumerate(handles):
        scene.expected[handle.run_id] = Expected(outputs=(number,), writes_rows=False)


@asynccontextmanager
async def service_of(scene: Scene) -> AsyncIterator[RunService]:
    """Give what accepts runs, with connections of its own."""
    database = Database(scene.settings.database)
    with database.reading() as session:
        project_id = find_project(session, "default").id
    dispatcher = MessageDispatcher(scene.place.app, project_id)
    store = SqlLedger(database, project_id=project_id)
    service = RunService(RunHost(store=store, catalog=WorkflowCatalog({}, ("tests",)), dispatcher=dispatcher))
    try:
        yield service
    finally:
        service.close()
        dispatcher.close()
        database.dispose()


def told_count(scene: Scene) -> int:
    """Return how many messages workers have had."""
    return scene.place.log_of(scene.worker()).count("] received")


def held_bytes(scene: Scene) -> int:
    """Return what the largest process of the pool holds."""
    return max(int(psutil.Process(pid).memory_info().rss) for pid in children_of(scene.worker()))
