"""What can be done to the processes that work on runs."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from tests.faults.executors.scene import Scene


def kill_one_at_work(scene: Scene, dice: random.Random) -> None:
    """Kill one of the processes that have a claim, if there is one."""
    for pid in _one_at_work(scene, dice):
        scene.signal(pid)


def pause_one_at_work(scene: Scene, dice: random.Random) -> None:
    """Suspend one of the processes that have a claim, if there is one, for longer than its lease."""
    for pid in _one_at_work(scene, dice):
        suspend(scene, pid)
        threading.Timer(scene.lease_s + 1, scene.signal, (pid, signal.SIGCONT)).start()


def kill_group(scene: Scene, worker: subprocess.Popen[bytes]) -> None:
    """Kill a worker with all its processes."""
    scene.place.kill(worker)
    scene.kills += 1


def suspend(scene: Scene, pid: int) -> None:
    """Suspend a process, but not in a transaction: on SQLite that would suspend all others, too."""
    scene.signal(pid, signal.SIGSTOP)
    while _is_locked(scene):
        scene.signal(pid, signal.SIGCONT)
        time.sleep(0.01)  # else it never gets to the end of its transaction
        scene.signal(pid, signal.SIGSTOP)


def children_of(worker: subprocess.Popen[bytes]) -> Sequence[int]:
    """Return the processes of a worker's pool."""
    return _children(worker, "worker")


def reconcilers_of(worker: subprocess.Popen[bytes]) -> Sequence[int]:
    """Return the process beside a worker that sees to what is lost."""
    return _children(worker, "reconcile")


def _children(worker: subprocess.Popen[bytes], word: str) -> Sequence[int]:
    found = []
    with suppress(psutil.NoSuchProcess):
        for child in psutil.Process(worker.pid).children():
            with suppress(psutil.NoSuchProcess):  # it may be gone since
                if word in child.cmdline():
                    found.append(child.pid)
    return found


def at_work(scene: Scene, worker: subprocess.Popen[bytes]) -> Sequence[int]:
    """Return the processes of a worker that have a claim."""
    query = "SELECT DISTINCT worker FROM activations WHERE status = 'running' ORDER BY worker"
    claimants = [int(name.split("/")[1]) for (name,) in scene.read(query)]
    alive = children_of(worker)
    return [pid for pid in claimants if pid in alive]


def _one_at_work(scene: Scene, dice: random.Random) -> Sequence[int]:
    found = at_work(scene, scene.worker())
    return [dice.choice(found)] if found else []


def _is_locked(scene: Scene) -> bool:
    file = scene.place.path / "home" / "agentic.db"
    with closing(sqlite3.connect(file, timeout=0.2, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
    return False
