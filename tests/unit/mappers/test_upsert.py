from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import JSON, Numeric, func, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Mapped, mapped_column
from structlog.testing import capture_logs
from tests.databases import only_sqlite

from agentic.core.types import JSONValue, SaveCounts
from agentic.mappers import (
    CLEARED,
    AgentModel,
    Base,
    Counters,
    Database,
    MetricSnapshotModel,
    SourceColumns,
    UnknownColumnError,
    UnstableKeyError,
    UTCDateTime,
    add_agent,
    add_project,
    new_id,
    upsert,
)
from agentic.mappers.upserts.target import UpsertTable
from agentic.mappers.upserts.upsert import BATCH_SIZE

KEY = ("project_id", "id")
SCORE = Counters("test", {"score": "score"})
NO_TITLE = {
    "sqlite": "NOT NULL constraint failed: upsert_stories.title",
    "postgresql": 'null value in column "title" of relation "upsert_stories" violates not-null constraint',
}


class StoryModel(SourceColumns, Base):
    __tablename__ = "upsert_stories"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    title: Mapped[str]
    score: Mapped[float | None]
    rank: Mapped[int | None]
    is_dead: Mapped[bool] = mapped_column(default=False)
    tags: Mapped[JSONValue] = mapped_column(JSON, default=list)
    at: Mapped[datetime | None] = mapped_column(UTCDateTime)


class PriceModel(SourceColumns, Base):
    __tablename__ = "upsert_prices"

    price: Mapped[Decimal] = mapped_column(Numeric(10, 2), primary_key=True)


class Stories:
    """The table under test, filled for one agent."""

    def __init__(self, database: Database, agent: AgentModel) -> None:
        self.database = database
        self.agent = agent
        self.warnings: list[str] = []

    def save(
        self,
        *rows: dict[str, object],
        execution_id: str = "e1",
        volatile: Iterable[str] = (),
        counters: Counters | None = None,
    ) -> SaveCounts:
        owner = {
            "project_id": self.agent.project_id,
            "agent_id": self.agent.id,
            "execution_id": execution_id,
        }
        with self.database.writing() as session:
            return upsert(
                session,
                StoryModel,
                [{**owner, **row} for row in rows],
                key=KEY,
                volatile=tuple(volatile),
                counters=counters,
                warn=self.warnings.append,
            )

    def all(self) -> list[StoryModel]:
        with self.database.reading() as session:
            ours = select(StoryModel).where(StoryModel.project_id == self.agent.project_id)
            return list(session.scalars(ours.order_by(StoryModel.id)))

    def one(self) -> StoryModel:
        (story,) = self.all()
        return story


@pytest.fixture
def stories(database: Database, agent: AgentModel) -> Stories:
    return Stories(database, agent)


@pytest.mark.requirement("PL28")
def test_the_same_rows_again_change_nothing_and_are_counted_unchanged(stories: Stories) -> None:
    rows: list[dict[str, object]] = [
        {"id": 1, "title": "a", "score": 5},
        {"id": 2, "title": "b", "tags": ["x"]},
    ]
    assert stories.save(*rows) == SaveCounts(inserted=2)
    assert stories.save(*rows) == SaveCounts(unchanged=2)
    assert [(s.id, s.title) for s in stories.all()] == [(1, "a"), (2, "b")]


def test_a_changed_row_is_updated_and_counted(stories: Stories) -> None:
    stories.save({"id": 1, "title": "a"}, {"id": 2, "title": "b"})
    assert stories.save(
        {"id": 1, "title": "z"}, {"id": 2, "title": "b"}, {"id": 3, "title": "c"}
    ) == SaveCounts(inserted=1, updated=1, unchanged=1)
    assert [s.title for s in stories.all()] == ["z", "b", "c"]


@pytest.mark.parametrize(
    "omission", [{}, {"title": None, "score": None, "tags": None, "is_dead": None, "raw": None}]
)
def test_what_a_source_omits_is_not_erased_and_is_no_change(
    stories: Stories, omission: dict[str, object]
) -> None:
    noon = datetime(2026, 1, 2, 12, tzinfo=UTC)
    full = {"id": 1, "title": "a", "score": 5.0, "tags": ["x"], "is_dead": True, "at": noon, "raw": {"k": 1}}
    stories.save(full)
    assert stories.save({"id": 1, **omission}) == SaveCounts(unchanged=1)
    story = stories.one()
    assert (story.title, story.score, story.tags, story.is_dead) == ("a", 5.0, ["x"], True)
    assert (story.at, story.raw) == (noon, {"k": 1})


