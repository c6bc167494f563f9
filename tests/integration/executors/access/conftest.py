"""A world of two projects, and a command line in one of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import typer
from structlog.testing import capture_logs
from tests.commands import invoke
from tests.integration.executors.access.worlds import KEY, World, make_world

from agentic.core.cli.main import build_app
from agentic.core.hooks import get_registry
from agentic.mappers import Database
from agentic.migrations import upgrade


@dataclass(frozen=True)
class Answer:
    """What a command came to: its exit code, what it printed, and the error it ended with."""

    code: int
    said: str
    error: str

    def without(self, *names: str) -> Answer:
        """Return it with these names taken out: two answers that tell nothing more are then the same."""
        said, error = self.said, self.error
        for name in sorted(names, key=len, reverse=True):
            said, error = said.replace(name, "?"), error.replace(name, "?")
        return Answer(self.code, " ".join(said.split()), error)


@dataclass(frozen=True)
class Shell:
    """A command line beside a world."""

    world: World
    app: typer.Typer
    monkeypatch: pytest.MonkeyPatch

    def run(self, project: str, arguments: Sequence[str]) -> Answer:
        """Run a command in a project."""
        self.monkeypatch.setenv("AGENTIC_PROJECT", project)
        with capture_logs():  # standard output is the command's
            result = invoke(self.app, arguments)
        error = result.exception
        expected = error is None or isinstance(error, SystemExit)
        return Answer(result.exit_code, result.output, "" if expected else f"{type(error).__name__}: {error}")


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The world all tests have a copy of."""
    home = tmp_path_factory.mktemp("world")
    url = f"sqlite:///{home / 'agentic.db'}"
    upgrade(url, get_registry())
    database = Database(url)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTIC_HOME", str(home))
        world = make_world(database)
    database.dispose()
    yield world
    database.dispose()


@pytest.fixture
def new_shell(
    filled: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], Shell]]:
    """Return a function that makes a command line beside a new copy of the world."""
    for name in ("AGENTIC_BROKER_URL", "AGENTIC_NATS_URL", "AGENTIC_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AGENTIC_WORKFLOW_MODULES", '["tests"]')
    monkeypatch.setenv("AGENTIC_SECRET_KEYS", KEY)
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.chdir(tmp_path)
    app, made = whole_app(), list[Database]()

    def new() -> Shell:
        home = tmp_path / f"home-{len(made)}"
        home.mkdir()
        with (
            closing(sqlite3.connect(filled.database.url.removeprefix("sqlite:///"))) as source,
            closing(sqlite3.connect(home / "agentic.db")) as copy,
        ):
            source.backup(copy)
        monkeypatch.setenv("AGENTIC_HOME", str(home))
        made.append(Database(f"sqlite:///{home / 'agentic.db'}"))
        return Shell(World(made[-1], filled.ids, filled.names), app, monkeypatch)

    yield new
    for database in made:
        database.dispose()


def copied(source: Path, target: Path) -> None:
    """Copy a database, whatever of it is in its log still."""
    with closing(sqlite3.connect(source)) as there, closing(sqlite3.connect(target)) as here:
        there.backup(here)


@cache
def whole_app() -> typer.Typer:
    """Return the command line."""
    return build_app()
