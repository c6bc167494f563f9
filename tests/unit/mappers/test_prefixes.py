"""Texts by how they begin: the same rows as LIKE gives, but by an index."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, insert, select

from agentic.core.pipeline.repairs.requests import RepairRequest
from agentic.executors.agents.catalog import find_by_prefix
from agentic.mappers import (
    Database,
    ProjectModel,
    UnknownExecutionError,
    add_agent,
    add_project,
    create_execution,
)
from agentic.mappers.catalog.repairs import UnknownRepairError, find_repair, store_repair
from agentic.mappers.database.prefixes import begins_with, is_within

IDS = st.text(alphabet="09afz/-_%A:é", min_size=1, max_size=5)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(IDS, min_size=1, max_size=12, unique=True), IDS)
def test_the_same_rows_are_found_as_python_finds(database: Database, names: list[str], prefix: str) -> None:
    with database.writing() as session:
        session.execute(delete(ProjectModel))
        session.execute(insert(ProjectModel), [{"name": name} for name in names])
    with database.reading() as session:
        begun = session.scalars(select(ProjectModel.name).where(begins_with(ProjectModel.name, prefix))).all()
        inside = session.scalars(select(ProjectModel.name).where(is_within(ProjectModel.name, prefix))).all()
    # LIKE disregards the case of ASCII letters on SQLite, where the range does not bind it.
    is_sqlite = database.engine.dialect.name == "sqlite"
    fold = str.lower if is_sqlite else str
    assert {name for name in names if name.startswith(prefix)} <= set(begun)
    assert set(begun) <= {name for name in names if fold(name).startswith(fold(prefix))}
    assert set(inside) >= {name for name in names if name.startswith(f"{prefix}/")}


@pytest.mark.parametrize("prefix", ["3f", "3f9", "abc/", "one-", "x9"])
def test_a_usual_prefix_is_a_range(prefix: str) -> None:
    assert " < " in str(begins_with(ProjectModel.name, prefix))


def test_a_prefix_that_was_left_empty_begins_nothing(database: Database) -> None:
    with database.writing() as session:
        project = add_project(session, "one")
        agent = add_agent(session, project, "a", "web", {})
        create_execution(session, agent)
        store_repair(session, agent, "r", RepairRequest())
        with pytest.raises(UnknownExecutionError):
            find_by_prefix(session, project, "")
        with pytest.raises(UnknownRepairError, match="no repair begins with ''"):
            find_repair(session, project.id, "")
