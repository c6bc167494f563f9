"""Searches, comments and users as executions: fake APIs, real HTTP, real database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import func, select
from tests.databases import only_sqlite

from agentic.core.types import SaveCounts
from agentic.fakes.control import Fault
from agentic.fakes.hackernews.items import Archive, build_archive
from agentic.fakes.server import FakeServer
from agentic.mappers import Database, ExecutionStatus
from agentic.plugins.hackernews.models import HackerNewsItemModel, HackerNewsUserModel

if TYPE_CHECKING:
    from tests.integration.plugins.hackernews.conftest import RunAgent

pytestmark = [pytest.mark.integration, only_sqlite]

STORY_COUNT = 800


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with FakeServer(seed=1, stories=STORY_COUNT, products=1) as started:
        yield started


@pytest.fixture
def fakes(server: FakeServer) -> FakeServer:
    server.control.reset()
    return server


@pytest.fixture(scope="module")
def archive() -> Archive:
    return build_archive(1, STORY_COUNT)


def asked(fakes: FakeServer) -> list[str]:
    requests = fakes.control.stats()["requests"]
    assert isinstance(requests, dict)
    return [path for path, times in requests.items() for _ in range(int(str(times)))]


def stored(database: Database) -> dict[int, HackerNewsItemModel]:
    with database.reading() as session:
        return {row.id: row for row in session.scalars(select(HackerNewsItemModel))}


def found_by_search(archive: Archive, *kinds: str) -> set[int]:
    return {
        number
        for number, item in archive.items.items()
        if item.get("type") in kinds and "by" in item and not item.get("dead")
    }


def options_of(archive: Archive, number: int) -> list[int]:
    parts = archive.items[number].get("parts", [])
    assert isinstance(parts, list)
    return [part for part in parts if isinstance(part, int)]


def below(archive: Archive, number: int) -> list[int]:
    kids = archive.items[number].get("kids", [])
    assert isinstance(kids, list)
    numbers = [kid for kid in kids if isinstance(kid, int)]
    return numbers + [one for kid in numbers for one in below(archive, kid)]


@pytest.mark.requirement("PL28")
async def test_a_search_becomes_rows_newest_first_and_is_unchanged_the_second_time(
    database: Database, run_agent: RunAgent, archive: Archive
) -> None:
    outcome = await run_agent(mode="search", tags=["story"], limit=25, times=2)
    assert (outcome.status, outcome.counts) == (ExecutionStatus.SUCCEEDED, SaveCounts(unchanged=25))
    assert set(stored(database)) == set(sorted(found_by_search(archive, "story"))[-25:])


async def test_fifteen_hundred_hits_are_found_by_slices_of_time(
    database: Database, run_agent: RunAgent, fakes: FakeServer, archive: Archive
) -> None:
    outcome = await run_agent(mode="search", tags=["(story,comment)"], limit=1_500)
    assert (outcome.counts, outcome.warnings) == (SaveCounts(inserted=1_500), ())
    newest = sorted(found_by_search(archive, "story", "comment"))[-1_500:]
    assert set(stored(database)) == set(newest)
    assert len(asked(fakes)) <= 16


@pytest.mark.requirement("PL30")
async def test_a_search_whose_server_fails_now_and_then_is_whole(
    run_agent: RunAgent, fakes: FakeServer
) -> None:
    fakes.control.add(Fault(path="/hackernews/api/v1/*", status=502, times=2))
    fakes.control.add(Fault(path="/hackernews/api/v1/*", status=429, retry_after_s=1))
    outcome = await run_agent(mode="search", tags=["(story,comment)"], limit=300)
    assert (outcome.counts, outcome.warnings) == (SaveCounts(inserted=300), ())


async def test_a_search_without_an_end_in_sight_finds_everything_there_is(
    database: Database, run_agent: RunAgent, archive: Archive
) -> None:
    kinds = ("story", "comment", "poll", "pollopt", "job")
    outcome = await run_agent(mode="search", tags=[f"({','.join(kinds)})"], limit=5_000)
    assert outcome.counts.inserted > 1_500
    assert set(stored(database)) == found_by_search(archive, *kinds)


async def test_a_search_keeps_to_points_comments_and_times(database: Database, run_agent: RunAgent) -> None:
    since, until = "2026-01-01T06:00:00Z", "2026-01-02T06:00:00Z"
    await run_agent(
        mode="search", tags=["story"], min_points=300, min_comments=1, since=since, until=until, limit=500
    )
    rows = stored(database).values()
    assert len(rows) > 10
    assert all((row.score or 0) >= 300 and (row.descendants or 0) >= 1 for row in rows)
    times = sorted(row.time.isoformat() for row in rows if row.time)
    assert since[:-1] <= times[0] <= times[-1] <= f"{until[:-1]}+00:00"


async def test_the_most_relevant_come_with_most_points(
    database: Database, run_agent: RunAgent, archive: Archive
) -> None:
    await run_agent(mode="search", tags=["story"], sort="relevance", limit=10)
    best = sorted(int(str(archive.items[n]["score"])) for n in found_by_search(archive, "story"))[-10:]
    assert sorted(row.score or 0 for row in stored(database).values()) == best


async def test_a_tree_of_comments_is_one_call_and_becomes_rows(
    database: Database, run_agent: RunAgent, fakes: FakeServer, archive: Archive
) -> None:
    story = max(archive.front, key=lambda n: len(below(archive, n)) if n in archive.items else 0)
    outcome = await run_agent(mode="comments", items=[story])
    expected = [story, *below(archive, story)]
    assert outcome.counts == SaveCounts(inserted=len(expected))
    assert len(asked(fakes)) == 1
    rows = stored(database)
    assert set(rows) == set(expected)
    assert {rows[n].story_id for n in expected[1:]} == {story}
    assert all(rows[n].parent_id == archive.items[n]["parent"] for n in expected[1:])


async def test_a_poll_is_stored_with_its_options(
    database: Database, run_agent: RunAgent, archive: Archive
) -> None:
    poll = next(number for number, item in archive.items.items() if item.get("type") == "poll")
    await run_agent(mode="comments", items=[poll])
    rows = stored(database)
    options = [number for number, row in rows.items() if row.type == "pollopt"]
    assert options == options_of(archive, poll) != []
    assert {(rows[n].poll_id, rows[n].parent_id) for n in options} == {(poll, None)}
    assert [rows[n].score for n in options] == [archive.items[n]["score"] for n in options]


@pytest.mark.requirement("PL28")
async def test_the_comments_of_a_list_are_unchanged_the_second_time(
    database: Database, run_agent: RunAgent, archive: Archive
) -> None:
    outcome = await run_agent(mode="comments", list="top", limit=12, times=2)
    stories = [number for number in archive.front[:12] if number in archive.items]
    expected = {
        number for story in stories for number in (story, *options_of(archive, story), *below(archive, story))
    }
    assert outcome.counts == SaveCounts(unchanged=len(expected))
    assert set(stored(database)) == expected


async def test_the_comments_of_what_a_search_finds_are_read(
    database: Database, run_agent: RunAgent, archive: Archive
) -> None:
    await run_agent(mode="comments", tags=["story"], min_comments=4, limit=3)
    rows = stored(database)
    stories = [number for number, row in rows.items() if row.type == "story"]
    assert len(stories) == 3
    assert len(rows) == 3 + 3 * 4
    assert set(rows) == {number for story in stories for number in (story, *below(archive, story))}


async def test_comments_beyond_the_limit_are_left_out_with_a_warning(
    database: Database, run_agent: RunAgent
) -> None:
    outcome = await run_agent(mode="comments", tags=["story"], min_comments=4, limit=3, max_comments=5)
    assert outcome.counts == SaveCounts(inserted=3 + 5)
    assert list(outcome.warnings) == ["7 comments were skipped; raise max_comments, or lower limit"]


async def test_a_comment_that_is_deleted_keeps_the_text_it_was_stored_with(
    database: Database, run_agent: RunAgent, archive: Archive
) -> None:
    deleted = next(
        number
        for number, item in archive.items.items()
        if item.get("deleted") and item.get("type") == "comment"
    )
    await run_agent(mode="comments", items=[deleted])
    with database.writing() as session:
        row = session.scalars(select(HackerNewsItemModel).where(HackerNewsItemModel.id == deleted)).one()
        row.text, row.by, row.deleted = "<p>what it said", "ada", False
    await run_agent(name="again", mode="comments", items=[deleted])
    kept = stored(database)[deleted]
    assert (kept.text, kept.by, kept.deleted) == ("<p>what it said", "ada", True)


@pytest.mark.requirement("PL30")
async def test_an_item_that_does_not_exist_is_a_warning_and_the_others_are_kept(
    database: Database, run_agent: RunAgent, archive: Archive
) -> None:
    outcome = await run_agent(mode="comments", items=[1, archive.front[0]])
    assert outcome.status is ExecutionStatus.SUCCEEDED
    assert [warning.partition(";")[0] for warning in outcome.warnings] == ["Algolia has no item 1"]
    assert archive.front[0] in stored(database)


async def test_a_search_hit_takes_no_rank_from_a_story_of_the_list(
    database: Database, run_agent: RunAgent
) -> None:
    await run_agent(list="new", limit=5)
    before = {number: (row.rank, row.descendants) for number, row in stored(database).items()}
    await run_agent(name="searching", mode="search", tags=["(story,job,poll)"], limit=20)
    after = stored(database)
    assert {number: (after[number].rank, after[number].descendants) for number in before} == before


@pytest.mark.requirement("PL28", "PL30")
async def test_users_become_rows_and_one_that_does_not_exist_is_a_warning(
    database: Database, run_agent: RunAgent, archive: Archive
) -> None:
    first, second, *_ = sorted(archive.users)
    wanted = [first, second.swapcase(), second, first]
    outcome = await run_agent(mode="users", users=[*wanted], times=2)
    assert (outcome.status, outcome.counts) == (ExecutionStatus.SUCCEEDED, SaveCounts(unchanged=2))
    (warning,) = outcome.warnings
    assert warning.startswith(f"user '{second.swapcase()}' does not exist; names are case-sensitive")
    with database.reading() as session:
        karma = session.execute(select(HackerNewsUserModel.id, HackerNewsUserModel.karma)).all()
    expected = {name: archive.users[name]["karma"] for name in (first, second)}
    assert {row.id: row.karma for row in karma} == expected


async def test_a_run_in_which_no_user_exists_fails(database: Database, run_agent: RunAgent) -> None:
    outcome = await run_agent(mode="users", users=["nobody-at-all"])
    assert outcome.status is ExecutionStatus.FAILED
    assert "it could not be read: user " in (outcome.error or "")
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(HackerNewsUserModel)) == 0
