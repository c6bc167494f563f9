"""Polls to rows, on both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from agentic.core.types import JSONValue, SaveCounts
from agentic.executors.testing import MapperContract, MapperSamples
from agentic.mappers import (
    AgentModel,
    Database,
    ResultMapper,
    add_agent,
    add_project,
    create_execution,
    get_result_mapper,
)
from agentic.plugins.feed.executor import results_of
from agentic.plugins.feed.models import FeedEntryModel, FeedModel
from agentic.plugins.feed.polls import FeedState, Poll, PollOutcome, Polls
from agentic.plugins.feed.store import known_feeds

pytestmark = pytest.mark.integration

NOW = datetime(2026, 11, 2, 9, tzinfo=UTC)
FEED = FeedState(
    id="0" * 32, url="https://blog.test/feed?key=1", title="Blog", etag='"1"', polled_at=NOW, next_poll_at=NOW
)
ENTRY: dict[str, JSONValue] = {
    "id": "1",
    "title": "One",
    "url": "https://blog.test/1",
    "published": "2026-11-02T10:00:00+01:00",
    "author": "Ada",
    "content": "<p>said",
    "tags": ["a"],
}

Save = Callable[..., ResultMapper]


def told(*items: Mapping[str, JSONValue], feed: FeedState = FEED) -> dict[str, object]:
    """Return the results of a run that read these entries."""
    poll = Poll(feed=feed, outcome=PollOutcome.READ, entries=tuple(map(dict, items)))
    return results_of(Polls(polls=(poll,), warnings=("a doubt",)))


@pytest.mark.requirement("PL28", "PL30")
class TestMapper(MapperContract):
    platform = "feed"
    samples = MapperSamples(
        results=told(ENTRY, {"id": "2"}),
        row_count=2,
        shorter=told({"id": "1", "tags": []}, {"id": "2"}),
        with_a_bad_one=told(ENTRY, {"title": None}, {"id": "2"}),
        with_no_json=told({**ENTRY, "rating": float("nan")}, {"id": "2"}),
    )


@pytest.fixture
def database(whole_url: str) -> Iterator[Database]:
    opened = Database(whole_url)
    with opened.writing() as session:
        add_agent(session, add_project(session, "blogs"), "watcher", "feed", {"feeds": [FEED.url]})
    yield opened
    opened.dispose()


@pytest.fixture
def save(database: Database) -> Save:
    """Store entries of the feed as an execution of its own; return the mapper that did."""

    def run(*items: Mapping[str, JSONValue], feed: FeedState = FEED) -> ResultMapper:
        with database.joined() as session:
            agent = session.scalars(select(AgentModel)).one()
            execution = create_execution(session, agent)
            session.commit()
            mapper = get_result_mapper("feed", session, execution.id, agent)
            assert mapper.save_results(told(*items, feed=feed))
        return mapper

    return run


def entries(database: Database) -> list[FeedEntryModel]:
    with database.reading() as session:
        return list(session.scalars(select(FeedEntryModel).order_by(FeedEntryModel.entry_key)))


def feeds(database: Database) -> list[FeedModel]:
    with database.reading() as session:
        return list(session.scalars(select(FeedModel)))


def test_an_entry_is_known_by_its_id_and_dated_in_utc(database: Database, save: Save) -> None:
    save(ENTRY)
    (row,) = entries(database)
    assert (row.entry_key, row.title, row.published_at) == ("1", "One", NOW)


def test_an_entry_that_omits_fields_erases_nothing(database: Database, save: Save) -> None:
    save(ENTRY)
    assert save({"id": "1", "title": "Two", "tags": []}).counts == SaveCounts(updated=1)
    (row,) = entries(database)
    assert (row.title, row.link, row.author, row.content) == ("Two", ENTRY["url"], "Ada", "<p>said")
    assert (row.categories, row.published_at) == (["a"], NOW)


def numbered(number: int, **changes: JSONValue) -> dict[str, JSONValue]:
    moment = (NOW - timedelta(hours=number)).isoformat()
    return {
        "id": "N/A",
        "title": f"T{number}",
        "url": f"https://blog.test/{number}",
        "published": moment,
        **changes,
    }


def test_entries_with_one_id_are_told_apart_over_all_polls(database: Database, save: Save) -> None:
    mapper = save(numbered(1), numbered(2), numbered(3))
    assert mapper.counts == SaveCounts(inserted=3)
    assert "the id 'N/A' is not unique: 2 more entries have it" in mapper.warnings[1]
    assert save(numbered(3), numbered(2)).counts == SaveCounts(unchanged=2)
    assert save(numbered(2, title="edited")).counts == SaveCounts(updated=1)
    mapper = save(numbered(4), numbered(3))
    assert mapper.counts == SaveCounts(inserted=1, unchanged=1)
    assert [row.title for row in entries(database)] == ["T1", "edited", "T3", "T4"]


def test_entries_without_links_are_told_apart_by_title_and_time(database: Database, save: Save) -> None:
    save(*(numbered(number, id=None, url=None) for number in (1, 2)))
    counts = save(numbered(1, id=None, url=None, title="edited"), numbered(2, id=None, url=None)).counts
    assert counts == SaveCounts(updated=1, unchanged=1)
    assert sorted(str(row.title) for row in entries(database)) == ["T2", "edited"]


def test_an_entry_keeps_its_row_when_its_feed_changes_to_https_or_makes_new_ids(
    database: Database, save: Save
) -> None:
    save(
        *(
            numbered(number, id=f"http://blog.test/{number}", url=f"http://blog.test/{number}")
            for number in (1, 2)
        )
    )
    save(*(numbered(number, id=f"https://blog.test/{number}") for number in (1, 2)))
    save(*(numbered(number, id=f"new-{number}") for number in (1, 2)))
    assert [row.entry_key for row in entries(database)] == ["http://blog.test/1", "http://blog.test/2"]


@pytest.mark.requirement("PL30")
def test_a_bad_entry_is_a_warning_and_the_others_are_stored(database: Database, save: Save) -> None:
    mapper = save({"title": None}, ENTRY, {"id": "2", "title": 7}, {"id": "3", "published": "soon"})
    assert mapper.counts.rejected == 1
    doubt, nameless, undated = mapper.warnings
    assert doubt == "a doubt"
    assert "entry 0 of feed 00000000 'Blog' at https://blog.test/feed was rejected: it has no id" in nameless
    assert "1 entries of feed 00000000" in undated
    assert [row.entry_key for row in entries(database)] == ["1", "2", "3"]


def test_how_a_feed_stands_is_stored_as_it_is_and_found_again(database: Database, save: Save) -> None:
    later = FEED.model_copy(
        update={"etag": None, "failures": 2, "last_error": "away", "next_poll_at": NOW + timedelta(1)}
    )
    save(feed=FEED.model_copy(update={"disabled_at": NOW, "interval_s": 60}))
    save(feed=later)
    (row,) = feeds(database)
    assert (row.etag, row.disabled_at, row.interval_s, row.failures) == (None, None, None, 2)
    assert known_feeds(database, row.project_id, ["https://BLOG.test/feed?key=1#top"]) == [later]
    assert known_feeds(database, row.project_id, ["https://blog.test/feed?key=2"]) == []
