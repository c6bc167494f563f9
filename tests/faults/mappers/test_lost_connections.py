"""A connection to PostgreSQL may break at any moment: all is kept or nothing, and the next call works."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session
from tests.databases import TEST, only_postgresql
from tests.postgres import PostgresServer

from agentic.mappers import Database, DatabaseUnavailableError, add_project, list_projects
from agentic.mappers.checkpoints.statements import NEWEST_REVISION
from agentic.mappers.database.database import hot_transaction
from agentic.mappers.database.savepoints import hot_savepoint

pytestmark = [pytest.mark.faults, pytest.mark.integration, only_postgresql]

Interrupt = Callable[[], None]
Open = Callable[[Database], AbstractContextManager[Session]]


@pytest.fixture
def database(migrated_database: Database) -> Database:
    return migrated_database


@pytest.fixture(params=["cut off", "server restarted"])
def interrupt(request: pytest.FixtureRequest, postgres: PostgresServer) -> Interrupt:
    """Break every connection; the server takes new ones afterwards."""

    def restart() -> None:
        postgres.stop()
        postgres.start()

    return restart if request.param == "server restarted" else lambda: postgres.cut_off(TEST)


def names(database: Database) -> list[str]:
    with database.reading() as session:
        return [project.name for project in list_projects(session)]


def add(database: Database, name: str) -> None:
    with database.writing() as session:
        add_project(session, name)


@pytest.mark.parametrize("opened", [Database.writing, Database.joined], ids=["writing", "joined"])
def test_a_transaction_that_loses_its_connection_leaves_nothing(
    database: Database, interrupt: Interrupt, opened: Open
) -> None:
    with pytest.raises(DatabaseUnavailableError) as caught, opened(database) as session:  # noqa: PT012
        add_project(session, "lost")
        if opened is Database.joined:
            session.commit()  # the end of a part
        interrupt()
    assert caught.value.exit_code == 3
    assert names(database) == []
    add(database, "kept")
    assert names(database) == ["kept"]


@pytest.mark.parametrize("starts_hot", [False, True], ids=["sessions", "compiled statements"])
def test_a_part_that_loses_its_connection_says_so_whatever_it_does_next(
    database: Database, interrupt: Interrupt, *, starts_hot: bool
) -> None:
    with pytest.raises(DatabaseUnavailableError), database.joined(starts_hot=starts_hot) as session:  # noqa: PT012
        with hot_savepoint(session) as cursor:
            cursor.number(NEWEST_REVISION, {"project_id": "p", "run_id": "r"})
        interrupt()
        try:
            with hot_savepoint(session) as cursor:
                cursor.number(NEWEST_REVISION, {"project_id": "p", "run_id": "r"})
        except OperationalError:
            session.rollback()
            raise
    assert names(database) == []


def test_who_reads_is_told_that_the_database_went_away(database: Database, interrupt: Interrupt) -> None:
    with pytest.raises(DatabaseUnavailableError), database.reading() as session:  # noqa: PT012
        interrupt()
        list_projects(session)


def test_a_connection_that_broke_while_nobody_used_it_is_replaced(
    database: Database, interrupt: Interrupt
) -> None:
    add(database, "before")
    interrupt()
    add(database, "after")
    with hot_transaction(database) as cursor:
        assert cursor.number(NEWEST_REVISION, {"project_id": "p", "run_id": "r"}) == 0
    assert names(database) == ["after", "before"]


def test_a_broken_connection_is_one_error_and_nothing_else_is_logged(
    database: Database, interrupt: Interrupt, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(OperationalError), hot_transaction(database) as cursor:  # noqa: PT012
        interrupt()
        cursor.number(NEWEST_REVISION, {"project_id": "p", "run_id": "r"})
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert names(database) == []
