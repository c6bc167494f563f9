from __future__ import annotations

import pytest

from agentic.mappers import AgentModel, Base, Database, ProjectModel, add_agent, add_project


@pytest.fixture
def database(migrated_database: Database) -> Database:
    """A database with the tables of the core and of the tests."""
    Base.metadata.create_all(migrated_database.engine)
    return migrated_database


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
