"""Ledgers, and a command line beside one; nobody works on their runs unless a test says so."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from structlog.testing import capture_logs
from tests.commands import agentic_app, invoke, start_command
from tests.integration.executors.durable.steered import Floor
from typer.testing import Result

from agentic.core.bus.nats.bus import NatsBus
from agentic.core.errors import AgenticError
from agentic.core.ledger import ActivationRow, RunRow
from agentic.core.services import ServiceSupervisor, nats_service
from agentic.mappers import Database, add_project, find_project
from agentic.mappers.ledger.ledger import SqlLedger

Start = Callable[[], "subprocess.Popen[bytes]"]


@dataclass(frozen=True)
class Office:
    """Where runs are looked at and steered."""

    database: Database
    floor: Floor
    app: typer.Typer

    def __call__(self, *arguments: str) -> str:
        """Run a command that succeeds; return its output."""
        result = self.run(*arguments)
        assert result.exception is None, result.exception
        return result.stdout

    def json(self, *arguments: str) -> Any:
        """Run a command that succeeds; return what it prints for scripts."""
        return json.loads(self(*arguments, "--json"))

    def fails(self, *arguments: str) -> AgenticError:
        """Run a command that is refused; return why."""
        error = self.run(*arguments).exception
        assert isinstance(error, AgenticError)
        return error

    def run(self, *arguments: str) -> Result:
        """Run a command."""
        with capture_logs():  # standard output is the command's
            return invoke(self.app, arguments)

    def row(self, run_id: str) -> RunRow:
        """Return a run."""
        with self.floor.store.transaction() as ledger:
            (found,) = [run for run in ledger.list_runs() if run.run_id == run_id]
            return found

    def activations(self) -> list[ActivationRow]:
        """Return all activations."""
        with self.floor.store.transaction() as ledger:
            return list(ledger.list_activations())


@pytest.fixture
def office(tmp_path: Path, empty_database: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    """An office with an empty ledger, of the project ``default``."""
    for name in ("AGENTIC_BROKER_URL", "AGENTIC_NATS_URL", "AGENTIC_PROJECT", "AGENTIC_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AGENTIC_HOME", str(tmp_path))
    monkeypatch.setenv("AGENTIC_WORKFLOW_MODULES", '["tests"]')
    path = shutil.copy(empty_database, tmp_path / "agentic.db")
    database = Database(f"sqlite:///{path}")
    with database.reading() as session:
        project = find_project(session, "default")
    store = SqlLedger(database, project_id=project.id)
    yield Office(database=database, floor=Floor(store), app=agentic_app())
    store.close()
    database.dispose()


@dataclass(frozen=True)
class Shelf:
    """The ledgers of two projects; the second one is nobody's business."""

    database: Database
    project_id: str
    ours: Floor
    theirs: Floor


@pytest.fixture
def shelf(migrated_database: Database) -> Iterator[Shelf]:
    with migrated_database.writing() as session:
        ours, theirs = add_project(session, "ours").id, add_project(session, "theirs").id
    stores = [SqlLedger(migrated_database, project_id=project_id) for project_id in (ours, theirs)]
    yield Shelf(migrated_database, ours, *map(Floor, stores))
    for store in stores:
        store.close()


@pytest.fixture
async def bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[NatsBus]:
    """A bus on a server that this process, and those it starts, find in their settings."""
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]) as supervisor:
        monkeypatch.setenv("AGENTIC_NATS_URL", supervisor.urls["nats"])
        bus = NatsBus(supervisor.urls["nats"])
        yield bus
        await bus.aclose()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts what a worker starts beside it."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
        started.append(start_command(["reconcile", "--every", "0.5"], environment, tmp_path))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
