"""Stories to rows of ``hn_items``, in a real database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from agentic.core.types import SaveCounts
from agentic.mappers import (
    AgentModel,
    AgentResultModel,
    Database,
    ResultMapper,
    add_project,
    create_execution,
    get_result_mapper,
)
from agentic.plugins.hackernews.models import HackerNewsItemModel

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


def results(*items: Mapping[str, object], warnings: Sequence[str] = ()) -> dict[str, object]:
    stories = [{"rank": rank, "item": dict(item)} for rank, item in enumerate(items, start=1)]
    return {"stories": stories, "warnings": list(warnings)}


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


@pytest.mark.requirement("PL15", "PL21", "PL28")
def test_saving_twice_leaves_one_row_and_counts_it_as_unchanged(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    agent = make_agent()
    assert save(agent, results(STORY)).counts == SaveCounts(inserted=1)
    assert save(agent, results(STORY)).counts == SaveCounts(unchanged=1)
    assert [(row.id, row.title, row.score) for row in rows(database)] == [(7, "One", 3)]


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


def test_an_answer_that_omits_fields_erases_nothing(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    agent = make_agent()
    save(agent, results(STORY))
    save(agent, results({"id": 7}))
    (row,) = rows(database)
    assert (row.type, row.by, row.title, row.score) == ("story", "pg", "One", 3)


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


def test_two_projects_keep_a_row_each(database: Database, make_agent: MakeAgent, save: Save) -> None:
    with database.writing() as session:
        add_project(session, "other")
    save(make_agent(), results(STORY))
    save(make_agent(project="other"), results({**STORY, "title": "Theirs"}))
    assert sorted(row.title or "" for row in rows(database)) == ["One", "Theirs"]


def test_an_error_is_stored_as_the_result_and_no_rows_are(database: Database, make_agent: MakeAgent) -> None:
    agent = make_agent()
    with database.joined() as session:
        execution = create_execution(session, agent)
        mapper = get_result_mapper("hackernews", session, execution.id, agent)
        assert not mapper.save_results({"error": "no network"})
    with database.reading() as session:
        assert session.scalars(select(AgentResultModel.summary)).all() == [{"error": "no network"}]
    assert rows(database) == []


def test_the_migration_makes_the_table_that_the_model_describes(database: Database) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    def of_ours(thing: object, name: str | None, kind: str, reflected: bool, against: object) -> bool:
        return kind != "table" or name == "hn_items"

    with database.reading() as session:
        context = MigrationContext.configure(session.connection(), opts={"include_object": of_ours})
        assert compare_metadata(context, HackerNewsItemModel.metadata) == []
