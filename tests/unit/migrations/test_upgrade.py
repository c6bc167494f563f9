from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import inspect, text
from sqlalchemy.orm import Mapped, mapped_column
from tests.databases import core_revisions, only_sqlite

from agentic.core.hooks import PluginRegistry, get_registry
from agentic.mappers import (
    Base,
    Database,
    DatabaseNewerError,
    DatabaseNotMigratedError,
    DatabaseUnavailableError,
    MigrationError,
    SourceColumns,
    add_project,
)
from agentic.mappers.database.engine import begun, make_engine, parse_url, sqlite_path
from agentic.migrations import SchemaState, differences, require_current, schema_status, upgrade
from agentic.migrations.histories import History, histories
from agentic.migrations.revisions import read_revisions

CORE = [("core", revision) for revision in core_revisions()]

Migrate = Callable[..., PluginRegistry]

CREATE_NOTES = 'op.create_table("notes", sa.Column("id", sa.Integer(), primary_key=True))'


class ReminderModel(SourceColumns, Base):
    __tablename__ = "reminders"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)


def tables(database: Database) -> set[str]:
    with database.reading() as session:
        return set(inspect(session.connection()).get_table_names())


def downgrade(url: str, history: History, to: str = "base") -> None:
    """Take a history down, whole by default; no command offers it, but every migration can be taken back."""
    engine = make_engine(parse_url(url), foreign_keys=False)
    with begun(engine, "IMMEDIATE") as connection:
        command.downgrade(history.config({"connection": connection}), to)
        connection.commit()
    engine.dispose()


def run(database: Database, statement: str) -> None:
    with database.writing() as session:
        session.execute(text(statement))


def ask(database: Database, question: str) -> list[object]:
    with database.reading() as session:
        return list(session.scalars(text(question)))


@pytest.mark.requirement("BR10")
def test_a_new_database_gets_every_table(url: str, database: Database, registry: PluginRegistry) -> None:
    applied = upgrade(url, registry)
    assert [(step.history, step.revision) for step in applied] == CORE
    assert applied[0].description.startswith("Projects, agents, executions")
    assert {"projects", "agents", "executions", "agent_results", "frontier", "run_checkpoints"} <= tables(
        database
    )
    require_current(database, registry)


def test_upgrade_of_every_installed_platform_prints_nothing(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {step.history for step in upgrade(url)} > {"core"}
    assert capsys.readouterr() == ("", "")


def test_upgrading_again_does_nothing(url: str, registry: PluginRegistry) -> None:
    upgrade(url, registry)
    assert upgrade(url, registry) == []


@pytest.mark.requirement("BR10")
def test_the_tables_of_every_installed_platform_agree_with_its_models(url: str, database: Database) -> None:
    upgrade(url, get_registry())
    assert differences(database, get_registry()) == []


def test_the_tables_can_be_taken_down_and_built_again(
    url: str, database: Database, registry: PluginRegistry
) -> None:
    upgrade(url, registry)
    downgrade(url, histories(registry)[0])
    assert tables(database) == {"agentic_version"}
    upgrade(url, registry)
    assert differences(database, registry) == []


@only_sqlite
def test_a_database_that_does_not_exist_is_not_current_and_not_made(
    database: Database, registry: PluginRegistry, tmp_path: Path
) -> None:
    with pytest.raises(DatabaseNotMigratedError, match="change to the folder of your project"):
        require_current(database, registry)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_database_is_not_current(url: str, database: Database, registry: PluginRegistry) -> None:
    if path := sqlite_path(parse_url(url)):
        path.parent.mkdir()
        path.touch()
    with pytest.raises(DatabaseNotMigratedError, match="does not exist or is empty"):
        require_current(database, registry)


def test_a_database_of_an_older_version_names_both_revisions(
    url: str, database: Database, migrate_platform: Migrate
) -> None:
    upgrade(url, migrate_platform(CREATE_NOTES))
    newer = migrate_platform(CREATE_NOTES, 'op.add_column("notes", sa.Column("text", sa.Text()))')
    with pytest.raises(DatabaseNotMigratedError, match="notes is at n1 and should be at n2"):
        require_current(database, newer)
    assert [step.revision for step in upgrade(url, newer)] == ["n2"]
    require_current(database, newer)


def test_a_database_of_a_newer_version_is_refused_and_left_alone(
    url: str, database: Database, registry: PluginRegistry
) -> None:
    upgrade(url, registry)
    run(database, "UPDATE agentic_version SET version_num = '9999'")
    for call in (lambda: require_current(database, registry), lambda: upgrade(url, registry)):
        with pytest.raises(DatabaseNewerError, match=r"core revision '9999'.*upgrade agentic-pipelines"):
            call()


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path, registry: PluginRegistry) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DatabaseUnavailableError, match="its folder cannot be created"):
        upgrade(f"sqlite:///{tmp_path / 'file' / 'data.db'}", registry)


def test_each_platform_has_a_history_of_its_own(
    url: str, database: Database, migrate_platform: Migrate
) -> None:
    with_notes = migrate_platform(CREATE_NOTES)
    assert [(step.history, step.revision) for step in upgrade(url, with_notes)] == [*CORE, ("notes", "n1")]
    assert {"notes", "agentic_version", "agentic_version_notes"} <= tables(database)


