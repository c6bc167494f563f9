"""What holds when several processes work on one database."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

import pytest
from tests.databases import only_sqlite

from agentic.core.pipeline.crawl.store import (
    CrawlBatch,
    CrawledPage,
    CrawlStore,
    FrontierCounts,
    FrontierEntry,
    FrontierLink,
    SliceId,
)
from agentic.core.types import SaveCounts
from agentic.mappers import Database, add_project
from agentic.mappers.catalog.projects import list_projects
from agentic.mappers.crawl.frontier import SqlCrawlStore

pytestmark = pytest.mark.integration

PAGES = 300
WORKERS = 4
SLICE = SliceId()


async def taken(store: CrawlStore, limit: int) -> Sequence[FrontierEntry]:
    """Take pages, with nothing to write down."""
    return (await store.exchange(SLICE, CrawlBatch(), limit)).entries


async def written(store: CrawlStore, batch: CrawlBatch) -> SaveCounts:
    """Write down what was done, and take no page."""
    return (await store.exchange(SLICE, batch, 0)).saved


@pytest.fixture
def database(migrated_database: Database) -> Database:
    return migrated_database


def pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(WORKERS, mp_context=multiprocessing.get_context("spawn"))


def store(database: Database, project_id: str) -> SqlCrawlStore:
    return SqlCrawlStore(
        database, project_id=project_id, run="r", save=lambda _, pages: SaveCounts(len(pages))
    )


def crawl(url: str, project_id: str) -> list[str]:
    """Work the frontier off, a few pages at a time, and return the pages this process stored."""

    async def work() -> list[str]:
        database = Database(url)
        frontier, stored = store(database, project_id), []
        while entries := await taken(frontier, 7):
            pages = [_page(entry.url, entry.url_key) for entry in entries]
            counts = await written(frontier, CrawlBatch(done=pages))
            assert counts.inserted == len(pages)
            stored += [page.url_key for page in pages]
        database.dispose()
        return stored

    return asyncio.run(work())


def _page(url: str, url_key: str) -> CrawledPage:
    from datetime import UTC, datetime

    return CrawledPage(
        url=url,
        url_key=url_key,
        depth=0,
        final_url=url,
        status=200,
        content_type="text/html",
        title=None,
        fields={},
        content_hash="h",
        fetched_at=datetime.now(UTC),
    )


@pytest.mark.slow
@only_sqlite  # whose locks work in another way between processes
async def test_processes_share_a_frontier_without_fetching_a_page_twice(
    migrated_url: str, database: Database
) -> None:
    with database.writing() as session:
        project_id = add_project(session, "p").id
    frontier = store(database, project_id)
    keys = [f"{number:04}" for number in range(PAGES)]
    await frontier.seed([FrontierLink(url=f"http://site/{key}", url_key=key, depth=0) for key in keys])
    with pool() as workers:
        futures = [workers.submit(crawl, migrated_url, project_id) for _ in range(WORKERS)]
        stored = [key for future in futures for key in future.result()]
    assert sorted(stored) == keys
    assert await frontier.begin(SLICE) == FrontierCounts(
        total=PAGES, done=PAGES, saved=SaveCounts(inserted=PAGES)
    )


def test_a_forked_child_uses_connections_of_its_own(database: Database) -> None:
    with database.writing() as session:
        add_project(session, "parent")
    ours = database.engine
    with database.writing() as session:  # open, while the child does its work
        names = [project.name for project in list_projects(session)]
        context = multiprocessing.get_context("fork")
        seen = context.Queue()
        child = context.Process(target=lambda: seen.put((database.engine is ours, _names(database))))
        child.start()
        assert seen.get(timeout=60) == (False, names)
        child.join()
        add_project(session, "afterwards")
    assert _names(database) == ["afterwards", "parent"]


def _names(database: Database) -> list[str]:
    with database.reading() as session:
        return [project.name for project in list_projects(session)]
