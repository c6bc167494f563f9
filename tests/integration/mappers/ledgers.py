"""Ledgers for tests, each of a project of its own: all share a database with the rows of those before."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.databases import MIGRATED, POSTGRESQL

from agentic.mappers import Database, add_project
from agentic.mappers.ledger.ledger import SqlLedger

if TYPE_CHECKING:
    from tests.postgres import PostgresServer

MakeLedger = Callable[[int | None], SqlLedger]
"""Given how many activations may run at a time in the project, makes an empty ledger."""

_number = count()


@pytest.fixture(scope="module", params=["sqlite", POSTGRESQL])
def shared_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database for all tests of a module."""
    if request.param == "sqlite":
        migrated: Path = request.getfixturevalue("migrated_file")
        yield f"sqlite:///{shutil.copy(migrated, tmp_path_factory.mktemp('shared') / 'data.db')}"
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    yield server.create("shared", MIGRATED)
    server.drop("shared")


@pytest.fixture
def make_ledger(shared_url: str) -> Iterator[MakeLedger]:
    """Return a function that makes a ledger."""
    made: list[SqlLedger] = []

    def make(max_running: int | None) -> SqlLedger:
        database = Database(shared_url)
        with database.writing() as session:
            project = add_project(session, f"project {next(_number)}")
            project.max_running = max_running
            project_id = project.id
        made.append(SqlLedger(database, project_id=project_id))
        return made[-1]

    yield make
    for ledger in made:
        ledger.close()
