"""Processes whose event loop stands still are ended, and what they were at is taken back with the reason."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentic.core import Workflow, WorkflowBuilder, executor
from agentic.core.graph import RunStatus
from agentic.core.ledger import ActivationStatus, MemoryLedger
from agentic.executors.durable import LocalRuns, WorkflowCatalog
from agentic.executors.durable.reconcile.reconciler import Reconciler
from agentic.executors.durable.runs.local import LocalDispatcher
from agentic.executors.durable.runs.service import RunService
from agentic.executors.durable.worker.host import RunHost
from agentic.executors.durable.worker.process_names import process_name
from agentic.executors.workers.pulse import Pulse, readings
from agentic.executors.workers.stalling import Stalled, StallWatch

STALL_S, LEASE_S = 10.0, 100.0


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    waiting = [sys.executable, "-S", "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(waiting, stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


class Scene:
    """A pulse, and who watches it."""

    def __init__(
        self, where: Path, pid: int, *, worker_pid: int | None = None, lease_s: float = LEASE_S
    ) -> None:
        self.pulse = Pulse(where / str(pid))
        self.told: list[Stalled] = []
        self.watch = StallWatch(where, worker_pid or os.getpid(), STALL_S, lease_s, self._tell)
        self.pulse.beat_of_thread()

    def stood_for(self, seconds: float) -> list[Stalled]:
        self.watch.look(0.0)
        return self.watch.look(seconds)

    async def _tell(self, stalled: Stalled) -> None:
        self.told.append(stalled)


def test_a_process_whose_loop_stands_still_is_found(tmp_path: Path, child: subprocess.Popen[bytes]) -> None:
    scene = Scene(tmp_path, child.pid)
    scene.pulse.blame(activation="run:0:node:0", by="shop.parse:7")
    assert scene.stood_for(STALL_S - 1) == []
    (found,) = scene.watch.look(2.0)
    assert (found.pid, found.activation) == (child.pid, "run:0:node:0")
    assert found.reason("node") == (
        "executor 'node' blocked the event loop of its process for 11 s (shop.parse:7), "
        "so the process was killed"
    )


def test_a_loop_that_beats_is_left_alone(tmp_path: Path, child: subprocess.Popen[bytes]) -> None:
    scene = Scene(tmp_path, child.pid)
    assert scene.stood_for(STALL_S - 1) == []
    scene.pulse.beat()
    assert scene.watch.look(STALL_S - 1) == []


def test_a_step_may_take_as_long_as_its_timeout_says(tmp_path: Path, child: subprocess.Popen[bytes]) -> None:
    scene = Scene(tmp_path, child.pid)
    with scene.pulse.at_work(50.0), scene.pulse.at_work(5.0):
        assert scene.stood_for(50.0 + STALL_S - 1) == []
        assert len(scene.watch.look(2.0)) == 1
    assert [reading.allowance_s for reading in readings(tmp_path)] == [0.0]


def test_a_process_in_which_no_thread_runs_is_ended_before_its_claims_are_lost(
    tmp_path: Path, child: subprocess.Popen[bytes]
) -> None:
    scene = Scene(tmp_path, child.pid, lease_s=5.0)
    assert len(scene.stood_for(4.5)) == 1


def test_a_suspended_process_is_not_to_blame(tmp_path: Path, child: subprocess.Popen[bytes]) -> None:
    scene = Scene(tmp_path, child.pid)
    child.send_signal(signal.SIGSTOP)
    os.waitpid(child.pid, os.WUNTRACED)
    assert scene.stood_for(1000.0) == []
    child.send_signal(signal.SIGCONT)


def test_a_process_of_somebody_else_with_an_old_id_is_left_alone(
    tmp_path: Path, child: subprocess.Popen[bytes]
) -> None:
    scene = Scene(tmp_path, child.pid, worker_pid=child.pid + 1)
    assert scene.stood_for(1000.0) == []


async def test_it_is_killed_after_its_claims_were_taken_back(
    tmp_path: Path, child: subprocess.Popen[bytes]
) -> None:
    scene = Scene(tmp_path, child.pid)
    (stalled,) = scene.stood_for(STALL_S + 1)
    await scene.watch._end(stalled)
    assert (scene.told, child.wait()) == ([stalled], -signal.SIGKILL)
    assert list(readings(tmp_path)) == []


async def test_a_database_that_is_away_keeps_no_process_alive(
    tmp_path: Path, child: subprocess.Popen[bytes]
) -> None:
    async def fail(_: Stalled) -> None:
        raise ConnectionError("away")

    scene = Scene(tmp_path, child.pid)
    watch = StallWatch(tmp_path, os.getpid(), STALL_S, LEASE_S, fail)
    await watch._end(scene.stood_for(STALL_S + 1)[0])
    assert child.wait() == -signal.SIGKILL


def wide() -> Workflow:
    @executor(id="node")
    async def node(number: int) -> int:
        return number

    return WorkflowBuilder("wide", version="1").set_start(node).build()


async def test_only_what_keeps_the_loop_counts_a_crash() -> None:
    store, catalog = MemoryLedger(), WorkflowCatalog({"wide": wide})
    host = RunHost(store=store, catalog=catalog, dispatcher=LocalDispatcher(), worker=process_name("here"))
    service = RunService(host)
    runs = [(await service.submit("wide", number)).run_id for number in range(2)]
    with store.transaction() as ledger:
        first, second = (ledger.list_activations(run_id=run_id)[0].id for run_id in runs)
        for each in (first, second):
            assert ledger.claim(each, host.me.worker, 30.0) is not None
    await Reconciler(host).take_from(Stalled(os.getpid(), 61.0, str(first)))
    with store.transaction() as ledger:
        rows = {row.id: row for row in ledger.list_activations()}
    service.close()
    assert {(row.status, row.crashes) for row in (rows[first],)} == {(ActivationStatus.PENDING, 1)}
    assert "blocked the event loop of its process" in str(rows[first].note)
    assert (rows[second].status, rows[second].crashes) == (ActivationStatus.PENDING, 0)


async def test_a_run_whose_step_stalls_again_and_again_fails_with_the_reason() -> None:
    store, catalog = MemoryLedger(), WorkflowCatalog({"wide": wide})
    host = RunHost(store=store, catalog=catalog, dispatcher=LocalDispatcher(), worker=process_name("here"))
    service = RunService(host)
    handle = await service.submit("wide", 1)
    for _ in range(3):
        with store.transaction() as ledger:
            (row,) = ledger.list_activations()
            assert ledger.claim(row.id, host.me.worker, 30.0) is not None
        await Reconciler(host).take_from(Stalled(os.getpid(), 61.0))
    async with LocalRuns(store, catalog, options={"worker": process_name("here")}) as runs:
        result = await runs.handle(handle.run_id).result(20.0)
    service.close()
    assert result.status is RunStatus.FAILED
    assert "blocked the event loop of its process for 61 s" in str(result.error)
