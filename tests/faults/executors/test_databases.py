"""The database is locked, full, cut off or restarted: each transaction is kept or not, and runs go on."""

from __future__ import annotations

import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import psutil
import pytest
from tests.faults.disks import filled, small_disk
from tests.faults.executors.scene import Scene, migrate

if TYPE_CHECKING:
    from tests.faults.executors.broker import Broker
    from tests.faults.executors.conftest import MakeStage, Note
    from tests.postgres import PostgresServer

pytestmark = [pytest.mark.faults, pytest.mark.integration]

DONE = "SELECT count(*) FROM activations WHERE status = 'done'"
NAME = "faults"
AWAY_S = 1.5

Trouble = Callable[["PostgresServer"], None]


@pytest.fixture(scope="module")
def postgres_stage(
    tmp_path_factory: pytest.TempPathFactory, broker: Broker, postgres: PostgresServer
) -> Iterator[Scene]:
    """A place whose ledger is in PostgreSQL."""
    url = postgres.create(NAME)
    migrate(url)
    scene = Scene(tmp_path_factory.mktemp("postgres"), url, broker.url(1))
    yield scene
    scene.close()
    postgres.drop(NAME)


@pytest.fixture
def postgres_scene(postgres_stage: Scene) -> Scene:
    """That place, cleared, with a worker."""
    postgres_stage.worker()
    postgres_stage.clear()
    return postgres_stage


@pytest.fixture
def small_scene(configured_stage: MakeStage) -> Iterator[Scene]:
    """A place with a worker, whose ledger is on a disk of its own."""
    scene = configured_stage(6, "")
    home = scene.place.path / "home"
    scene.place.database.dispose()
    ledger = (home / "agentic.db").read_bytes()
    with small_disk(home, "16m"):
        (home / "agentic.db").write_bytes(ledger)
        scene.worker()
        scene.clear()
        yield scene
        scene.close()


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


def has_no_room(postgres: PostgresServer) -> None:
    """Have no room for a while, until somebody makes some and starts the server again: it gave up."""
    assert limit_files("0")
    time.sleep(AWAY_S)
    limit_files("unlimited")
    postgres.stop()
    postgres.start()


@pytest.mark.parametrize("trouble", [is_cut_off, restarts, pytest.param(has_no_room, marks=pytest.mark.slow)])
def test_runs_go_on_when_postgresql(
    postgres_scene: Scene, postgres: PostgresServer, note: Note, trouble: Trouble
) -> None:
    worker = postgres_scene.worker()
    postgres_scene.march(8)
    postgres_scene.until_under_way()
    trouble(postgres)
    figures = postgres_scene.check()
    note(figures)
    assert worker.poll() is None


def test_runs_go_on_when_sqlite_was_locked_for_longer_than_leases_last(scene: Scene, note: Note) -> None:
    scene.march(6)
    scene.until_under_way()
    with sqlite3.connect(scene.place.path / "home" / "agentic.db", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        time.sleep(scene.lease_s + 1)
        other.execute("ROLLBACK")
    note(scene.check())


def test_runs_go_on_when_the_disk_of_sqlite_was_full(small_scene: Scene, note: Note) -> None:
    small_scene.march(6)
    small_scene.until_under_way()
    with filled(small_scene.place.path / "home"):
        time.sleep(AWAY_S)
        done = small_scene.read(DONE)
        time.sleep(AWAY_S)
        assert small_scene.read(DONE) == done
    note(small_scene.check())
    assert "database or disk is full" in small_scene.place.log_of(small_scene.worker())
    assert small_scene.read("PRAGMA integrity_check") == [("ok",)]


def limit_files(size: str) -> int:
    """Let no file grow beyond a size that PostgreSQL writes; return how many processes heard of it."""
    count = 0
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it may be gone since
            if process.name() == "postgres":
                limit = ("prlimit", f"--pid={process.pid}", f"--fsize={size}:")
                user, group = process.uids().real, process.gids().real
                count += not subprocess.call(limit, user=user, group=group)
    return count
