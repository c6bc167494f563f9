"""What was read to rows of ``hn_items`` and ``hn_users``, in a real database: on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from agentic.core.types import SaveCounts
from agentic.executors.testing import MapperContract, MapperSamples
from agentic.mappers import (
    AgentModel,
    Database,
    MetricSnapshotModel,
    ResultMapper,
    create_execution,
    get_result_mapper,
)
from agentic.plugins.hackernews.models import HackerNewsItemModel, HackerNewsUserModel

if TYPE_CHECKING:
    from tests.integration.plugins.hackernews.conftest import MakeAgent

    Save = Callable[[AgentModel, Mapping[str, object]], ResultMapper]

pytestmark = pytest.mark.integration

STORY: dict[str, object] = {
    "id": 7,
    "type": "story",
    "by": "pg",
    "time": 1_700_000_000,
    "title": "One",
    "text": "<p>said",
    "score": 3,
}

HIT: dict[str, object] = {
    "objectID": "7",
    "author": "pg",
    "title": "R&amp;D",
    "points": 9,
    "num_comments": 2,
    "story_id": 7,
    "created_at_i": 1_700_000_000,
    "_tags": ["story", "author_pg", "story_7"],
}

COMMENT: dict[str, object] = {
    "id": 8,
    "author": "ada",
    "text": "<p>no",
    "parent_id": 7,
    "story_id": 7,
    "created_at": "2023-11-14T22:13:20.000Z",
}


USER: dict[str, object] = {
    "id": "pg",
    "karma": 3,
    "created": 1_700_000_000,
    "about": "<p>hi",
    "submitted": [1, 2],
}


def results(*items: Mapping[str, object], warnings: Sequence[str] = ()) -> dict[str, object]:
    stories = [{"rank": rank, "item": dict(item)} for rank, item in enumerate(items, start=1)]
    return {"stories": stories, "warnings": list(warnings)}


WHOLE: dict[str, object] = {
    **results(STORY),
    "hits": [{**HIT, "objectID": "9"}],
    "nodes": [COMMENT],
    "users": [USER],
}


@pytest.mark.requirement("PL15", "PL21", "PL28", "PL30")
class TestMapper(MapperContract):
    platform = "hackernews"
    samples = MapperSamples(
        results=WHOLE,
        row_count=4,
        shorter={
            **results({"id": 7}),
            "hits": [{"objectID": "9"}],
            "nodes": [{"id": 8, "author": "ada"}],
            "users": [{"id": "pg"}],
        },
        with_a_bad_one={**WHOLE, "users": [{"karma": 1}, USER]},
        with_no_json={**WHOLE, "users": [{**USER, "odd": float("nan")}]},
    )


@pytest.fixture
def save(database: Database) -> Save:
    """Store results as an execution of its own; return the mapper that did."""

    def run(agent: AgentModel, found: Mapping[str, object]) -> ResultMapper:
        with database.joined() as session:
            execution = create_execution(session, agent)
            session.commit()
            mapper = get_result_mapper("hackernews", session, execution.id, agent)
            assert mapper.save_results(found)
        return mapper

    return run


def rows(database: Database) -> list[HackerNewsItemModel]:
    with database.reading() as session:
        return list(session.scalars(select(HackerNewsItemModel).order_by(HackerNewsItemModel.id)))


def test_a_new_score_is_an_update_and_a_new_rank_alone_is_none(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    agent = make_agent()
    save(agent, results(STORY))
    other = {**STORY, "id": 8}
    assert save(agent, results(other, STORY)).counts == SaveCounts(inserted=1, unchanged=1)
    assert save(agent, results(other, {**STORY, "score": 4})).counts == SaveCounts(updated=1, unchanged=1)
    assert [(row.id, row.rank, row.score) for row in rows(database)] == [(7, 2, 4), (8, 1, 3)]


def test_a_deleted_item_is_marked_and_keeps_what_it_said(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    agent = make_agent()
    save(agent, results(STORY))
    gone = {"id": 7, "type": "story", "time": 1_700_000_000, "deleted": True}
    assert save(agent, results(gone)).counts == SaveCounts(updated=1)
    (row,) = rows(database)
    assert (row.deleted, row.by, row.title, row.text) == (True, "pg", "One", "<p>said")


def test_a_text_that_was_edited_away_is_gone(database: Database, make_agent: MakeAgent, save: Save) -> None:
    agent = make_agent()
    without = {name: value for name, value in STORY.items() if name != "text"}
    whole: list[dict[str, object]] = [
        results(without),
        {"hits": [{**HIT, "story_text": None}]},
        {"nodes": [{"id": 7, "type": "story", "author": "pg", "title": "One", "text": None}]},
    ]
    for found in whole:
        save(agent, results(STORY))
        assert save(agent, found).counts == SaveCounts(updated=1)
        assert rows(database)[0].text is None


def test_a_dead_item_keeps_what_it_said(database: Database, make_agent: MakeAgent, save: Save) -> None:
    agent = make_agent()
    save(agent, results(STORY))
    save(agent, results({"id": 7, "type": "story", "by": "pg", "time": 1_700_000_000, "dead": True}))
    assert [(row.dead, row.text) for row in rows(database)] == [(True, "<p>said")]


def test_what_a_user_no_longer_says_is_gone(database: Database, make_agent: MakeAgent, save: Save) -> None:
    agent = make_agent()
    save(agent, {"users": [USER]})
    assert save(agent, {"users": [{**USER, "about": ""}]}).counts == SaveCounts(updated=1)
    with database.reading() as session:
        assert session.scalars(select(HackerNewsUserModel.about)).all() == [None]


@pytest.mark.requirement("PL30")
def test_a_bad_story_is_a_warning_and_the_others_are_stored(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    found = results({"id": -1}, STORY, warnings=["item 9: gone"])
    mapper = save(make_agent(), found)
    assert mapper.counts == SaveCounts(inserted=1, rejected=1)
    assert mapper.warnings[0] == "item 9: gone"
    assert mapper.warnings[1].startswith("story 0 was rejected: item.id: ")
    assert [row.id for row in rows(database)] == [7]


def test_a_search_hit_becomes_a_row_and_is_unchanged_the_second_time(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    agent = make_agent()
    assert save(agent, {"hits": [HIT]}).counts == SaveCounts(inserted=1)
    assert save(agent, {"hits": [HIT]}).counts == SaveCounts(unchanged=1)
    (row,) = rows(database)
    assert (row.id, row.type, row.by, row.title, row.score, row.descendants) == (
        7,
        "story",
        "pg",
        "R&D",
        9,
        2,
    )
    assert (row.rank, row.story_id, row.deleted, row.dead) == (None, None, False, False)
    assert row.raw == HIT


def test_what_a_search_does_not_tell_stays_as_it_was(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    agent = make_agent()
    save(agent, results({**STORY, "descendants": 5, "dead": True}))
    short = {"objectID": "7", "points": 9, "_tags": ["story"]}
    assert save(agent, {"hits": [short]}).counts == SaveCounts(updated=1)
    save(agent, {"nodes": [{"id": 7, "type": "story", "author": "pg", "title": "One"}]})
    (row,) = rows(database)
    assert (row.rank, row.descendants, row.dead, row.score) == (1, 5, True, 9)
    assert (row.title, row.text, row.time) == (
        "One",
        "<p>said",
        datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC),
    )


def test_a_comment_that_was_taken_back_is_marked_and_keeps_its_author_and_text(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    agent = make_agent()
    save(agent, {"nodes": [COMMENT]})
    gone = {**COMMENT, "author": None, "text": None}
    assert save(agent, {"nodes": [gone]}).counts == SaveCounts(updated=1)
    (row,) = rows(database)
    assert (row.deleted, row.by, row.text) == (True, "ada", "<p>no")
    assert (row.type, row.parent_id, row.story_id) == ("comment", 7, 7)


def test_users_are_rows_and_names_that_differ_in_case_are_two(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    agent = make_agent()
    found = {"users": [USER, {"id": "PG", "karma": 1}]}
    assert save(agent, found).counts == SaveCounts(inserted=2)
    assert save(agent, found).counts == SaveCounts(unchanged=2)
    assert save(agent, {"users": [{"id": "pg", "karma": 4}]}).counts == SaveCounts(updated=1)
    with database.reading() as session:
        stored = {row.id: row for row in session.scalars(select(HackerNewsUserModel))}
    assert set(stored) == {"pg", "PG"}
    assert (stored["pg"].karma, stored["pg"].about, stored["pg"].submitted_count) == (4, "<p>hi", 2)
    assert stored["pg"].created == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


@pytest.mark.requirement("PL30")
def test_bad_hits_comments_and_users_are_warnings_and_the_others_are_stored(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    found: dict[str, object] = {
        "hits": [{"objectID": "x"}, HIT],
        "nodes": [{"id": 8, "points": "many"}, COMMENT],
        "users": [{"karma": 1}],
    }
    mapper = save(make_agent(), found)
    assert mapper.counts == SaveCounts(inserted=2, rejected=3)
    assert [warning.partition(": ")[0] for warning in mapper.warnings] == [
        "hit 0 was rejected",
        "item 0 was rejected",
        "user 0 was rejected",
    ]
    assert [row.id for row in rows(database)] == [7, 8]


def test_a_score_that_moves_is_followed(database: Database, make_agent: MakeAgent, save: Save) -> None:
    agent = make_agent()
    save(agent, results(STORY))
    save(agent, results({**STORY, "id": 8, "score": None}, STORY))  # another place alone is none
    save(agent, {"hits": [HIT]})
    with database.reading() as session:
        found = session.scalars(select(MetricSnapshotModel).order_by(MetricSnapshotModel.observed_at)).all()
    assert [(one.natural_key, one.score, one.comments) for one in found] == [("7", 3, None), ("7", 9, 2)]
