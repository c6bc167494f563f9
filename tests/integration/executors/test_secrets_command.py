"""``agentic secrets`` and what doctor says of them, against a real database file, in this process."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from tests.commands import agentic_app, invoke
from typer.testing import CliRunner, Result

from agentic.core.actors import UnknownSecretError
from agentic.core.errors import AgenticError
from agentic.core.http import HttpSession
from agentic.executors.checks.database import secret_findings
from agentic.executors.commands.projects.secrets import secrets
from agentic.executors.commands.shared.options import OptionError
from agentic.mappers import Database, UnknownProjectError, find_project
from agentic.mappers.tables.vault import SecretModel
from agentic.mappers.vault.errors import (
    BadSecretKeyError,
    NoSecretKeyError,
    SecretNameError,
    UnreadableSecretError,
    VaultError,
)
from agentic.mappers.vault.keys import SecretKeys
from agentic.mappers.vault.sessions import SqlSessions
from agentic.mappers.vault.vault import SqlSecrets

pytestmark = pytest.mark.integration

OLD, NEW = SecretKeys.new_key(), SecretKeys.new_key()


class Shell:
    """``agentic secrets`` in the project ``default``, with one key."""

    def __init__(self, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
        self.database = database
        self._monkeypatch = monkeypatch
        self.use_keys(OLD)

    def use_keys(self, *keys: str) -> None:
        self._monkeypatch.setenv("AGENTIC_SECRET_KEYS", ",".join(keys))

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        result = self._invoke(arguments, stdin)
        if result.exception is not None:
            raise result.exception
        return result.output

    def fails(self, *arguments: str, stdin: str = "") -> AgenticError:
        error = self._invoke(arguments, stdin).exception
        assert isinstance(error, AgenticError)
        return error

    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self("list", "--json"))
        return found

    async def value(self, name: str, keys: str) -> str:
        with self.database.reading() as session:
            project_id = find_project(session, "default").id
        store = SqlSecrets(self.database, project_id, SecretKeys(keys), environment={})
        return (await store.secret(name)).get_secret_value()

    def _invoke(self, arguments: tuple[str, ...], stdin: str) -> Result:
        return invoke(agentic_app(), ["secrets", *arguments], stdin)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty_database: Path) -> Iterator[Shell]:
    monkeypatch.chdir(tmp_path)
    for name in ("AGENTIC_PROJECT", "AGENTIC_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AGENTIC_HOME", str(tmp_path))
    shutil.copy(empty_database, tmp_path / "agentic.db")
    database = Database(f"sqlite:///{tmp_path / 'agentic.db'}")
    yield Shell(database, monkeypatch)
    database.dispose()


async def test_a_value_comes_from_standard_input_without_its_line_end(shell: Shell) -> None:
    said = shell("set", "api", stdin="hunter2\n")
    assert said == "stored api (text) in project default\n"
    assert await shell.value("api", OLD) == "hunter2"


async def test_a_value_comes_from_a_file_with_all_its_lines_but_the_last_end(
    shell: Shell, tmp_path: Path
) -> None:
    path = tmp_path / "login.json"
    path.write_text('{"strategy":\n "bearer"}\r\n')
    assert "stored shop (login)" in shell("set", "shop", "--from-file", str(path))
    assert await shell.value("shop", OLD) == '{"strategy":\n "bearer"}'


def test_a_value_is_no_argument(shell: Shell) -> None:
    result = CliRunner().invoke(secrets, ["set", "api", "hunter2"])
    assert result.exit_code == 2


@pytest.mark.parametrize("stdin", ["", "\n"])
def test_an_empty_value_is_refused(shell: Shell, stdin: str) -> None:
    error = shell.fails("set", "api", stdin=stdin)
    assert isinstance(error, OptionError)
    assert "--from-file" in str(error)


def test_a_file_that_cannot_be_read_is_named(shell: Shell, tmp_path: Path) -> None:
    assert "no.txt cannot be read" in str(shell.fails("set", "api", "--from-file", "no.txt"))
    (tmp_path / "latin.txt").write_bytes(b"\xff")
    assert "not UTF-8" in str(shell.fails("set", "api", "--from-file", "latin.txt"))


def test_a_bad_name_and_a_missing_or_bad_key_are_refused_and_nothing_is_stored(shell: Shell) -> None:
    assert isinstance(shell.fails("set", "a b", stdin="x"), SecretNameError)
    shell.use_keys()
    error = shell.fails("set", "api", stdin="hunter2")
    assert isinstance(error, NoSecretKeyError)
    assert "agentic secrets new-key" in str(error)
    shell.use_keys("hunter2")
    assert isinstance(shell.fails("set", "api", stdin="x"), BadSecretKeyError)
    assert shell.rows() == []


async def test_the_list_has_names_kinds_and_times_and_no_value(shell: Shell) -> None:
    shell("set", "api", stdin="hunter2")
    with shell.database.reading() as session:
        project_id = find_project(session, "default").id
    await SqlSessions(shell.database, project_id, SecretKeys(OLD)).keep(HttpSession(name="shop"))
    rows = shell.rows()
    assert [(row["name"], row["kind"]) for row in rows] == [("api", "text"), ("shop", "session")]
    assert all(set(row) == {"name", "kind", "created_at", "updated_at"} for row in rows)
    assert "hunter2" not in shell("list")


def test_what_is_removed_is_gone(shell: Shell) -> None:
    shell("set", "api", stdin="x")
    assert shell("remove", "api") == "removed api from project default\n"
    assert shell.rows() == []
    assert isinstance(shell.fails("remove", "api"), UnknownSecretError)
    assert isinstance(shell.fails("list", "--project", "nowhere"), UnknownProjectError)


async def test_after_a_rotation_the_old_key_is_not_needed(shell: Shell) -> None:
    shell("set", "api", stdin="hunter2")
    shell.use_keys(NEW, OLD)
    for _ in range(2):
        assert "encrypted with the first key: secrets: 1, sessions: 0" in shell("rotate")
    assert await shell.value("api", NEW) == "hunter2"
    with pytest.raises(UnreadableSecretError):
        await shell.value("api", OLD)


def test_a_rotation_names_what_no_key_opens(shell: Shell) -> None:
    shell("set", "api", stdin="hunter2")
    shell.use_keys(NEW)
    error = shell.fails("rotate")
    assert isinstance(error, VaultError)
    assert "'api'" in str(error)


def test_a_new_key_can_be_used_and_is_all_that_is_printed(shell: Shell) -> None:
    shell.use_keys(shell("new-key").strip())
    assert "stored api" in shell("set", "api", stdin="x")


def test_doctor_tells_of_secrets_without_a_key_that_fits(shell: Shell) -> None:
    def findings(keys: str) -> list[str]:
        return [finding.text for finding in secret_findings(shell.database, SecretKeys(keys))]

    assert findings("") == []
    shell("set", "api", stdin="hunter2")
    assert findings(OLD) == []
    for keys, said in (("", "new-key"), (NEW, "'api'"), ("hunter2", "key 1 of 1")):
        [found] = findings(keys)
        assert said in found
        assert "hunter2" not in found


def test_a_row_that_was_tampered_with_is_found(shell: Shell) -> None:
    shell("set", "api", stdin="hunter2")
    with shell.database.writing() as session:
        sealed = session.scalars(select(SecretModel.sealed)).one()
        session.execute(update(SecretModel).values(sealed=f"{sealed[:-3]}A=="))
    assert len(list(secret_findings(shell.database, SecretKeys(OLD)))) == 1