def test_what_a_source_says_is_not_there_is_cleared_and_is_an_update(stories: Stories) -> None:
    noon = datetime(2026, 1, 2, 12, tzinfo=UTC)
    stories.save({"id": 1, "title": "a", "score": 5.0, "tags": ["x"], "is_dead": True, "at": noon, "rank": 1})
    nothing = {"score": CLEARED, "tags": CLEARED, "is_dead": CLEARED, "at": CLEARED}
    assert stories.save({"id": 1, **nothing}) == SaveCounts(updated=1)
    story = stories.one()
    assert (story.title, story.score, story.at, story.rank) == ("a", None, None, 1)
    assert (story.is_dead, story.tags) == (False, []), "the defaults of a row that never had any"
    assert stories.save({"id": 1, **nothing}) == SaveCounts(unchanged=1)


def test_rows_of_one_batch_clear_keep_and_give_a_column_each_for_itself(stories: Stories) -> None:
    stories.save(*({"id": i, "title": "a", "score": 5.0, "rank": 1} for i in range(4)))
    counts = stories.save(
        {"id": 0, "score": CLEARED},
        {"id": 1, "title": "b"},
        {"id": 2, "rank": CLEARED, "score": 7.0},
        {"id": 3, "score": None},
        {"id": 4, "title": "new", "score": CLEARED},
    )
    assert counts == SaveCounts(inserted=1, updated=3, unchanged=1)
    assert [(s.title, s.score, s.rank) for s in stories.all()] == [
        ("a", None, 1),
        ("b", 5.0, 1),
        ("a", 7.0, None),
        ("a", 5.0, 1),
        ("new", None, None),
    ]


def test_of_rows_with_one_key_the_last_that_says_something_wins(stories: Stories) -> None:
    stories.save({"id": 1, "title": "a", "score": 5.0, "rank": 1})
    stories.save({"id": 1, "score": CLEARED, "rank": CLEARED}, {"id": 1, "score": None, "rank": 3})
    assert (stories.one().score, stories.one().rank) == (None, 3)


@pytest.mark.parametrize("name", ["id", "raw", "execution_id"])
def test_what_no_source_can_take_back_is_not_cleared(stories: Stories, name: str) -> None:
    stories.save({"id": 1, "title": "a"})
    assert stories.save({"id": 1, "title": "b", name: CLEARED}) == SaveCounts(rejected=1)
    assert stories.warnings == [f"row 0 was rejected: its {name} cannot be cleared"]
    assert stories.one().title == "a"


def test_a_column_that_has_to_have_a_value_is_not_cleared(stories: Stories, backend: str) -> None:
    stories.save({"id": 1, "title": "a"})
    assert stories.save({"id": 1, "title": CLEARED}) == SaveCounts(rejected=1)
    assert stories.warnings == [f"upsert_stories 1 was rejected: {NO_TITLE[backend]}"]


def test_a_number_that_is_cleared_is_followed(stories: Stories) -> None:
    stories.save({"id": 1, "title": "a", "score": 5.0}, counters=SCORE)
    stories.save({"id": 1, "score": CLEARED}, counters=SCORE)
    with stories.database.reading() as session:
        found = session.scalars(select(MetricSnapshotModel.score).order_by(MetricSnapshotModel.observed_at))
        assert found.all() == [5, None]


def test_defaults_of_the_model_fill_a_new_row(stories: Stories) -> None:
    stories.save({"id": 1, "title": "a"})
    story = stories.one()
    assert (story.is_dead, story.tags) == (False, [])


def test_a_row_tells_when_and_by_whom_it_was_seen_first_and_last(stories: Stories) -> None:
    stories.save({"id": 1, "title": "a"}, execution_id="first")
    first = stories.one()
    stories.save({"id": 1, "title": "a"}, execution_id="second")
    last = stories.one()
    assert (first.execution_id, last.execution_id) == ("first", "second")
    assert last.first_seen_at == first.first_seen_at
    assert last.last_seen_at > first.last_seen_at
    assert last.agent_id == stories.agent.id


