"""Everything at work at once: servers, a worker, beat, Flower, and agents that have secrets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import psutil
from sqlalchemy import select
from tests.commands import run_command
from tests.integration.executors.canary import agents, graph_plugin, plugin
from tests.integration.executors.canary.agents import Canaries
from tests.integration.executors.canary.servers import READY
from tests.integration.executors.canary.site import EchoSite
from tests.pace import slowed
from tests.pages import read_page

from agentic.core.hooks import get_registry
from agentic.core.types import JSONValue
from agentic.executors.workers.dispatch import CeleryDispatcher
from agentic.mappers import Database, ExecutionModel, ExecutionStatus, add_agent, add_project
from agentic.mappers.vault.keys import SecretKeys
from agentic.mappers.vault.vault import set_secret
from agentic.migrations import upgrade

CHECKOUT = Path(__file__).parents[4]
DEADLINE_S = 60.0
ENDS = {
    ExecutionStatus.SUCCEEDED,
    ExecutionStatus.PARTIAL,
    ExecutionStatus.FAILED,
    ExecutionStatus.CANCELLED,
}


@dataclass
class Scene:
    """A home in which all agents have run on a worker.

    Attributes:
        path: The folder; ``home`` in it has database, servers and logs, ``said`` what commands said.
        executions: Agent -> id of its execution.
    """

    path: Path
    canaries: Canaries
    key: str
    executions: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        """Where database, servers and logs are."""
        return self.path / "home"

    @property
    def env(self) -> Mapping[str, str]:
        """What processes of this home are started with."""
        given = {name: value for name, value in os.environ.items() if not name.startswith("AGENTIC_")}
        return {
            **given,
            "AGENTIC_HOME": str(self.home),
            "AGENTIC_SECRET_KEYS": self.key,
            "AGENTIC_LOG_LEVEL": "debug",
            "AGENTIC_LEASE_S": f"{slowed(2):g}",
            "AGENTIC_SWEEP_S": "0.5",
            "NO_COLOR": "1",
            "FLOWER_UNAUTHENTICATED_API": "true",
            "PYTHONPATH": os.pathsep.join([str(self.path / "plugins"), str(CHECKOUT)]),
        }

    @cached_property
    def database(self) -> Database:
        """The database."""
        return Database(f"sqlite:///{self.home / 'agentic.db'}")

    @property
    def urls(self) -> Mapping[str, str]:
        """Where the servers listen."""
        urls: dict[str, str] = json.loads((self.home / "runtime.json").read_text())["urls"]
        return urls

    def agentic(self, *arguments: str, **env: str) -> str:
        """Run a command; return what it printed, errors too. It is kept in a file, as a shell might."""
        done = run_command(arguments, {**self.env, **env}, self.path, DEADLINE_S)
        return f"{done.stdout}\n{done.stderr}"

    def execution(self, execution_id: str) -> ExecutionModel:
        """Return an execution."""
        with self.database.reading() as session:
            return session.get_one(ExecutionModel, execution_id)

    def is_over(self, executions: Sequence[str]) -> bool:
        """Whether all these executions have ended."""
        going = select(ExecutionModel.id).where(ExecutionModel.status.not_in(ENDS))
        with self.database.reading() as session:
            return not set(session.scalars(going)) & set(executions)

    def eventually(self, holds: Callable[[], object]) -> None:
        """Ask until the answer is yes."""
        deadline = time.monotonic() + DEADLINE_S
        while not holds():
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def read(self, url: str) -> str:
        """Return a page of Flower."""
        return read_page(url)


@contextmanager
def played(path: Path) -> Iterator[Scene]:
    """Run everything; give what is left while the servers still run."""
    scene = Scene(path, Canaries(), SecretKeys.new_key())
    _install(path / "plugins")
    scene.home.mkdir()
    with EchoSite(scene.canaries.minted) as site, _started(scene):
        _fill(scene, site)
        _run_all(scene)
        yield scene


def _install(folder: Path) -> None:
    for name, source in {"careless": plugin.SOURCE, "careless_graph": graph_plugin.SOURCE}.items():
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (folder / f"{name}.py").write_text(source)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[agentic]\n{name} = {name}\n")


@contextmanager
def _started(scene: Scene) -> Iterator[None]:
    upgrade(scene.database.url, get_registry())
    log = scene.path / "servers.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.integration.executors.canary.servers"],
            cwd=scene.path,
            env=scene.env,
            stdout=out,
            stderr=out,
        )
    try:
        scene.eventually(lambda: READY in log.read_text() or process.poll() is not None)
        assert process.poll() is None, log.read_text()
        yield
    finally:
        process.terminate()
        process.wait(40)
        scene.database.dispose()


def _fill(scene: Scene, site: EchoSite) -> None:
    canaries, key = scene.canaries, SecretKeys(scene.key)
    web = {**agents.stored_agents(site.url), **agents.literal_agents(site.url, canaries.literal)}
    careless = agents.careless_agents(canaries.literal)
    graphs = agents.graph_agents(site.url)
    with scene.database.writing() as session:
        owner = add_project(session, "default")
        for name, value in agents.secrets(canaries, site.url).items():
            set_secret(session, owner.id, key, name, value)
        made = [
            *(add_agent(session, owner, name, _platform_of(name), config) for name, config in web.items()),
            *(add_agent(session, owner, name, "careless", config) for name, config in careless.items()),
            *(add_agent(session, owner, name, "graph", config) for name, config in graphs.items()),
        ]
    from agentic.core.settings import load_settings
    from agentic.executors.celery import make_app

    with make_app(load_settings(home=scene.home)) as app:
        dispatcher = CeleryDispatcher(app)
        for agent in made:
            scene.executions[agent.agent_name] = dispatcher.submit(scene.database, agent).id


def _platform_of(name: str) -> str:
    word, _, rest = name.partition("-")
    is_of_api = word in {"github", "reddit", "firecrawl"} and not rest.startswith("in-")
    return word if is_of_api else "web"


def _run_all(scene: Scene) -> None:
    """Wait for all to end; kill the process that has the one which does not."""
    rest = [one for name, one in scene.executions.items() if name != "careless-kill"]
    try:
        scene.eventually(lambda: scene.is_over(rest))
    except AssertionError:
        raise AssertionError(facts(scene)) from None
    pid = scene.path / "killed.pid"
    scene.eventually(lambda: pid.exists() and pid.read_text())
    psutil.Process(int(pid.read_text())).kill()
    scene.agentic("executions", "cancel", scene.executions["careless-kill"])


def facts(scene: Scene) -> dict[str, JSONValue]:
    """Return how all ended."""
    return {
        name: f"{scene.execution(one).status}: {scene.execution(one).error}"
        for name, one in scene.executions.items()
    }
