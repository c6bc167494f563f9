"""This project's rows of durable runs, on the ledger in SQL: ``python -m tests.bench.runs place-full``."""

from __future__ import annotations

import asyncio
import multiprocessing
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.bench.engine import loop, mapping
from tests.bench.ledger import opened
from tests.bench.measuring import Cost, Figures, Stopwatch, main, per_commit, scratch

from agentic.core.hooks import PluginRegistry
from agentic.core.ledger import ActivationId, LedgerStore
from agentic.core.types import ExecutorId, RunId
from agentic.executors.durable import LocalRuns, Submission, WorkflowCatalog
from agentic.executors.durable.runs.local import LocalDispatcher
from agentic.executors.durable.runs.service import RunService
from agentic.executors.durable.worker.host import RunHost
from agentic.executors.durable.worker.worker import Bounds, DurableWorker
from agentic.mappers.database.engine import Synchronous
from agentic.mappers.ledger.ledger import SqlLedger
from agentic.migrations import upgrade

STEPS = 1_000
"""Of a run in place."""

RUNS, SHORT = 100, 20
"""Runs that go on together, and the steps of each."""

TAKEN = 300
"""Activations that are done while others wait."""

PROCESSES = 2
FOR_EVER = Bounds(activations=10**9, seconds=1e9)


def in_place(synchronous: Synchronous) -> Figures:
    """Return the cost of a step of a run that one process goes on with."""
    with opened(synchronous) as ledger:
        asyncio.run(_one_run(ledger, 20))  # compiles statements
        return per_commit(asyncio.run(_one_run(ledger, STEPS)), STEPS)


async def _one_run(ledger: LedgerStore, steps: int) -> Cost:
    service = _alone(ledger, steps)
    handle = await service.submit("loop", 0, Submission(is_told=False))
    first = ActivationId(handle.run_id, 0, ExecutorId("hop"), 0)
    watch = Stopwatch()
    worked = await DurableWorker(service.host, FOR_EVER).work(first)
    cost = watch.read()
    service.close()
    assert worked.done == steps
    return cost


def _alone(ledger: LedgerStore, steps: int) -> RunService:
    catalog = WorkflowCatalog({"loop": lambda: loop(steps)})
    return RunService(RunHost(store=ledger, catalog=catalog, dispatcher=LocalDispatcher(), is_alone=True))


def two_in_place(synchronous: Synchronous) -> Figures:
    """Return how long a step takes on the clock when two processes go on with a run each, in one database."""
    with scratch() as folder:
        url = f"sqlite:///{Path(folder).resolve() / 'data.db'}"
        upgrade(url, PluginRegistry([]))
        SqlLedger.open(url).close()  # adds the project
        context = multiprocessing.get_context("spawn")
        start = context.Barrier(PROCESSES)
        with context.Pool(PROCESSES, initializer=_remember, initargs=(start,)) as pool:
            given: list[tuple[str, Synchronous]] = [(url, synchronous)] * PROCESSES
            spans = pool.map(_in_process, given, chunksize=1)
    wall_s = max(end for _, end in spans) - min(begin for begin, _ in spans)
    return {"wall_us": wall_s / (PROCESSES * STEPS) * 1e6}


_starts: list[object] = []


def _remember(start: object) -> None:
    _starts.append(start)


def _in_process(where: tuple[str, Synchronous]) -> tuple[float, float]:
    ledger = SqlLedger.open(where[0], synchronous=where[1])
    asyncio.run(_one_run(ledger, 20))
    _starts[0].wait()  # type: ignore[attr-defined]  # a Barrier; typeshed has no type for it here
    begin = time.monotonic()
    asyncio.run(_one_run(ledger, STEPS))
    end = time.monotonic()
    ledger.close()
    return begin, end


def together(synchronous: Synchronous) -> Figures:
    """Return the cost of a step of a hundred runs that one process works on, and the memory they take."""
    with opened(synchronous) as ledger:
        return asyncio.run(_together(ledger))


async def _together(ledger: LedgerStore) -> Figures:
    catalog = WorkflowCatalog({"loop": lambda: loop(SHORT)})
    async with LocalRuns(ledger, catalog, concurrency=RUNS) as runs:
        await (await runs.submit("loop", 0)).rest()
        before_kib = _peak_kib()
        watch = Stopwatch()
        handles = await asyncio.gather(*(runs.submit("loop", 0) for _ in range(RUNS)))
        await asyncio.gather(*(handle.rest() for handle in handles))
        cost = watch.read()
        grown_kib = _peak_kib() - before_kib
    return {**per_commit(cost, RUNS * SHORT), "rss_kib": grown_kib / RUNS}


def mapped(items: int) -> Figures:
    """Return the cost of an item of a list that a run maps, and the memory it takes."""
    with opened("normal") as ledger:
        return asyncio.run(_mapped(ledger, items))


async def _mapped(ledger: LedgerStore, items: int) -> Figures:
    catalog = WorkflowCatalog({"map": lambda: mapping(items)})
    async with LocalRuns(ledger, catalog) as runs:
        before_kib = _peak_kib()
        watch = Stopwatch()
        await (await runs.submit("map", items)).rest()
        cost = watch.read()
        return {**per_commit(cost, items), "rss_kib": (_peak_kib() - before_kib) / items}


def _peak_kib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def among(waiting: int) -> Figures:
    """Return the cost of a run of one step that is claimed among so many that wait."""
    with opened("normal") as ledger:
        return per_commit(asyncio.run(_among(ledger, waiting)), TAKEN)


async def _among(ledger: LedgerStore, waiting: int) -> Cost:
    service = _alone(ledger, 1)
    for number in range(max(waiting, TAKEN + 1)):
        how = Submission(run_id=RunId(f"run-{number}"), is_told=False)
        await service.submit("loop", 0, how)
    worker = DurableWorker(service.host)
    await worker.work()
    watch = Stopwatch()
    for _ in range(TAKEN):
        await worker.work()
    cost = watch.read()
    service.close()
    return cost


CASES: dict[str, Callable[[], Figures]] = {
    "place-full": partial(in_place, "full"),
    "place-normal": partial(in_place, "normal"),
    "place-two-full": partial(two_in_place, "full"),
    "place-two-normal": partial(two_in_place, "normal"),
    "group-full": partial(together, "full"),
    "group-normal": partial(together, "normal"),
    "map-5000": partial(mapped, 5_000),
    "map-100000": partial(mapped, 100_000),
    "waiting-10": partial(among, 10),
    "waiting-1000": partial(among, 1_000),
    "waiting-10000": partial(among, 10_000),
}

if __name__ == "__main__":
    main(CASES, dict)
