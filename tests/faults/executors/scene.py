"""A place with workers whose leases are short, where runs are submitted, disturbed and looked at."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from tests.faults.executors import flows
from tests.faults.executors.history import Expected, Figures, History, log_of
from tests.integration.executors.conftest import DEADLINE_S, make_place
from tests.pace import slowed

from agentic.core import RunStatus
from agentic.core.hooks import get_registry
from agentic.core.settings import Settings, load_settings
from agentic.executors import RunClient
from agentic.executors.durable.reconcile.reconciler import REDISPATCH_AFTER_S
from agentic.executors.durable.runs.service import Submission
from agentic.executors.runs import RunHandle
from agentic.mappers import Database, DatabaseUnavailableError, add_project
from agentic.migrations import upgrade

MODULE = "tests.faults.executors.flows"
PROCESSES = 2
LEASE_S = 4.0
SWEEP_S = 0.5
LOST_AFTER_S = 5.0
"""A message is taken for lost after this time here, unless a test says otherwise."""

Row = tuple[Any, ...]

_TABLES = ("fault_rows", "effects", "run_events", "activations", "run_parts", "run_checkpoints", "runs")
_ROWS = (
    "CREATE TABLE fault_rows (run_id TEXT, superstep INTEGER, executor_id TEXT, token TEXT, pid INTEGER, "
    "fence INTEGER, worker TEXT)"
)
_HURRY = (
    "UPDATE activations SET dispatched_at = dispatched_at - :by "
    "WHERE status = 'pending' AND dispatched_at < :before"
)


class Scene:
    """A place with workers, and the runs that were submitted there since it was last cleared.

    Args:
        folder: An empty one.
        database: A migrated SQLite file to be copied, or a URL of another database.
        broker_url: Leads to a broker of this place's own.
    """

    def __init__(self, folder: Path, database: Path | str, broker_url: str) -> None:
        file = database if isinstance(database, Path) else None
        self.place = make_place(folder, file or Path(os.devnull), broker_url)
        self.lease_s = slowed(LEASE_S)
        self.place.env |= {
            "AGENTIC_LEASE_S": f"{self.lease_s:g}",
            "AGENTIC_SWEEP_S": f"{SWEEP_S:g}",
            "AGENTIC_WORKFLOW_MODULES": '["tests"]',
        }
        if not isinstance(database, Path):
            self.place.database = Database(database)
            self.place.env["AGENTIC_DATABASE_URL"] = database
        self.expected: dict[str, Expected] = {}
        self.kills = 0
        self.lost_after_s = LOST_AFTER_S
        self._workers: list[subprocess.Popen[bytes]] = []
        self._began = self._overdue_s = 0.0
        self._client: RunClient | None = None
        with self.place.database.writing() as session:
            session.execute(text(_ROWS))

    @property
    def settings(self) -> Settings:
        """What leads a process of the tests to this place."""
        url = self.place.env.get("AGENTIC_DATABASE_URL", "")
        return load_settings(
            home=self.place.path / "home",
            database_url=url,
            broker_url=self.place.broker_url,
            dispatcher="celery",
            workflow_modules=("tests",),
            lease_s=self.lease_s,
        )

    @property
    def client(self) -> RunClient:
        """Submits runs; made when first used."""
        if self._client is None:
            self._client = RunClient(self.settings)
        return self._client

    def clear(self) -> None:
        """Forget what was, and have one worker that is alive."""
        self.place.app.control.purge()
        with self.place.database.writing() as session:
            for table in _TABLES:
                session.execute(text(f"DELETE FROM {table}"))
        (self.place.path / flows.ENTRIES).unlink(missing_ok=True)
        self.expected, self.kills, self._overdue_s = {}, 0, 0.0
        self.lost_after_s = LOST_AFTER_S
        self._began = time.monotonic()

    def worker(self) -> subprocess.Popen[bytes]:
        """Return a worker that is alive."""
        alive = [worker for worker in self._workers if worker.poll() is None]
        return alive[-1] if alive else self.start_worker()

    def only_worker(self) -> subprocess.Popen[bytes]:
        """Return a worker that is alive, and end the others."""
        chosen = self.worker()
        for other in self._workers:
            if other is not chosen:
                self.place.kill(other)
        return chosen

    def end_workers(self) -> None:
        """End all workers: the next test that needs one starts it."""
        for worker in self._workers:
            self.place.kill(worker)

    def start_worker(self) -> subprocess.Popen[bytes]:
        """Start a worker."""
        name = f"w{len(self._workers)}@test"
        worker = self.place.start_command("worker", "--concurrency", str(PROCESSES), "--hostname", name)
        self._workers.append(worker)
        self.place.eventually(lambda: f"{name} ready." in self.place.log_of(worker) or worker.poll())
        return worker

    def submit(
        self, flow: str, message: object, expected: Expected | None = None, how: Submission | None = None
    ) -> RunHandle:
        """Submit a run, and remember what it has to come to."""
        handle = self.client.submit(flow if ":" in flow else f"{MODULE}:{flow}", message, how)
        self.expected[handle.run_id] = expected or Expected(outputs=(message,))
        return handle

    def march(self, count: int = 1, flow: str = "march") -> Sequence[RunHandle]:
        """Submit runs of :func:`flows.march`, or of another shape."""
        return [self.submit(flow, [number], undisturbed(flow, number)) for number in range(count)]

    def until_under_way(self) -> None:
        """Wait until a process has a claim."""
        self.until(lambda: bool(self.read("SELECT 1 FROM activations WHERE status = 'running'")))

    def until_ended(self) -> None:
        """Wait until no run goes on any more."""
        self.until(lambda: not self.running_count())

    def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so; start a worker if there is none, as a service manager would."""
        deadline = time.monotonic() + DEADLINE_S
        while not is_so():
            self.worker()
            self.hurry()
            assert time.monotonic() < deadline, f"not so after {DEADLINE_S:g} s; open are {self.open_rows()}"
            time.sleep(0.1)

    def running_count(self) -> int:
        """Return how many runs go on; all of them, if the database does not say."""
        with suppress(SQLAlchemyError, DatabaseUnavailableError):
            return len(self.read("SELECT 1 FROM runs WHERE status = 'running'"))
        return len(self.expected)

    def hurry(self) -> None:
        """See to what takes long otherwise, and note what is overdue."""
        now = time.time()
        with suppress(SQLAlchemyError, DatabaseUnavailableError), self.place.database.writing() as session:
            session.execute(text(_HURRY), {"by": REDISPATCH_AFTER_S, "before": now - self.lost_after_s})
            overdue = "SELECT max(:now - lease_until) FROM activations WHERE status = 'running'"
            found = session.execute(text(overdue), {"now": now}).scalar()
            self._overdue_s = max(self._overdue_s, float(found or 0.0))

    def open_rows(self) -> Sequence[Row]:
        """Return what runs wait for."""
        return self.read(
            "SELECT run_id, superstep, executor_id, status, fence, crashes, dispatched_at, lease_until, note "
            "FROM activations WHERE finished_at IS NULL LIMIT 10"
        )

    def read(self, query: str) -> Sequence[Row]:
        """Return rows of the database."""
        with self.place.database.reading() as session:
            return [tuple(row) for row in session.execute(text(query))]

    def check(self) -> Figures:
        """Wait for the end of the runs, and check that they are as they have to be."""
        self.until_ended()
        took_s = time.monotonic() - self._began
        history = History(self.place.database, self.place.path, self.client, self.expected)
        return replace(history.check(), kills=self.kills, overdue_s=self._overdue_s, took_s=took_s)

    def signal(self, pid: int, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to a process, if it is there still; count the kills."""
        with suppress(ProcessLookupError):
            os.kill(pid, number)
            self.kills += number is signal.SIGKILL

    def pid_at(self, name: str) -> int:
        """Wait until a process works on what has this name; return the process."""
        path = self.place.path / flows.at_work(name)
        self.until(lambda: path.exists() and bool(path.read_text()))
        return int(path.read_text())

    def open_gate(self, name: str) -> None:
        """Let the run go on that waits for a gate."""
        (self.place.path / flows.gate(name)).touch()

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Give each process of the worker a run that goes on until the block ends."""
        names = [uuid.uuid4().hex for _ in range(PROCESSES)]
        for name in names:
            self.submit("gated", name)
            self.pid_at(name)
        yield
        for name in names:
            self.open_gate(name)

    def close(self) -> None:
        """End everything."""
        self.place.close()
        if self._client is not None:
            self._client.close()

    @contextmanager
    def env(self, **variables: str) -> Iterator[None]:
        """Give variables to the processes that are started in the block."""
        before = dict(self.place.env)
        self.place.env |= variables
        try:
            yield
        finally:
            self.place.env = before


def migrate(url: str) -> None:
    """Make a database that has all tables, and the project ``default``."""
    upgrade(url, get_registry())
    database = Database(url)
    with database.writing() as session:
        add_project(session, "default")
    database.dispose()


@cache
def undisturbed(flow: str, number: int) -> Expected:
    """Return what a run comes to when nothing disturbs it, in one process and without a ledger."""
    result = asyncio.run(flows.march_of(flow, is_durable=False).run([number]))
    assert result.status is RunStatus.COMPLETED
    return Expected(outputs=result.outputs, log=log_of(result.events, result.run_id))
