"""Polls to rows, on both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from agentic.core.hooks import get_registry
from agentic.core.types import JSONValue, SaveCounts
from agentic.mappers import (
    AgentModel,
    AgentResultModel,
    Database,
    ResultMapper,
    add_agent,
    add_project,
    create_execution,
    find_project,
    get_result_mapper,
)
from agentic.migrations.drift import differences
from agentic.migrations.runner import upgrade
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


@pytest.fixture
def database(migrated_url: str) -> Iterator[Database]:
    upgrade(migrated_url, get_registry())
    opened = Database(migrated_url)
    with opened.writing() as session:
        for name in ("blogs", "others"):
            add_agent(session, add_project(session, name), "watcher", "feed", {"feeds": [FEED.url]})
    yield opened
    opened.dispose()


@pytest.fixture
def save(database: Database) -> Save:
    """Store entries of the feed as an execution of its own; return the mapper that did."""

    def run(*items: Mapping[str, JSONValue], feed: FeedState = FEED, project: str = "blogs") -> ResultMapper:
        poll = Poll(feed=feed, outcome=PollOutcome.READ, entries=tuple(map(dict, items)))
        with database.joined() as session:
            owner = find_project(session, project)
            agent = session.scalars(select(AgentModel).where(AgentModel.project_id == owner.id)).one()
            execution = create_execution(session, agent)
            session.commit()
            mapper = get_result_mapper("feed", session, execution.id, agent)
            assert mapper.save_results(results_of(Polls(polls=(poll,), warnings=("a doubt",))))
        return mapper

    return run


def entries(database: Database) -> list[FeedEntryModel]:
    with database.reading() as session:
        return list(session.scalars(select(FeedEntryModel).order_by(FeedEntryModel.entry_key)))


def feeds(database: Database) -> list[FeedModel]:
    with database.reading() as session:
        return list(session.scalars(select(FeedModel)))


@pytest.mark.requirement("PL28")
def test_saving_twice_leaves_one_row_and_counts_it_as_unchanged(database: Database, save: Save) -> None:
    assert save(ENTRY).counts == SaveCounts(inserted=1)
    assert save(ENTRY).counts == SaveCounts(unchanged=1)
    (row,) = entries(database)
    assert (row.entry_key, row.title, row.published_at) == ("1", "One", NOW)


def test_an_entry_that_omits_fields_erases_nothing(database: Database, save: Save) -> None:
    save(ENTRY)
    assert save({"id": "1", "title": "Two", "tags": []}).counts == SaveCounts(updated=1)
    (row,) = entries(database)
    assert (row.title, row.link, row.author, row.content) == ("Two", ENTRY["url"], "Ada", "<p>said")
    assert (row.categories, row.published_at) == (["a"], NOW)


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


def test_two_projects_keep_a_row_each(database: Database, save: Save) -> None:
    save(ENTRY)
    save({**ENTRY, "title": "Theirs"}, project="others")
    assert sorted(str(row.title) for row in entries(database)) == ["One", "Theirs"]
    assert len(feeds(database)) == 2


def test_an_error_is_stored_as_the_result_and_no_rows_are(database: Database) -> None:
    with database.joined() as session:
        agent = session.scalars(select(AgentModel)).first()
        assert agent is not None
        execution = create_execution(session, agent)
        assert not get_result_mapper("feed", session, execution.id, agent).save_results(
            {"error": "no network"}
        )
    with database.reading() as session:
        assert session.scalars(select(AgentResultModel.summary)).all() == [{"error": "no network"}]
    assert (entries(database), feeds(database)) == ([], [])


def test_the_migration_makes_the_tables_that_the_models_describe(database: Database) -> None:
    assert [one for one in differences(database, get_registry()) if "feed" in str(one)] == []
