from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from sqlalchemy import func, select, text, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from structlog.testing import capture_logs
from tests.databases import only_sqlite

from agentic.core.errors import AgenticError
from agentic.core.settings import load_settings
from agentic.mappers import (
    AgentModel,
    Database,
    DatabaseUnavailableError,
    DatabaseUrlError,
    ProjectModel,
)


def names(database: Database) -> list[str]:
    with database.reading() as session:
        return list(session.scalars(select(ProjectModel.name).order_by(ProjectModel.name)))


def put(session: Session, name: str) -> None:
    session.add(ProjectModel(name=name))
    session.flush()


def put_commit_and_raise(opened: AbstractContextManager[Session], name: str) -> None:
    with opened as session:
        put(session, name)
        session.commit()
        raise RuntimeError


def put_twice(opened: AbstractContextManager[Session], name: str) -> None:
    with opened as session:
        put(session, name)
        put(session, name)


@pytest.mark.requirement("PL29", "PL32")
def test_writing_keeps_everything_at_the_end(database: Database) -> None:
    with database.writing() as session:
        put(session, "a")
        put(session, "b")
    assert names(database) == ["a", "b"]


@pytest.mark.requirement("PL29")
def test_writing_keeps_nothing_when_the_block_raises(database: Database) -> None:
    with pytest.raises(IntegrityError):
        put_twice(database.writing(), "a")
    assert names(database) == []


def test_a_rollback_while_writing_undoes_only_what_came_before(database: Database) -> None:
    with database.writing() as session:
        put(session, "a")
        session.rollback()
        put(session, "b")
    assert names(database) == ["b"]


@pytest.mark.requirement("PL23")
def test_an_error_of_the_database_is_rolled_back_and_logged(database: Database, backend: str) -> None:
    with capture_logs() as logs, pytest.raises(IntegrityError):
        put_twice(database.writing(), "a")
    assert names(database) == []
    (told,) = logs
    reason = {
        "sqlite": "UNIQUE constraint failed: projects.name",
        "postgresql": 'duplicate key value violates unique constraint "uq_projects_name"',
    }
    assert (told["event"], told["reason"]) == ("transaction.rolled_back", reason[backend])


def test_reading_sees_one_state_whatever_is_written_meanwhile(database: Database) -> None:
    seen = select(func.count()).select_from(ProjectModel)
    with database.reading() as session:
        before = session.scalar(seen)
        with database.writing() as other:
            put(other, "a")
        assert session.scalar(seen) == before == 0
    assert names(database) == ["a"]


def test_reading_keeps_no_change(database: Database) -> None:
    with database.reading() as session:
        put(session, "a")
        session.commit()
    assert names(database) == []


def test_objects_stay_usable_after_their_session(database: Database, agent: AgentModel) -> None:
    assert (agent.agent_name, agent.project.name) == ("watcher", "ours")


@pytest.mark.requirement("PL29")
def test_a_joined_commit_is_kept_only_with_the_whole_block(database: Database) -> None:
    with pytest.raises(RuntimeError):
        put_commit_and_raise(database.joined(), "a")
    assert names(database) == []


def test_a_joined_rollback_touches_only_the_part_since_the_last_commit(database: Database) -> None:
    with database.joined() as session:
        put(session, "before")
        session.commit()
        put(session, "foreign")
        session.rollback()
        put(session, "after")
    assert names(database) == ["after", "before"]


def test_what_a_joined_block_left_open_is_kept(database: Database) -> None:
    with database.joined() as session:
        session.add(ProjectModel(name="a"))
    assert names(database) == ["a"]


def test_savepoints_really_roll_back(database: Database) -> None:
    with database.writing() as session:
        put(session, "a")
        with session.begin_nested() as savepoint:
            put(session, "b")
            savepoint.rollback()
    assert names(database) == ["a"]


def test_foreign_keys_are_enforced(database: Database) -> None:
    with pytest.raises(IntegrityError, match=r"(?i)foreign key"), database.writing() as session:
        session.add(AgentModel(project_id="nobody", agent_name="a", agent_platform="p"))


def test_a_prefix_finds_nothing_that_differs_in_case(database: Database) -> None:
    with database.writing() as session:
        put(session, "Run/1")
        put(session, "run/1")
    with database.reading() as session:
        found = session.scalars(
            select(ProjectModel.name).where(ProjectModel.name.startswith("run/", autoescape=True))
        ).all()
    assert found == ["run/1"]


@only_sqlite
def test_sqlite_runs_in_write_ahead_mode(database: Database) -> None:
    with database.reading() as session:
        pragmas = [session.scalar(text(f"PRAGMA {name}")) for name in ("journal_mode", "synchronous")]
    assert pragmas == ["wal", 1]


@pytest.mark.parametrize(("said", "pragma"), [({}, 2), ({"sqlite_synchronous": "normal"}, 1)])
def test_sqlite_waits_for_the_disk_at_each_commit_unless_the_settings_say_otherwise(
    migrated_file: Path, said: dict[str, str], pragma: int
) -> None:
    configured = Database.configured(load_settings(database_url=f"sqlite:///{migrated_file}", **said))
    with configured.reading() as session:
        assert session.scalar(text("PRAGMA synchronous")) == pragma
    configured.dispose()


def test_writers_that_lock_what_they_read_lose_no_update(database: Database, project: ProjectModel) -> None:
    def lengthen() -> None:
        for _ in range(20):
            with database.writing() as session:
                name = session.scalars(select(ProjectModel.name).with_for_update()).one()
                session.execute(update(ProjectModel).values(name=f"{name}x"))

    threads = [threading.Thread(target=lengthen) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert names(database) == [project.name + "x" * 80]


def test_a_missing_file_is_not_made_by_looking(tmp_path: Path) -> None:
    path = tmp_path / "none.db"
    with (
        pytest.raises(DatabaseUnavailableError, match="agentic db upgrade"),
        Database(f"sqlite:///{path}").reading(),
    ):
        pass
    assert not path.exists()


def test_a_file_that_is_no_database_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "text.db"
    path.write_text("no database at all, " * 100)
    reading = Database(f"sqlite:///{path}").reading()
    with pytest.raises(DatabaseUnavailableError, match="file is not a database") as caught, reading:
        pass
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "is not a database URL"),
        ("hunter2", "is not a database URL"),
        ("mysql://me:hunter2@host/db", "'mysql' is not a supported database"),
        ("postgresql+psycopg2://me:hunter2@host/db", "psycopg2"),
        ("sqlite+aiosqlite:///x.db", "aiosqlite"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_its_password(url: str, says: str) -> None:
    with pytest.raises(DatabaseUrlError, match=says) as caught:
        Database(url)
    assert "hunter2" not in str(caught.value)
    assert isinstance(caught.value, AgenticError)


def test_a_database_can_be_used_again_after_it_was_disposed(
    database: Database, project: ProjectModel
) -> None:
    database.dispose()
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(ProjectModel)) == 1