@pytest.mark.requirement("PL28")
def test_rows_with_one_key_count_once_and_the_last_wins(stories: Stories) -> None:
    counts = stories.save(
        {"id": 1, "title": "old", "score": 5}, {"id": 2, "title": "b"}, {"id": "1", "title": "new"}
    )
    assert counts == SaveCounts(inserted=2)
    story = stories.all()[0]
    assert (story.title, story.score) == ("new", 5)


def test_a_change_of_a_volatile_column_alone_is_stored_but_no_update(stories: Stories) -> None:
    stories.save({"id": 1, "title": "a", "rank": 1}, volatile=["rank"])
    assert stories.save({"id": 1, "title": "a", "rank": 2}, volatile=["rank"]) == SaveCounts(unchanged=1)
    assert stories.one().rank == 2


def test_a_hash_given_with_the_row_decides_too(stories: Stories) -> None:
    stories.save({"id": 1, "title": "a", "content_hash": "body one"})
    assert stories.save({"id": 1, "title": "a", "content_hash": "body one"}) == SaveCounts(unchanged=1)
    assert stories.save({"id": 1, "title": "a", "content_hash": "body two"}) == SaveCounts(updated=1)


@pytest.mark.requirement("PL30")
def test_a_row_the_database_refuses_is_rejected_and_the_others_are_stored(
    stories: Stories, backend: str
) -> None:
    counts = stories.save(
        {"id": 1, "title": "a"},
        {"id": 2},
        {"id": 3, "title": "c"},
        {"id": 2**80, "title": "too large"},
        {"id": 5, "title": {"not": "text"}},
        {"id": 6, "title": "f", "at": "yesterday"},
        {"id": 7, "title": ["no", "text"]},
    )
    assert counts == SaveCounts(inserted=2, rejected=5)
    assert [s.id for s in stories.all()] == [1, 3]
    told = dict(warning.split(" was rejected: ") for warning in stories.warnings[2:])
    assert told.keys() == {f"upsert_stories {2**80}", "upsert_stories 2", "upsert_stories 6"}
    assert told["upsert_stories 2"] == NO_TITLE[backend]
    assert told["upsert_stories 6"] == "str is not a time; give a datetime"
    assert stories.warnings[:2] == [
        "row 4 was rejected: its title is a dict",
        "row 6 was rejected: its title is a list",
    ]


@pytest.mark.requirement("PL30")
def test_a_row_without_a_usable_key_is_rejected_and_the_others_are_stored(stories: Stories) -> None:
    counts = stories.save(
        {"title": "a"}, {"id": "x1", "title": "b"}, {"id": [1], "title": "c"}, {"id": 4, "title": "d"}
    )
    assert counts == SaveCounts(inserted=1, rejected=3)
    assert stories.warnings == [
        "row 0 was rejected: it has no id",
        "row 1 was rejected: invalid literal for int() with base 10: 'x1'",
        "row 2 was rejected: its id is a list",
    ]


def test_rejected_rows_are_logged_when_nobody_listens(database: Database, agent: AgentModel) -> None:
    with capture_logs() as logs, database.writing() as session:
        upsert(session, StoryModel, [{"project_id": agent.project_id}], key=KEY)
    assert [(told["event"], told["reason"]) for told in logs] == [
        ("row.warned", "row 0 was rejected: it has no id")
    ]


@pytest.mark.requirement("PL31")
def test_what_is_no_json_is_taken_out_and_told(stories: Stories) -> None:
    stories.save({"id": 1, "title": "a\0", "tags": ["x", object()], "raw": {"a": 1, "b": float("inf")}})
    story = stories.one()
    assert (story.title, story.tags, story.raw) == ("a", ["x"], {"a": 1})
    assert stories.warnings == [
        "upsert_stories 1: in tags: 1 was removed: a object is not JSON",
        "upsert_stories 1: in raw: b was removed: inf is not JSON",
    ]


@pytest.mark.requirement("PL42")
def test_two_projects_keep_a_row_each(stories: Stories, database: Database, stranger: AgentModel) -> None:
    theirs = Stories(database, stranger)
    stories.save({"id": 1, "title": "ours"})
    assert theirs.save({"id": 1, "title": "theirs"}) == SaveCounts(inserted=1)
    assert (stories.one().title, theirs.one().title) == ("ours", "theirs")


