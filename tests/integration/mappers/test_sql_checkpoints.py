"""Checkpoints in SQL."""

from __future__ import annotations

import asyncio
import faulthandler
import multiprocessing
import sqlite3
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import event, func, select, text
from tests.databases import only_sqlite

from agentic.core.graph.checkpoints.store import CheckpointStore
from agentic.core.graph.errors import (
    CheckpointConflictError,
    CheckpointNotFoundError,
    CheckpointStoreError,
    CorruptCheckpointError,
)
from agentic.core.testing import CheckpointStoreContract
from agentic.core.testing.checkpoint_contract import (
    HISTORY,
    OTHER,
    RUN,
    checkpoint,
    ids,
    load_all,
    save_history,
)
from agentic.mappers import Database, SqlCheckpointStore, add_project
from agentic.mappers.tables.core import ProjectModel, RunPartModel

pytestmark = pytest.mark.integration


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


@pytest.fixture
def reopened(migrated_url: str, project_id: str) -> Iterator[SqlCheckpointStore]:
    """The same checkpoints as another process would open them."""
    database = Database(migrated_url)
    yield SqlCheckpointStore(database, project_id=project_id)
    database.dispose()


def part_rows(database: Database) -> int:
    with database.reading() as session:
        return session.scalar(select(func.count()).select_from(RunPartModel)) or 0


def limit(database: Database, pragma: str) -> None:
    """Set something on every connection made from now on."""
    database.dispose()
    event.listen(database.engine, "connect", lambda connection, _: connection.execute(f"PRAGMA {pragma}"))


@pytest.mark.requirement("CK03")
class TestSqlCheckpointStore(CheckpointStoreContract):
    @pytest.fixture
    def store(self, store: SqlCheckpointStore) -> CheckpointStore:
        return store


async def test_another_process_finds_what_was_saved(
    store: SqlCheckpointStore, reopened: SqlCheckpointStore
) -> None:
    expected = await save_history(store)
    assert [dict(one.parts) for one in await load_all(reopened)] == expected
    await reopened.save(checkpoint(len(expected) + 1, {"a": "theirs"}))
    with pytest.raises(CheckpointConflictError, match="another process continues this run"):
        await store.save(checkpoint(len(expected) + 1, {"a": "ours"}))
    assert (await store.latest(RUN)).parts["a"] == "theirs"


@pytest.mark.requirement("CK06")
async def test_only_the_last_checkpoints_are_kept_for_other_processes(
    store: SqlCheckpointStore, reopened: SqlCheckpointStore
) -> None:
    await save_history(store)
    before = await load_all(store)
    assert await store.keep_last(RUN, 3) == 5
    assert await load_all(reopened) == before[-3:]


@pytest.mark.requirement("CK07")
async def test_a_deleted_run_leaves_no_row(
    store: SqlCheckpointStore, reopened: SqlCheckpointStore, database: Database
) -> None:
    await save_history(store)
    assert await store.delete_all(RUN) == len(HISTORY)
    assert part_rows(database) == 0
    assert not await reopened.list_metadata()


@pytest.mark.requirement("CK08")
@only_sqlite
async def test_a_list_does_not_read_the_content(
    store: SqlCheckpointStore, reopened: SqlCheckpointStore, database: Database
) -> None:
    await save_history(store)
    with database.writing() as session:
        session.execute(text("UPDATE run_checkpoints SET head = CAST(x'ff' AS TEXT)"))
    assert ids(await reopened.list_metadata(run_id=RUN))[0] == f"run@{len(HISTORY)}"


async def test_part_versions_nobody_can_see_go_with_their_checkpoints(
    store: SqlCheckpointStore, database: Database
) -> None:
    for revision in range(1, 51):
        changes = {"each": str(revision), f"only {revision}": "x", f"only {revision - 1}": None}
        await store.save(checkpoint(revision, {**changes, **({"first": "1"} if revision == 1 else {})}))
        await store.keep_last(RUN, 3)
    # "first", three of "each", three that came, two that went after the oldest checkpoint.
    assert part_rows(database) == 1 + 3 + 3 + 2
    await store.keep_last(RUN, 1)
    assert part_rows(database) == 3


