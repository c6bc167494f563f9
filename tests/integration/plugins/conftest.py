"""Databases with the tables of all plugins, on SQLite and PostgreSQL."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.commands import start_command
from tests.databases import MIGRATED, TEST
from tests.postgres import PostgresServer

from agentic.core.hooks import get_registry
from agentic.executors.testing import endings
from agentic.migrations.runner import upgrade

WHOLE = "whole"


@pytest.fixture(autouse=True)
def forked_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the runs that the contract of platforms kills; for ``tests/e2e`` it starts them itself."""

    def run(words: Sequence[str], **_how: object) -> subprocess.CompletedProcess[str]:
        _, _, module, *arguments = words
        command = start_command(arguments, os.environ, Path(), module=module)
        out, err = command.communicate()
        return subprocess.CompletedProcess(words, command.returncode, out, err)

    monkeypatch.setattr(endings, "subprocess", SimpleNamespace(run=run))


@pytest.fixture(scope="session")
def whole_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with all tables, those of plugins included, to be copied."""
    path = tmp_path_factory.mktemp("whole") / "data.db"
    upgrade(f"sqlite:///{path}", get_registry())
    return path


@pytest.fixture(scope="session")
def whole_postgres(postgres: PostgresServer) -> PostgresServer:
    """The server of all tests, with a database that has all tables, to be copied."""
    upgrade(postgres.create(WHOLE, MIGRATED), get_registry())
    return postgres


@pytest.fixture
def whole_url(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """A database with all tables and no row."""
    if backend == "sqlite":
        yield f"sqlite:///{shutil.copy(request.getfixturevalue('whole_file'), tmp_path / 'data.db')}"
        return
    server: PostgresServer = request.getfixturevalue("whole_postgres")
    yield server.create(TEST, WHOLE)
    server.drop(TEST)
