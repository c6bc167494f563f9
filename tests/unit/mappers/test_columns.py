from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import ClauseElement, create_mock_engine, select
from sqlalchemy.exc import StatementError

from agentic.mappers import Base, Database, ProjectModel, new_id
from agentic.mappers.tables import audit, ledger  # noqa: F401 - they have such indexes
from agentic.mappers.tables.columns import StoreNow


def test_a_time_of_any_zone_comes_back_in_utc(database: Database) -> None:
    noon_in_tokyo = datetime(2026, 5, 1, 12, tzinfo=timezone(timedelta(hours=9)))
    with database.writing() as session:
        session.add(ProjectModel(name="p", created_at=noon_in_tokyo))
    with database.reading() as session:
        stored = session.scalars(select(ProjectModel.created_at)).one()
    assert stored == noon_in_tokyo
    assert stored.tzinfo is UTC


def test_a_time_without_a_zone_is_refused(database: Database) -> None:
    with pytest.raises(StatementError, match="has no time zone"), database.writing() as session:
        session.add(ProjectModel(name="p", created_at=datetime(2026, 5, 1)))  # noqa: DTZ001 - the point


def test_the_clock_of_the_database_is_aware_and_takes_an_offset(database: Database) -> None:
    with database.reading() as session:
        now, later = session.execute(select(StoreNow(), StoreNow(90))).one()
    assert abs(datetime.now(UTC) - now) < timedelta(seconds=30)
    assert later - now == timedelta(seconds=90)


def test_times_of_the_clock_compare_with_stored_times(database: Database) -> None:
    with database.writing() as session:
        session.add(ProjectModel(name="past", created_at=datetime.now(UTC) - timedelta(seconds=5)))
        session.add(ProjectModel(name="future", created_at=datetime.now(UTC) + timedelta(minutes=5)))
    with database.reading() as session:
        names = session.scalars(select(ProjectModel.name).where(ProjectModel.created_at < StoreNow())).all()
    assert names == ["past"]


def test_ids_are_hexadecimal_and_never_repeat() -> None:
    ids = {new_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert all(len(bytes.fromhex(one)) == 16 for one in ids)


@pytest.mark.parametrize("url", ["sqlite://", "postgresql+psycopg://"])
def test_an_index_of_some_rows_has_its_condition_on_each_database(url: str) -> None:
    made: list[str] = []

    def keep(statement: ClauseElement, *_: object, **__: object) -> None:
        made.append(str(statement.compile(dialect=engine.dialect)))

    engine = create_mock_engine(url, keep)
    Base.metadata.create_all(engine, checkfirst=False)
    index = next(one for one in made if "ix_audit_unpublished" in one)
    assert index.endswith("ON audit (project_id, number) WHERE published_at IS NULL")