async def test_checkpoints_are_opened_by_url_and_found_again(migrated_url: str) -> None:
    first = SqlCheckpointStore.open(migrated_url)
    expected = await save_history(first)
    first.close()
    again = SqlCheckpointStore.open(migrated_url)
    other = SqlCheckpointStore.open(migrated_url, project="other")
    assert [found.parts for found in await load_all(again)] == expected
    assert await other.list_metadata() == []
    again.close()
    other.close()


@pytest.mark.parametrize("is_there", [True, False])
def test_opening_a_database_without_tables_says_what_to_do(tmp_path: Path, is_there: bool) -> None:
    path = tmp_path / "data.db"
    if is_there:
        path.touch()
    with pytest.raises(CheckpointStoreError, match="agentic db"):
        SqlCheckpointStore.open(f"sqlite:///{path}")


async def test_projects_do_not_see_each_others_runs(store: SqlCheckpointStore, database: Database) -> None:
    with database.writing() as session:
        theirs = SqlCheckpointStore(database, project_id=add_project(session, "theirs").id)
    await save_history(store)
    await theirs.save(checkpoint(1, {"theirs": "1"}))
    assert dict((await theirs.latest(RUN)).parts) == {"theirs": "1"}
    assert ids(await theirs.list_metadata()) == ["run@1"]
    assert await theirs.keep_last(RUN, 1) == 0
    assert await theirs.delete_all(RUN) == 1
    assert len(await load_all(store)) == len(HISTORY)
    with pytest.raises(CheckpointNotFoundError):
        await theirs.fork(RUN, 1, OTHER)


async def test_a_deleted_project_takes_its_runs_along(
    store: SqlCheckpointStore, database: Database, project_id: str
) -> None:
    await save_history(store)
    with database.writing() as session:
        session.delete(session.get_one(ProjectModel, project_id))
    assert not await store.list_metadata()
    assert part_rows(database) == 0


async def test_an_unknown_project_is_an_error_of_the_store(database: Database) -> None:
    nobodys = SqlCheckpointStore(database, project_id="nobody")
    with pytest.raises(CheckpointStoreError, match=r"project 'nobody'.*(?i:foreign key constraint)"):
        await nobodys.save(checkpoint())


async def test_a_missing_file_is_an_error_and_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "missing.db"
    store = SqlCheckpointStore(Database(f"sqlite:///{path}"), project_id="p")
    for call in (store.save(checkpoint()), store.latest(RUN), store.list_metadata(), store.keep_last(RUN, 1)):
        with pytest.raises(CheckpointStoreError, match="the file does not exist"):
            await call
    assert not path.exists()


async def test_a_database_without_the_tables_says_what_to_do(
    store: SqlCheckpointStore, database: Database
) -> None:
    with database.writing() as session:
        session.execute(text("DROP TABLE run_checkpoints"))
    missing = "no such table: run_checkpoints|relation .run_checkpoints. does not exist"
    with pytest.raises(CheckpointStoreError, match=f"({missing}).*`agentic db check`"):
        await store.save(checkpoint(head="'my secret'"))


async def test_an_error_shows_nothing_of_what_was_saved(
    store: SqlCheckpointStore, database: Database
) -> None:
    with database.writing() as session:
        session.execute(text("DROP TABLE run_parts"))
    with pytest.raises(CheckpointStoreError) as caught:
        await store.save(checkpoint(1, {"part": "hunter2"}, head='"hunter2"'))
    error: BaseException | None = caught.value
    while error is not None:
        assert "hunter2" not in f"{error!r} {error}"
        error = error.__cause__
    assert not await store.list_metadata()


async def test_text_that_is_no_unicode_is_an_error_and_saves_nothing(store: SqlCheckpointStore) -> None:
    with pytest.raises(CheckpointStoreError, match="surrogates not allowed"):
        await store.save(checkpoint(1, {"fine": "1", "broken": "\ud800"}))
    assert not await store.list_metadata()


async def test_a_status_of_a_newer_version_is_a_corrupt_checkpoint(
    store: SqlCheckpointStore, database: Database
) -> None:
    await save_history(store)
    with database.writing() as session:
        session.execute(text("UPDATE run_checkpoints SET status = 'paused' WHERE revision = 2"))
    with pytest.raises(CorruptCheckpointError, match="'run@2' cannot be used: 'paused'"):
        await store.load(RUN, 2)
    assert (await store.load(RUN, 3)).metadata.revision == 3


