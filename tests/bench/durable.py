"""This project's rows that store runs in SQL: ``python -m tests.bench.durable durable-full``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sqlalchemy import event
from tests.bench.engine import loop
from tests.bench.measuring import Cost, Figures, Stopwatch, main, per_commit, scratch

from agentic.core.hooks import PluginRegistry
from agentic.mappers import Database, SqlCheckpointStore, add_project
from agentic.migrations import upgrade

STEPS = 300


def durable(synchronous: str) -> Figures:
    """Return the cost of a step that is stored in SQLite before the next one begins."""
    with scratch() as folder:
        url = f"sqlite:///{Path(folder).resolve() / 'data.db'}"
        upgrade(url, PluginRegistry([]))
        database = Database(url)
        event.listen(
            database.engine, "connect", lambda made, _: made.execute(f"PRAGMA synchronous={synchronous}")
        )
        with database.writing() as session:
            project_id = add_project(session, "bench").id
        cost = asyncio.run(_stored_run(SqlCheckpointStore(database, project_id=project_id)))
        database.dispose()
    return per_commit(cost, STEPS)


async def _stored_run(store: SqlCheckpointStore) -> Cost:
    await loop(10).run(0, checkpoints=store)  # connects, and compiles statements
    workflow = loop(STEPS)
    watch = Stopwatch()
    result = await workflow.run(0, checkpoints=store)
    cost = watch.read()
    assert result.outputs == (STEPS,)
    return cost


CASES: dict[str, Callable[[], Figures]] = {
    "durable-full": partial(durable, "FULL"),
    "durable-normal": partial(durable, "NORMAL"),
}

if __name__ == "__main__":
    main(CASES, dict)
