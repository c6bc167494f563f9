"""What there is without an engine: ``python -m tests.bench.peers.plain step``."""

from __future__ import annotations

import asyncio
import platform
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.bench.measuring import Figures, Stopwatch, Work, main, overhead, per_commit, per_piece, scratch

HOPS = 1000
WIDTH = 100
COMMITS = 300
HEAD = "x" * 300
"""As long as the JSON of a step with a number for a message."""


async def hop(count: int) -> int:
    """Do what the other contenders' executors do."""
    return count + 1


def task_per_hop() -> Figures:
    """Return the cost of a task for each hop."""

    async def run() -> None:
        count = 0
        while count < HOPS:
            count = await asyncio.create_task(hop(count))

    return asyncio.run(per_piece(run, HOPS))


def task_per_millisecond() -> Figures:
    """Return what a task for each call adds to the call."""

    async def call(work: Work) -> None:
        work()

    async def run(work: Work) -> None:
        for _ in range(HOPS):
            await asyncio.create_task(call(work))

    return asyncio.run(overhead(run))


def gathered() -> Figures:
    """Return the cost of a branch, a task each, all awaited at once."""

    async def run() -> None:
        assert sum(await asyncio.gather(*(hop(0) for _ in range(WIDTH)))) == WIDTH

    return asyncio.run(per_piece(run, WIDTH))


def commit(synchronous: str) -> Figures:
    """Return the cost of a row like a checkpoint's, committed by itself."""
    with scratch() as folder:
        connection = sqlite3.connect(Path(folder) / "bare.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={synchronous}")
        connection.execute(
            "CREATE TABLE head (run TEXT, revision INTEGER, text TEXT, PRIMARY KEY (run, revision))"
        )
        watch = Stopwatch()
        for revision in range(COMMITS):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO head VALUES ('run', ?, ?)", (revision, HEAD))
            connection.execute("COMMIT")
        cost = watch.read()
        connection.close()
    return per_commit(cost, COMMITS)


CASES: dict[str, Callable[[], Figures]] = {
    "step": task_per_hop,
    "overhead": task_per_millisecond,
    "branch": gathered,
    "durable-full": partial(commit, "FULL"),
    "durable-normal": partial(commit, "NORMAL"),
}

if __name__ == "__main__":
    main(CASES, lambda: {"Python": platform.python_version(), "SQLite": sqlite3.sqlite_version})
