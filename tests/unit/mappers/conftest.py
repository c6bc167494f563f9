from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.databases import MIGRATED, TEST
from tests.postgres import PostgresServer

from agentic.mappers import AgentModel, Base, Database, ProjectModel, add_agent, add_project

WITH_OURS = "with ours"

AddTables = Callable[[str], None]


@pytest.fixture(scope="session")
def add_tables() -> AddTables:
    """Return a function that adds the tables of the tests, which takes ten times as long as a copy."""

    def add(url: str) -> None:
        database = Database(url)
        Base.metadata.create_all(database.engine)
        database.dispose()

    return add


@pytest.fixture(scope="session")
def whole_file(migrated_file: Path, tmp_path_factory: pytest.TempPathFactory, add_tables: AddTables) -> Path:
    """A SQLite file with the tables of the core and of the tests, to be copied."""
    path = Path(shutil.copy(migrated_file, tmp_path_factory.mktemp("ours") / "data.db"))
    add_tables(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def whole_postgres(postgres: PostgresServer, add_tables: AddTables) -> PostgresServer:
    """The server of all tests, with a database that has these tables, to be copied."""
    add_tables(postgres.create(WITH_OURS, MIGRATED))
    return postgres


@pytest.fixture
def whole_url(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """A database with the tables of the core and of the tests, and no row."""
    if backend == "sqlite":
        yield f"sqlite:///{shutil.copy(request.getfixturevalue('whole_file'), tmp_path / 'data.db')}"
        return
    server: PostgresServer = request.getfixturevalue("whole_postgres")
    yield server.create(TEST, WITH_OURS)
    server.drop(TEST)


@pytest.fixture
def database(whole_url: str) -> Iterator[Database]:
    """The object for :func:`whole_url`."""
    database = Database(whole_url)
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