@pytest.mark.requirement("PL40")
def test_a_value_is_never_read_as_sql(stories: Stories) -> None:
    evil = "'); DROP TABLE upsert_stories; --"
    stories.save({"id": 1, "title": evil})
    assert stories.one().title == evil


rows = st.fixed_dictionaries(
    {"id": st.integers(1, 4), "title": st.sampled_from("ab")},
    optional={
        "score": st.sampled_from([None, CLEARED, 0.0, 1.0, 2.5]),
        "rank": st.sampled_from([None, CLEARED, 0, 1]),
        "tags": st.sampled_from([None, CLEARED, [], ["x"], {"y": 1.0}]),
    },
)


@given(st.lists(st.lists(rows, max_size=6), max_size=5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_any_batches_come_to_what_their_rows_come_to_one_by_one(
    database: Database, batches: list[list[dict[str, object]]]
) -> None:
    with database.writing() as session:
        stories = Stories(database, add_agent(session, add_project(session, new_id()), "a", "test"))
    table: dict[object, dict[str, object]] = {}
    for batch in batches:
        before = dict(table)
        for row in batch:
            blank: dict[str, object] = {"score": None, "rank": None, "tags": []}
            given_values = {
                name: blank[name] if value is CLEARED else value
                for name, value in row.items()
                if value is not None
            }
            table[row["id"]] = {**table.get(row["id"], blank), **given_values}
        ids = {row["id"] for row in batch}
        inserted = len(ids - before.keys())
        updated = sum(key in before and before[key] != table[key] for key in ids)
        assert stories.save(*batch) == SaveCounts(inserted, updated, len(ids) - inserted - updated)
    stored = [
        {"id": s.id, "title": s.title, "score": s.score, "rank": s.rank, "tags": s.tags}
        for s in stories.all()
    ]
    assert stored == [table[key] for key in sorted(table, key=str)]


def test_a_misspelt_column_is_an_error_of_the_mapper(stories: Stories) -> None:
    with pytest.raises(UnknownColumnError, match="no column tittle"):
        stories.save({"id": 1, "tittle": "a"})


def test_a_failing_database_is_an_error_and_no_rejected_row(stories: Stories) -> None:
    with stories.database.writing() as session:
        session.execute(text("ALTER TABLE upsert_stories RENAME TO gone"))
    with pytest.raises(DBAPIError, match=r"no such table|relation .* does not exist"):
        stories.save({"id": 1, "title": "a"})


def test_more_rows_than_a_batch_holds_are_all_stored(stories: Stories) -> None:
    rows: list[dict[str, object]] = [{"id": i, "title": f"t{i}"} for i in range(BATCH_SIZE * 2 + 1)]
    assert stories.save(*rows) == SaveCounts(inserted=len(rows))
    assert stories.save(*rows) == SaveCounts(unchanged=len(rows))


@only_sqlite
def test_stored_rows_are_found_by_index(stories: Stories) -> None:
    target = UpsertTable(StoryModel, KEY, (), "sqlite")
    dialect = stories.database.engine.dialect
    query, arranged = target.stored.compiled(dialect)
    values = arranged(target.wanted([("p", 1), ("p", 2)], dialect))
    with stories.database.reading() as session:
        plan = session.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {query}", values).all()
    assert "SEARCH upsert_stories USING INDEX" in plan[0][3]


def test_rows_survive_the_rejection_of_others_in_a_large_batch(stories: Stories) -> None:
    rows: list[dict[str, object]] = [{"id": i, "title": None if i % 100 == 7 else "t"} for i in range(300)]
    assert stories.save(*rows) == SaveCounts(inserted=297, rejected=3)
    with stories.database.reading() as session:
        assert session.scalar(select(func.count()).select_from(StoryModel)) == 297


def test_a_key_that_the_database_keeps_otherwise_is_an_error_and_no_endless_search(stories: Stories) -> None:
    owner = {"project_id": stories.agent.project_id, "agent_id": stories.agent.id, "execution_id": "e"}
    row = {**owner, "price": Decimal("1.005")}
    with stories.database.writing() as session:
        upsert(session, PriceModel, [row], key=("project_id", "price"))
    with (
        pytest.raises(UnstableKeyError, match=r"return .* with another key \(project_id, price\)"),
        stories.database.writing() as session,
    ):
        upsert(session, PriceModel, [row], key=("project_id", "price"))
