"""What holds on PostgreSQL, where writers do not take turns: who waits for whom, and what each then sees."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from random import Random

import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, Session, mapped_column
from structlog.testing import capture_logs
from tests.databases import only_postgresql
from tests.postgres import PostgresServer

from agentic.core.graph.errors import CheckpointConflictError, CheckpointStoreError
from agentic.core.pipeline.crawl.store import (
    CrawlBatch,
    CrawledPage,
    CrawlStore,
    FrontierCounts,
    FrontierEntry,
    FrontierLink,
    SliceId,
)
from agentic.core.testing.checkpoint_contract import OTHER, RUN, checkpoint, save_history
from agentic.core.types import SaveCounts
from agentic.mappers import (
    AgentModel,
    Base,
    Database,
    DatabaseUnavailableError,
    ProjectModel,
    SourceColumns,
    SqlCheckpointStore,
    add_agent,
    add_project,
    upsert,
)
from agentic.mappers.checkpoints.rows import add_checkpoint, remove_run
from agentic.mappers.crawl.frontier import SqlCrawlStore
from agentic.mappers.database.database import hot_transaction
from agentic.mappers.tables.core import RunPartModel

pytestmark = [pytest.mark.integration, only_postgresql]

Eventually = Callable[[Callable[[], bool]], Awaitable[None]]

SLICE = SliceId()


async def taken(store: CrawlStore, limit: int) -> Sequence[FrontierEntry]:
    """Take pages, with nothing to write down."""
    return (await store.exchange(SLICE, CrawlBatch(), limit)).entries


async def written(store: CrawlStore, batch: CrawlBatch) -> SaveCounts:
    """Write down what was done, and take no page."""
    return (await store.exchange(SLICE, batch, 0)).saved


class ThingModel(SourceColumns, Base):
    __tablename__ = "postgresql_things"

    key: Mapped[str] = mapped_column(primary_key=True)
    title: Mapped[str]
    tag: Mapped[str] = mapped_column(default="none")


@pytest.fixture
def database(migrated_database: Database) -> Database:
    ThingModel.metadata.create_all(migrated_database.engine)
    return migrated_database


@pytest.fixture
def agent(database: Database) -> AgentModel:
    with database.writing() as session:
        return add_agent(session, add_project(session, "ours"), "watcher", "test")


@pytest.fixture
def store(database: Database, agent: AgentModel) -> SqlCheckpointStore:
    return SqlCheckpointStore(database, project_id=agent.project_id)


def save(session: Session, agent: AgentModel, *rows: dict[str, object]) -> SaveCounts:
    owner = {"project_id": agent.project_id, "agent_id": agent.id, "execution_id": "e"}
    return upsert(session, ThingModel, [{**owner, **row} for row in rows], key=("project_id", "key"))


def thing(session: Session) -> ThingModel:
    return session.scalars(select(ThingModel)).one()


def project_names(database: Database) -> list[str]:
    with database.reading() as session:
        return list(session.scalars(select(ProjectModel.name)))


def part_rows(database: Database) -> int:
    with database.reading() as session:
        return session.scalar(select(func.count()).select_from(RunPartModel)) or 0


async def test_a_checkpoint_saved_while_its_run_is_removed_is_removed_too(
    store: SqlCheckpointStore,
    database: Database,
    agent: AgentModel,
    postgres: PostgresServer,
    eventually: Eventually,
) -> None:
    await save_history(store)
    with hot_transaction(database) as cursor:
        assert add_checkpoint(cursor, agent.project_id, checkpoint(9, {"late": "1"}))
        removing = asyncio.create_task(store.delete_all(RUN))
        await eventually(postgres.is_in_a_queue)
    assert await removing == 9
    assert (await store.list_metadata(), part_rows(database)) == ([], 0)


async def test_a_checkpoint_of_a_run_that_is_being_removed_is_a_conflict(
    store: SqlCheckpointStore,
    database: Database,
    agent: AgentModel,
    postgres: PostgresServer,
    eventually: Eventually,
) -> None:
    await save_history(store)
    with hot_transaction(database) as cursor:
        assert remove_run(cursor, {"project_id": agent.project_id, "run_id": RUN}) == 8
        saving = asyncio.create_task(store.save(checkpoint(9, {"late": "1"})))
        await eventually(postgres.is_in_a_queue)
    with pytest.raises(CheckpointConflictError) as caught:
        await saving
    assert caught.value.newest == 0
    assert (await store.list_metadata(), part_rows(database)) == ([], 0)


async def test_a_checkpoint_another_one_saves_is_waited_for_until_that_takes_too_long(
    store: SqlCheckpointStore, agent: AgentModel, database: Database, migrated_url: str
) -> None:
    impatient_database = Database(f"{migrated_url}&options=-clock_timeout%3D50ms")
    impatient = SqlCheckpointStore(impatient_database, project_id=agent.project_id)
    with hot_transaction(database) as cursor:
        assert add_checkpoint(cursor, agent.project_id, checkpoint(1, {"theirs": "1"}))
        with pytest.raises(CheckpointStoreError, match="canceling statement due to lock timeout"):
            await impatient.save(checkpoint(1, {"ours": "1"}))
    await impatient.save(checkpoint(2, {"ours": "1"}))
    assert dict((await store.latest(RUN)).parts) == {"theirs": "1", "ours": "1"}
    impatient.close()


async def test_a_run_of_many_parts_is_read_and_pruned_before_the_database_has_counted_them(
    store: SqlCheckpointStore,
) -> None:
    parts = {f"item/{number}": "1" for number in range(3_000)}
    await store.save(checkpoint(1, parts))
    await store.save(checkpoint(2, dict.fromkeys(parts, "2")))
    async with asyncio.timeout(20):  # a plan that compares each with each takes minutes
        assert len((await store.latest(RUN)).parts) == len(parts)
        assert await store.keep_last(RUN, 1) == 1
        await store.fork(RUN, 2, OTHER)
        assert len(await store.list_metadata(newest_only=True)) == 2


def test_another_writer_that_does_not_end_is_one_clear_error(
    database: Database, agent: AgentModel, migrated_url: str
) -> None:
    impatient = Database(f"{migrated_url}&options=-clock_timeout%3D50ms")
    with database.writing() as session:
        add_project(session, "taken")
        with pytest.raises(DatabaseUnavailableError, match="lock timeout"), impatient.writing() as other:
            add_project(other, "taken")
    impatient.dispose()
    assert project_names(database) == ["ours", "taken"]


async def test_the_locks_of_a_process_that_stands_still_are_free_after_a_while(
    database: Database, agent: AgentModel, migrated_url: str
) -> None:
    frozen = Database(f"{migrated_url}&options=-cidle_in_transaction_session_timeout%3D50ms")
    with pytest.raises(DatabaseUnavailableError), frozen.writing() as session:  # noqa: PT012
        add_project(session, "taken")
        with database.writing() as other:  # waits until the frozen one has lost its transaction
            add_project(other, "taken")
        session.commit()
    assert project_names(database) == ["ours", "taken"]
    with frozen.writing() as session:
        add_project(session, "again")
    frozen.dispose()


def test_limits_are_set_where_neither_the_url_nor_the_role_has_any(
    database: Database, migrated_url: str
) -> None:
    names = ("lock_timeout", "idle_in_transaction_session_timeout", "application_name")
    limits = select(func.concat_ws(" ", *map(func.current_setting, names)))
    given = Database(f"{migrated_url}&options=-clock_timeout%3D5s&application_name=mine")
    with database.reading() as ours, given.reading() as theirs:
        assert [ours.scalar(limits), theirs.scalar(limits)] == ["30s 1min agentic", "5s 1min mine"]
    given.dispose()


def test_an_error_shows_no_value_of_the_refused_row(database: Database, agent: AgentModel) -> None:
    with (
        capture_logs() as logs,
        pytest.raises(IntegrityError, match=r'null value in column "title"') as caught,
        database.writing() as session,
    ):
        session.add(ThingModel(project_id=agent.project_id, key="hunter2"))
    assert "hunter2" not in f"{caught.value!r} {caught.value} {caught.value.orig} {logs}"


def test_a_key_too_long_for_the_index_is_a_rejected_row(database: Database, agent: AgentModel) -> None:
    long = "".join(map(chr, Random(7).choices(range(256, 4096), k=8_000)))
    with database.writing() as session:
        counts = save(session, agent, {"key": "a", "title": "a"}, {"key": long, "title": "b"})
    assert counts == SaveCounts(inserted=1, rejected=1)


async def test_a_row_another_writer_inserts_meanwhile_counts_as_stored_and_loses_nothing(
    database: Database, agent: AgentModel, postgres: PostgresServer, eventually: Eventually
) -> None:
    def save_late() -> SaveCounts:
        with database.writing() as session:
            return save(session, agent, {"key": "a", "title": "new"})

    with database.writing() as session:
        save(session, agent, {"key": "a", "title": "old", "tag": "kept"})
        saving = asyncio.create_task(asyncio.to_thread(save_late))
        await eventually(postgres.is_in_a_queue)
    assert await saving == SaveCounts(updated=1)
    with database.reading() as reader:
        assert (thing(reader).title, thing(reader).tag) == ("new", "kept")


@pytest.mark.parametrize("stored", [True, False], ids=["stored", "new"])
async def test_writers_of_the_same_rows_in_another_order_do_not_lock_each_other_out(
    stored: bool,
    database: Database,
    migrated_url: str,
    agent: AgentModel,
    postgres: PostgresServer,
    eventually: Eventually,
) -> None:
    # Where most of a table is wanted, PostgreSQL takes no index: the rows then come as they were written.
    other = Database(f"{migrated_url}&options=-cenable_indexscan%3Doff%20-cenable_bitmapscan%3Doff")

    def save_both() -> SaveCounts:
        with other.writing() as session:
            return save(session, agent, {"key": "b", "title": "both"}, {"key": "a", "title": "both"})

    for key in ("b", "a") if stored else ():
        with database.writing() as session:
            save(session, agent, {"key": key, "title": "old"})
    with database.writing() as session:
        save(session, agent, {"key": "a", "title": "one"})
        saving = asyncio.create_task(asyncio.to_thread(save_both))
        await eventually(postgres.is_in_a_queue)
        save(session, agent, {"key": "b", "title": "one"})
    assert await saving == SaveCounts(updated=2)
    other.dispose()


class Crawl:
    """A crawl whose row sink does what the test says."""

    def __init__(self, database: Database, agent: AgentModel) -> None:
        self.database = database
        self.agent = agent
        self.before_saving: Callable[[], object] = lambda: None

    def store(self) -> SqlCrawlStore:
        return SqlCrawlStore(self.database, project_id=self.agent.project_id, run="r", save=self.save)

    def save(self, session: Session, pages: Sequence[CrawledPage]) -> SaveCounts:
        self.before_saving()
        rows: list[dict[str, object]] = [{"key": page.url_key, "title": "t"} for page in pages]
        return save(session, self.agent, *rows)


@pytest.fixture
def crawl(database: Database, agent: AgentModel) -> Crawl:
    return Crawl(database, agent)


def link(key: object) -> FrontierLink:
    return FrontierLink(url=f"http://site/{key}", url_key=str(key), depth=0)


def page(key: str) -> CrawledPage:
    return CrawledPage(
        url=f"http://site/{key}",
        url_key=key,
        depth=0,
        final_url=f"http://site/{key}",
        status=200,
        content_type="text/html",
        title=None,
        fields={},
        content_hash="h",
        fetched_at=datetime.now(UTC),
    )


async def test_stores_of_one_crawl_that_find_the_same_links_never_lock_each_other_out(crawl: Crawl) -> None:
    async def work(seed: int) -> list[str]:
        dice, store = Random(seed), crawl.store()
        done: list[str] = []
        while entries := await taken(store, 7):
            links = [link(number) for number in range(min(len(done) + 30, 120))]
            dice.shuffle(links)
            batch = CrawlBatch(done=[page(entry.url_key) for entry in entries], links=links)
            assert (await written(store, batch)).inserted == len(entries)
            done += [entry.url_key for entry in entries]
        return done

    await crawl.store().seed([link(number) for number in range(30)])
    done = [key for part in await asyncio.gather(*map(work, range(3))) for key in part]
    assert len(done) == len(set(done))
    assert await crawl.store().begin(SLICE) == FrontierCounts(
        total=len(done), done=len(done), saved=SaveCounts(inserted=len(done))
    )


async def test_pages_are_claimed_while_another_store_commits(crawl: Crawl) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        inside.set()
        go_on.wait(10)

    crawl.before_saving = wait
    slow = crawl.store()
    await slow.seed([link(1), link(2)])
    await taken(slow, 1)
    committing = asyncio.create_task(written(slow, CrawlBatch(done=[page("1")], links=[link(3)])))
    await asyncio.to_thread(inside.wait, 10)
    assert [entry.url_key for entry in await taken(crawl.store(), 10)] == ["2"]
    go_on.set()
    assert (await committing).inserted == 1
