"""Whatever happens to the process, the server or the disk, what was saved is whole and without gaps."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import OperationalError
from tests.commands import Command, start_program
from tests.databases import TEST, only_postgresql, only_sqlite
from tests.postgres import PostgresServer

from agentic.core.graph.errors import CheckpointStoreError
from agentic.core.testing.checkpoint_contract import RUN, checkpoint, load_all
from agentic.mappers import Database, SqlCheckpointStore, add_project
from agentic.mappers.checkpoints.rows import add_checkpoint
from agentic.mappers.database.database import hot_transaction

pytestmark = [pytest.mark.faults, pytest.mark.integration, pytest.mark.timeout(180)]

PARTS = 4

Eventually = Callable[[Callable[[], bool]], Awaitable[None]]

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

    def watch(connection, _):
        connection.set_progress_handler(live_one_step_less, 1)

    async def main():
        global steps_to_live
        database = Database(url)
        if steps := int(sys.argv[4]):
            event.listen(database.engine, "connect", watch)
        store = SqlCheckpointStore(database, project_id=project_id)
        try:
            revision = (await store.latest(RUN)).metadata.revision
        except CheckpointNotFoundError:
            revision = 0
        steps_to_live = steps
        while True:
            revision += 1
            changes = {f"part {n}": f"{revision} " * 4_000 for n in range(parts)}
            changes |= {f"of {revision}": "", f"of {revision - 1}": None}
            await store.save(checkpoint(revision, changes))
            print(revision, flush=True)

    asyncio.run(main())
"""


@pytest.fixture
def database(migrated_database: Database) -> Database:
    return migrated_database


@pytest.fixture
def project_id(database: Database) -> str:
    with database.writing() as session:
        return add_project(session, "ours").id


@pytest.fixture
def store(database: Database, project_id: str) -> SqlCheckpointStore:
    return SqlCheckpointStore(database, project_id=project_id)


@contextmanager
def saving(
    folder: Path, url: str, project_id: str, steps_to_live: int = 0
) -> Iterator[tuple[Command, Iterator[str]]]:
    """Start a process that saves one checkpoint after the other; give it, and the number of each as it comes.

    After ``steps_to_live`` steps of SQLite's virtual machine, if any, it kills itself; one save takes 350.
    """
    arguments = [url, project_id, str(PARTS), str(steps_to_live)]
    ours, its = os.pipe()
    with os.fdopen(ours, encoding="utf-8") as lines:
        with os.fdopen(its, "wb") as out:
            process = start_program(WRITER, arguments, os.environ, folder, out)
        yield process, lines
        process.wait()


def changes(revision: int) -> dict[str, str | None]:
    texts = {f"part {n}": f"{revision} " * 4_000 for n in range(PARTS)}
    return {**texts, f"of {revision}": "", f"of {revision - 1}": None}


async def assert_whole(store: SqlCheckpointStore, known: int) -> None:
    """All is there up to the last save that returned, or the one after it, with every part."""
    loaded = await load_all(store)
    assert [one.metadata.revision for one in loaded] == list(range(1, len(loaded) + 1))
    assert known <= len(loaded) <= known + 1
    for one in loaded:
        revision = one.metadata.revision
        assert one.head == checkpoint(revision).head
        assert dict(one.parts) == {name: text for name, text in changes(revision).items() if text is not None}


@pytest.mark.parametrize(
    ("backend", "counts"),
    [
        ("sqlite", (1, 13)),
        pytest.param("sqlite", (2, 5, 34), marks=pytest.mark.slow),
        pytest.param("postgresql", (5, 13), marks=pytest.mark.integration),
    ],
    indirect=["backend"],
)
async def test_a_killed_process_leaves_every_checkpoint_whole(
    store: SqlCheckpointStore, migrated_url: str, project_id: str, counts: Sequence[int], tmp_path: Path
) -> None:
    for count in counts:
        with saving(tmp_path, migrated_url, project_id) as (process, lines):
            known = [int(line) for line in islice(lines, count)]
            process.send_signal(signal.SIGKILL)
            known += [int(line) for line in lines]
        await assert_whole(store, known[-1])


@pytest.mark.slow
@only_postgresql
async def test_a_server_that_dies_leaves_every_checkpoint_whole(
    store: SqlCheckpointStore, postgres: PostgresServer, eventually: Eventually
) -> None:
    known: list[int] = []

    async def save_on(revision: int) -> None:
        while True:
            await store.save(checkpoint(revision, changes(revision)))
            known.append(revision)
            revision += 1

    for count in (1, 3, 10, 17):
        target = len(known) + count
        writing = asyncio.create_task(save_on(len(await load_all(store)) + 1))
        await eventually(lambda: len(known) >= target or writing.done())  # noqa: B023 - done in this turn
        await asyncio.to_thread(postgres.stop)
        with pytest.raises(CheckpointStoreError, match="check that it is running"):
            await writing
        postgres.start()
        await assert_whole(store, known[-1])


@pytest.mark.parametrize(
    "is_cut_off", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["cut off", "server dies"]
)
@only_postgresql
async def test_a_save_that_is_interrupted_leaves_nothing_and_can_be_done_again(
    store: SqlCheckpointStore,
    database: Database,
    project_id: str,
    postgres: PostgresServer,
    is_cut_off: bool,
) -> None:
    def interrupt() -> None:
        if is_cut_off:
            postgres.cut_off(TEST)
        else:
            postgres.stop()
            postgres.start()

    await store.save(checkpoint(1, changes(1)))
    with pytest.raises(OperationalError), hot_transaction(database) as cursor:  # noqa: PT012 - at the commit
        assert add_checkpoint(cursor, project_id, checkpoint(2, changes(2)))
        interrupt()
    assert len(await load_all(store)) == 1
    await store.save(checkpoint(2, changes(2)))
    await assert_whole(store, 2)


@only_sqlite
async def test_a_process_that_dies_inside_a_transaction_leaves_nothing_of_it(
    store: SqlCheckpointStore, migrated_url: str, project_id: str, tmp_path: Path
) -> None:
    for steps in range(20, 700, 85):
        before = len(await load_all(store))
        with saving(tmp_path, migrated_url, project_id, steps) as (process, lines):
            known = [int(line) for line in lines]
        assert process.returncode == -signal.SIGKILL
        await assert_whole(store, [before, *known][-1])


@only_sqlite
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