@only_sqlite
async def test_a_database_another_process_holds_is_an_error_until_it_lets_go(
    store: SqlCheckpointStore, database: Database, migrated_url: str
) -> None:
    await store.save(checkpoint(1, {"a": "1"}))
    limit(database, "busy_timeout=20")
    other = sqlite3.connect(migrated_url.removeprefix("sqlite:///"), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(CheckpointStoreError, match="database is locked"):
        await store.save(checkpoint(2))
    assert dict((await store.latest(RUN)).parts) == {"a": "1"}
    other.execute("ROLLBACK")
    other.close()
    await store.save(checkpoint(2))


async def test_a_cancelled_save_is_done_before_the_cancellation_goes_on(store: SqlCheckpointStore) -> None:
    saving = asyncio.create_task(store.save(checkpoint(1, {"a": "1"})))
    await asyncio.sleep(0)
    saving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await saving
    assert dict((await store.latest(RUN)).parts) == {"a": "1"}


async def test_a_store_serves_several_event_loops(store: SqlCheckpointStore) -> None:
    await save_history(store)
    loaded = await asyncio.to_thread(asyncio.run, load_all(store))
    assert loaded == await load_all(store)


async def _compete(url: str, project_id: str, name: str) -> list[int]:
    """Save as often as this store is the first, and return the revisions."""
    database = Database(url)
    store, won = SqlCheckpointStore(database, project_id=project_id), []
    revision = 0
    while revision < 60:
        found = await store.list_metadata(run_id=RUN, newest_only=True)
        revision = (found[0].revision if found else 0) + 1
        try:
            await store.save(checkpoint(revision, {name: str(revision), "last": name}))
        except CheckpointConflictError:
            continue
        won.append(revision)
    database.dispose()
    return won


def _compete_as_process(url: str, project_id: str, name: str) -> list[int]:
    return asyncio.run(_compete(url, project_id, name))


async def assert_each_won_by_one(store: SqlCheckpointStore, won: Mapping[str, list[int]]) -> None:
    winners = {revision: name for name, revisions in won.items() for revision in revisions}
    loaded = await load_all(store)
    assert sum(map(len, won.values())) == len(winners) == len(loaded) >= 60
    assert [one.parts["last"] for one in loaded] == [winners[one.metadata.revision] for one in loaded]


async def test_stores_that_go_on_with_one_run_never_save_one_revision_twice(
    store: SqlCheckpointStore, migrated_url: str, project_id: str
) -> None:
    won = await asyncio.gather(*(_compete(migrated_url, project_id, name) for name in "xyz"))
    await assert_each_won_by_one(store, dict(zip("xyz", won, strict=True)))


@only_sqlite  # whose locks work in another way between processes
async def test_processes_that_go_on_with_one_run_never_save_one_revision_twice(
    store: SqlCheckpointStore, migrated_url: str, project_id: str
) -> None:
    with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context("spawn")) as pool:
        futures = {name: pool.submit(_compete_as_process, migrated_url, project_id, name) for name in "xyz"}
        won = {name: future.result() for name, future in futures.items()}
    await assert_each_won_by_one(store, won)


async def test_old_checkpoints_can_go_while_another_process_saves(
    store: SqlCheckpointStore, reopened: SqlCheckpointStore
) -> None:
    async def save() -> None:
        for revision in range(1, 151):
            await store.save(checkpoint(revision, {"a": str(revision), f"b{revision % 5}": str(revision)}))

    saving = asyncio.create_task(save())
    removed = 0
    while not saving.done():
        removed += await reopened.keep_last(RUN, 2)
    await saving
    removed += await reopened.keep_last(RUN, 2)
    assert removed == 148
    newest = {f"b{revision % 5}": str(revision) for revision in range(146, 151)}
    assert dict((await store.latest(RUN)).parts) == {"a": "150", **newest}


async def test_a_forked_child_saves_with_a_thread_of_its_own(store: SqlCheckpointStore) -> None:
    await store.save(checkpoint(1, {"parent": "1"}))

    def child() -> None:
        faulthandler.dump_traceback_later(20, exit=True)  # tells where it hangs, should it
        asyncio.run(store.save(checkpoint(2, {"child": "2"})))

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    await asyncio.to_thread(process.join, 30)
    assert process.exitcode == 0
    assert dict((await store.latest(RUN)).parts) == {"parent": "1", "child": "2"}
