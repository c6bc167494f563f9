"""Whatever happens to the process or the disk, what was saved is whole and without gaps."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from textwrap import dedent

import pytest
from sqlalchemy import event, text

from agentic.core.graph.errors import CheckpointStoreError
from agentic.core.hooks import PluginRegistry
from agentic.core.testing.checkpoint_contract import RUN, checkpoint, load_all
from agentic.mappers import Database, SqlCheckpointStore, add_project
from agentic.migrations import upgrade

pytestmark = [pytest.mark.faults, pytest.mark.integration, pytest.mark.timeout(180)]

PARTS = 4

WRITER = """
    import asyncio, os, signal, sys
    from sqlalchemy import event
    from agentic.core.graph.errors import CheckpointNotFoundError
    from agentic.core.testing.checkpoint_contract import RUN, checkpoint
    from agentic.mappers import Database, SqlCheckpointStore

    url, project_id, parts = sys.argv[1], sys.argv[2], int(sys.argv[3])
    steps_to_live = 0

    def live_one_step_less():
        global steps_to_live
        steps_to_live -= 1
        if steps_to_live == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    async def main():
        global steps_to_live
        database = Database(url)
        event.listen(database.engine, "connect", lambda c, _: c.set_progress_handler(live_one_step_less, 1))
        store = SqlCheckpointStore(database, project_id=project_id)
        try:
            revision = (await store.latest(RUN)).metadata.revision
        except CheckpointNotFoundError:
            revision = 0
        steps_to_live = int(sys.argv[4])
        while True:
            revision += 1
            changes = {f"part {n}": f"{revision} " * 4_000 for n in range(parts)}
            changes |= {f"of {revision}": "", f"of {revision - 1}": None}
            await store.save(checkpoint(revision, changes))
            print(revision, flush=True)

    asyncio.run(main())
"""


@pytest.fixture
def url(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'data.db'}"
    upgrade(url, PluginRegistry([]))
    return url


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    database = Database(url)
    yield database
    database.dispose()


@pytest.fixture
def project_id(database: Database) -> str:
    with database.writing() as session:
        return add_project(session, "ours").id


@pytest.fixture
def store(database: Database, project_id: str) -> SqlCheckpointStore:
    return SqlCheckpointStore(database, project_id=project_id)


@contextmanager
def saving(url: str, project_id: str, steps_to_live: int = 0) -> Iterator[subprocess.Popen[str]]:
    """Start a process that saves one checkpoint after the other and prints the number of each.

    After ``steps_to_live`` steps of SQLite's virtual machine, if any, it kills itself; one save takes 350.
    """
    arguments = [url, project_id, str(PARTS), str(steps_to_live)]
    command = [sys.executable, "-c", dedent(WRITER), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process


def lines_of(process: subprocess.Popen[str]) -> Iterator[str]:
    assert process.stdout is not None
    return iter(process.stdout.readline, "")


async def assert_whole(store: SqlCheckpointStore, known: int) -> None:
    """All is there up to the last save that returned, or the one after it, with every part."""
    loaded = await load_all(store)
    assert [one.metadata.revision for one in loaded] == list(range(1, len(loaded) + 1))
    assert known <= len(loaded) <= known + 1
    for one in loaded:
        revision = one.metadata.revision
        assert one.head == checkpoint(revision).head
        texts = {f"part {n}": f"{revision} " * 4_000 for n in range(PARTS)}
        assert dict(one.parts) == {**texts, f"of {revision}": ""}


async def test_a_killed_process_leaves_every_checkpoint_whole(
    store: SqlCheckpointStore, url: str, project_id: str
) -> None:
    for count in (1, 2, 5, 13, 34):
        with saving(url, project_id) as process:
            known = [int(line) for line in islice(lines_of(process), count)]
            process.send_signal(signal.SIGKILL)
            known += [int(line) for line in lines_of(process)]
        await assert_whole(store, known[-1])


async def test_a_process_that_dies_inside_a_transaction_leaves_nothing_of_it(
    store: SqlCheckpointStore, url: str, project_id: str
) -> None:
    for steps in range(20, 700, 85):
        before = len(await load_all(store))
        with saving(url, project_id, steps) as process:
            known = [int(line) for line in lines_of(process)]
        assert process.returncode == -signal.SIGKILL
        await assert_whole(store, [before, *known][-1])


async def test_a_full_disk_is_an_error_and_the_last_checkpoint_stays(
    store: SqlCheckpointStore, database: Database
) -> None:
    await store.save(checkpoint(1, {"a": "1"}))
    with database.reading() as session:
        pages = session.scalar(text("PRAGMA page_count"))
    database.dispose()
    engine = database.engine
    room = f"PRAGMA max_page_count={pages + 20}"
    event.listen(engine, "connect", lambda connection, _: connection.execute(room))

    await store.save(checkpoint(2, {"b": "y" * 40_000}))
    with pytest.raises(CheckpointStoreError, match="database or disk is full"):
        await store.save(checkpoint(3, {"a": "2", "b": "y" * 80_000}))
    latest = await store.latest(RUN)
    assert (latest.metadata.revision, latest.parts) == (2, {"a": "1", "b": "y" * 40_000})

    database.dispose()  # and with it the limit
    await store.save(checkpoint(3, {"a": "fits"}))
    assert (await store.latest(RUN)).parts["a"] == "fits"
