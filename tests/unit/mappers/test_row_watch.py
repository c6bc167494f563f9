"""New and changed rows, noted for the rules that wait for them, while they are stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import pytest
from sqlalchemy import JSON, select
from sqlalchemy.orm import Mapped, mapped_column
from tests.unit.mappers.test_notifications import facts

from agentic.mappers import (
    AgentModel,
    Base,
    Database,
    ProjectModel,
    ResultMapper,
    SourceColumns,
    create_execution,
)
from agentic.mappers.notifications.row_watch import MAX_CHARS, MAX_SAMPLES, take_notes
from agentic.mappers.notifications.rules import put_rule, remove_rule
from agentic.mappers.tables.notifications import NotificationRuleModel, RowNoteModel

Rows = list[dict[str, object]]


class WareModel(SourceColumns, Base):
    __tablename__ = "watched_wares"

    id: Mapped[str] = mapped_column(primary_key=True)
    title: Mapped[str | None]
    price: Mapped[float | None]


class WareItemModel(SourceColumns, Base):
    __tablename__ = "watched_items"

    key: Mapped[str] = mapped_column(primary_key=True)
    data: Mapped[dict[str, object]] = mapped_column(JSON)


class WareMapper(ResultMapper):
    def save_results(self, results: Mapping[str, object]) -> bool:
        self.save_rows(WareModel, cast("Rows", results.get("wares", [])))
        self.save_rows(WareItemModel, cast("Rows", results.get("items", [])))
        return True


class Shop:
    """Stores wares, each time in an execution of its own."""

    def __init__(self, database: Database, project: ProjectModel, agent: AgentModel) -> None:
        self.database, self.project, self.agent = database, project, agent
        self.warnings: list[str] = []

    def add_rule(self, name: str = "ops", **changed: object) -> NotificationRuleModel:
        with self.database.writing() as session:
            return put_rule(session, self.project, name, facts(**{"events": "new changed", **changed}))

    def store(self, *batches: Rows, items: Rows | None = None) -> list[RowNoteModel]:
        """Store batches of wares, a transaction each; return and remove the notes of them."""
        with self.database.writing() as session:
            execution_id = create_execution(session, self.agent).id
        for batch in batches or ([],):
            with self.database.joined(starts_hot=True) as session:
                mapper = WareMapper(session, execution_id, self.agent)
                mapper.save_results({"wares": batch, "items": items or []})
                self.warnings += mapper.warnings
        with self.database.writing() as session:
            return [*take_notes(session, self.project.id, execution_id)]


@pytest.fixture
def shop(database: Database, project: ProjectModel, agent: AgentModel) -> Shop:
    return Shop(database, project, agent)


def ware(number: int, price: float = 10.0, title: str = "lamp") -> dict[str, object]:
    return {"id": f"w{number}", "title": title, "price": price}


def counted(notes: list[RowNoteModel]) -> list[tuple[str, int, int]]:
    return [(note.table_name, note.new_count, note.changed_count) for note in notes]


def test_nothing_is_noted_without_a_rule(shop: Shop) -> None:
    shop.add_rule("status", events="failed drift")
    assert shop.store([ware(1)]) == []


def test_new_and_changed_rows_are_noted_with_what_they_were(shop: Shop) -> None:
    shop.store([ware(1), ware(2)])
    shop.add_rule()
    [note] = shop.store([ware(1), ware(2, 8.0), ware(3)])
    assert counted([note]) == [("watched_wares", 1, 1)]
    assert sorted(note.samples, key=str) == [
        {"kind": "changed", "row": {"id": "w2", "title": "lamp", "price": 8.0}, "before": {"price": 10.0}},
        {"kind": "new", "row": {"id": "w3", "title": "lamp", "price": 10.0}},
    ]


def test_the_rows_of_each_commit_are_noted(shop: Shop) -> None:
    shop.add_rule()
    assert counted(shop.store([ware(1), ware(2)], [ware(2), ware(3)], [ware(1)])) == [
        ("watched_wares", 2, 0),
        ("watched_wares", 1, 0),
    ]


@pytest.mark.parametrize(
    ("row_filter", "found"),
    [
        ("price < `10`", (1, 1)),
        ("_before && price < _before.price", (0, 1)),
        ("!_before", (2, 0)),
        ("starts_with(title, 'so')", (1, 0)),
        ("none", (0, 0)),
    ],
)
def test_a_filter_sees_the_row_and_what_it_was(shop: Shop, row_filter: str, found: tuple[int, int]) -> None:
    shop.store([ware(1), ware(2)])
    shop.add_rule(row_filter=row_filter)
    notes = shop.store([ware(1, 8.0), ware(2, 11.0), ware(3, 5.0), ware(4, 20.0, "sofa")])
    assert (sum(note.new_count for note in notes), sum(note.changed_count for note in notes)) == found


def test_a_filter_that_fails_is_a_warning_and_stops_nothing(shop: Shop) -> None:
    shop.add_rule(row_filter="starts_with(price, 'x')")
    assert shop.store([ware(1), ware(2)]) == []
    [warning] = shop.warnings
    assert warning.startswith(
        "the filter of notification 'ops' cannot be applied to a row of watched_wares: "
    )


def test_an_item_has_the_fields_of_its_data(shop: Shop) -> None:
    shop.add_rule(row_filter="price < `5`")
    items: Rows = [{"key": "a", "data": {"price": 4, "tags": ["x"]}}, {"key": "b", "data": {"price": 6}}]
    [note] = shop.store(items=items)
    assert (counted([note]), note.samples) == (
        [("watched_items", 1, 0)],
        [{"kind": "new", "row": {"price": 4, "tags": '["x"]'}}],
    )


def test_each_rule_counts_for_itself(shop: Shop) -> None:
    cheap = shop.add_rule("cheap", row_filter="price < `5`")
    every = shop.add_rule("every")
    other = shop.add_rule("other", table_name="watched_items")
    notes = {note.rule_id: note for note in shop.store([ware(1, 1.0), ware(2)])}
    assert {rule_id: note.new_count for rule_id, note in notes.items()} == {cheap.id: 1, every.id: 2}
    assert other.id not in notes


def test_many_rows_leave_a_few_samples_and_long_texts_are_cut(shop: Shop) -> None:
    shop.add_rule()
    [note] = shop.store([ware(number, title="x" * 5_000) for number in range(700)])
    assert (note.new_count, len(note.samples)) == (700, MAX_SAMPLES)
    [sample, *_] = note.samples
    assert isinstance(sample, dict)
    assert isinstance(sample["row"], dict)
    assert len(str(sample["row"]["title"])) == MAX_CHARS + 1


def test_a_refused_row_is_not_noted(shop: Shop) -> None:
    shop.add_rule()
    # PostgreSQL refuses the number when it is written, SQLite as a column that is not null.
    rows: Rows = [ware(1), {"id": "w2", "title": "x", "price": "not a number"}, ware(3)]
    notes = shop.store(rows)
    with shop.database.reading() as session:
        stored = session.scalars(select(WareModel.id)).all()
    assert sum(note.new_count for note in notes) == len(stored)


def test_a_rule_that_is_removed_meanwhile_stops_no_crawl(shop: Shop) -> None:
    shop.add_rule()
    with shop.database.writing() as session:
        execution_id = create_execution(session, shop.agent).id
    with shop.database.joined(starts_hot=True) as session:
        mapper = WareMapper(session, execution_id, shop.agent)
        mapper.save_results({"wares": [ware(1)]})
        remove_rule(session, shop.project, "ops")
        mapper.save_results({"wares": [ware(2)]})
    with shop.database.writing() as session:
        assert len(take_notes(session, shop.project.id, execution_id)) == 2
