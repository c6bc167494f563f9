from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs
from tests.databases import core_revisions
from typer.testing import CliRunner

from agentic.mappers import Database, DatabaseNotMigratedError, DatabaseUrlError, SchemaDriftError
from agentic.migrations import plugin
from agentic.migrations.commands import db


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENTIC_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("AGENTIC_DATABASE_URL", raising=False)
    return tmp_path / "home"


@pytest.fixture
def cli() -> CliRunner:
    return CliRunner()


def test_upgrade_makes_the_database_and_says_what_it_applied(cli: CliRunner, home: Path) -> None:
    result = cli.invoke(db, ["upgrade"])
    assert result.exit_code == 0
    assert "0001" in result.stdout
    assert (home / "agentic.db").is_file()
    assert "Nothing to do" in cli.invoke(db, ["upgrade"]).stdout


def test_upgrade_speaks_json(cli: CliRunner) -> None:
    with capture_logs():  # which go to standard error, once the command line has set them up
        first = json.loads(cli.invoke(db, ["upgrade", "--json"]).stdout)
    assert first[0]["history"] == "core"
    assert json.loads(cli.invoke(db, ["upgrade", "--json"]).stdout) == []


def test_check_shows_each_history_and_is_content_after_an_upgrade(cli: CliRunner) -> None:
    cli.invoke(db, ["upgrade"])
    result = cli.invoke(db, ["check", "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)[0] == {
        "history": "core",
        "state": "current",
        "database": [core_revisions()[-1]],
        "newest": [core_revisions()[-1]],
        "unknown": [],
    }


def test_check_fails_on_a_database_that_is_not_current(cli: CliRunner, home: Path) -> None:
    result = cli.invoke(db, ["check"])
    assert isinstance(result.exception, DatabaseNotMigratedError)
    assert "empty" in result.stdout
    assert not home.exists()


def test_check_fails_when_tables_differ_from_the_models(cli: CliRunner, home: Path) -> None:
    cli.invoke(db, ["upgrade"])
    database = Database(f"sqlite:///{home / 'agentic.db'}")
    with database.writing() as session:
        session.execute(text("ALTER TABLE agents DROP COLUMN goals"))
    database.dispose()
    result = cli.invoke(db, ["check"])
    assert isinstance(result.exception, SchemaDriftError)
    assert "add column agents.goals" in str(result.exception)


def test_a_bad_url_is_one_clear_error(cli: CliRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTIC_DATABASE_URL", "mysql://me:hunter2@host/db")
    result = cli.invoke(db, ["upgrade"])
    assert isinstance(result.exception, DatabaseUrlError)
    assert "hunter2" not in str(result.exception)


def test_the_doctor_tells_of_a_database_that_is_not_current(cli: CliRunner) -> None:
    assert "run `agentic db upgrade`" in next(iter(plugin.agentic_doctor()))
    cli.invoke(db, ["upgrade"])
    assert list(plugin.agentic_doctor()) == []