def test_an_uninstalled_platform_stands_in_nobodys_way(
    url: str, database: Database, registry: PluginRegistry, migrate_platform: Migrate
) -> None:
    upgrade(url, migrate_platform(CREATE_NOTES))
    require_current(database, registry)
    assert upgrade(url, registry) == []
    assert "notes" in tables(database)


def test_a_platform_installed_later_has_no_tables_yet(
    url: str, database: Database, registry: PluginRegistry, migrate_platform: Migrate
) -> None:
    upgrade(url, registry)
    status = schema_status(database, migrate_platform(CREATE_NOTES))
    assert [(one.history, one.state) for one in status] == [
        ("core", SchemaState.CURRENT),
        ("notes", SchemaState.EMPTY),
    ]


def test_a_migration_that_fails_leaves_nothing_of_itself(
    url: str, database: Database, migrate_platform: Migrate
) -> None:
    broken = migrate_platform(CREATE_NOTES, 'raise RuntimeError("no more")')
    with pytest.raises(MigrationError, match=r"migrations of 'notes' failed.*RuntimeError: no more"):
        upgrade(url, broken)
    assert "projects" in tables(database)
    assert not {"notes", "agentic_version_notes"} & tables(database)


def test_a_migration_that_cannot_be_loaded_names_its_platform(
    url: str, database: Database, migrate_platform: Migrate
) -> None:
    with pytest.raises(MigrationError, match=r"'notes' failed.*SyntaxError"):
        upgrade(url, migrate_platform("this is no python"))


@pytest.mark.parametrize(
    ("plain", "other"),
    [
        ('revision = "n1"', 'revision = "n" + str(1)'),
        ("def upgrade", "from functools import cache\n\n\n@cache\ndef upgrade"),
        ("revision = ", "def follows():\n    return None\n\n\nrevision = "),
    ],
)
def test_a_migration_that_says_what_it_is_another_way_is_asked_through_alembic(
    url: str, database: Database, migrate_platform: Migrate, tmp_path: Path, plain: str, other: str
) -> None:
    unusual = migrate_platform(CREATE_NOTES)
    [file] = (tmp_path / "notes_migrations" / "versions").glob("*.py")
    assert plain in file.read_text()
    file.write_text(file.read_text().replace(plain, other, 1))
    with pytest.raises((ValueError, SyntaxError)):
        read_revisions(file.parent)
    upgrade(url, unusual)
    require_current(database, unusual)
    assert "notes" in tables(database)


def test_a_platform_without_the_folder_it_names_is_a_clear_error(
    url: str, migrate_platform: Migrate, tmp_path: Path
) -> None:
    missing = migrate_platform()
    shutil.rmtree(tmp_path / "notes_migrations" / "versions")
    with pytest.raises(MigrationError, match="'notes_migrations' is not a package with a folder `versions`"):
        upgrade(url, missing)


@only_sqlite
def test_changing_a_table_on_sqlite_keeps_the_rows_that_refer_to_it(
    url: str, database: Database, registry: PluginRegistry, migrate_platform: Migrate
) -> None:
    upgrade(url, registry)
    with database.writing() as session:
        session.execute(
            text(
                "INSERT INTO agents (id, project_id, agent_name, agent_platform, config, created_at)"
                " VALUES ('a', :project, 'n', 'p', '{}', '2026-01-01')"
            ),
            {"project": add_project(session, "ours").id},
        )
    change = """
        with op.batch_alter_table("projects") as batch:
            batch.alter_column("name", type_=sa.String(300), existing_nullable=False)
    """
    upgrade(url, migrate_platform(change))
    assert ask(database, "SELECT agent_name FROM agents") == ["n"]
    assert ask(database, "PRAGMA foreign_key_check") == []


def test_rules_about_drift_become_rules_about_fewer_rows(
    url: str, database: Database, registry: PluginRegistry
) -> None:
    upgrade(url, registry)
    with database.writing() as session:
        columns = "id, project_id, name, events, channel, target, digest_s, max_per_hour, created_at"
        values = "'r', :project, 'ops', 'failed fewer', 'email', 'a@b.c', 0, 9, '2026-01-01'"
        insert = text(f"INSERT INTO notification_rules ({columns}) VALUES ({values})")
        session.execute(insert, {"project": add_project(session, "ours").id})
    rules = "SELECT events FROM notification_rules"
    downgrade(url, histories(registry)[0], "0028")
    assert ask(database, rules) == ["failed drift"]
    upgrade(url, registry)
    assert ask(database, rules) == ["failed fewer"]


def test_a_table_without_its_migration_is_told(
    url: str, database: Database, migrate_platform: Migrate
) -> None:
    forgetful = migrate_platform(CREATE_NOTES, models=[ReminderModel])
    upgrade(url, forgetful)
    assert differences(database, forgetful) == ["add table reminders"]


def test_a_column_without_its_migration_is_told(
    url: str, database: Database, registry: PluginRegistry
) -> None:
    upgrade(url, registry)
    run(database, "ALTER TABLE executions DROP COLUMN worker")
    assert differences(database, registry) == ["add column executions.worker"]
