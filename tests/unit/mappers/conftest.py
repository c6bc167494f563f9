from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentic.mappers import AgentModel, Base, Database, ProjectModel, add_agent, add_project


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'data.db'}"


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    database = Database(url)
    Base.metadata.create_all(database.engine)
    yield database
    database.dispose()


@pytest.fixture
def project(database: Database) -> ProjectModel:
    with database.writing() as session:
        return add_project(session, "ours")


@pytest.fixture
def agent(database: Database, project: ProjectModel) -> AgentModel:
    with database.writing() as session:
        return add_agent(session, project, "watcher", "test")


@pytest.fixture
def stranger(database: Database) -> AgentModel:
    """An agent of another project, with the same name."""
    with database.writing() as session:
        return add_agent(session, add_project(session, "theirs"), "watcher", "test")
