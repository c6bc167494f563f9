from __future__ import annotations

import asyncio

import pytest

from agentic.core.http import CacheUnavailableError, HttpCache
from agentic.core.testing.http_cache import KEY, HttpCacheContract, answer
from agentic.mappers import Database, add_project
from agentic.mappers.crawl.http_cache import SWEEP_EVERY, SqlHttpCache


@pytest.fixture
def projects(migrated_database: Database) -> tuple[str, str]:
    with migrated_database.writing() as session:
        return add_project(session, "one").id, add_project(session, "other").id


class TestSqlHttpCache(HttpCacheContract):
    @pytest.fixture
    def cache(self, migrated_database: Database, projects: tuple[str, str]) -> HttpCache:
        return SqlHttpCache(migrated_database, project_id=projects[0])


@pytest.mark.requirement("PL42")
async def test_a_project_sees_only_what_it_kept(
    migrated_database: Database, projects: tuple[str, str]
) -> None:
    one, other = (SqlHttpCache(migrated_database, project_id=project) for project in projects)
    await one.keep(KEY, answer(b"one"))
    assert await other.load(KEY) is None
    await other.keep(KEY, answer(b"other"))
    assert await one.load(KEY) == answer(b"one")


async def test_what_nobody_confirmed_for_long_goes(
    migrated_database: Database, projects: tuple[str, str]
) -> None:
    one, other = (SqlHttpCache(migrated_database, project_id=project, kept_s=60) for project in projects)
    for cache in (one, other):
        await cache.keep("old", answer(kept_at=1_000.0))
        await cache.keep("newer", answer(kept_at=1_050.0))
    await asyncio.gather(*(one.keep("new", answer(kept_at=1_100.0)) for _ in range(SWEEP_EVERY)))
    assert [await one.load(key) is None for key in ("old", "newer", "new")] == [True, False, False]
    assert await other.load("old") is not None


async def test_a_database_without_the_table_is_a_cache_that_cannot_be_reached(empty_url: str) -> None:
    database = Database(empty_url)
    cache = SqlHttpCache(database, project_id="p")
    with pytest.raises(CacheUnavailableError, match="agentic doctor"):
        await cache.load(KEY)
    with pytest.raises(CacheUnavailableError):
        await cache.keep(KEY, answer())
    database.dispose()
