"""The worker, beat and Flower as services of a supervisor."""

from __future__ import annotations

import importlib.util
import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from agentic.core.services import Service, server_access
from agentic.core.services.errors import MissingServerError
from agentic.core.settings import load_settings

FLOWER_USER = "agentic"
_APP = ("-A", "agentic.executors")
_OWN_LOGIN = frozenset({"FLOWER_AUTH", "FLOWER_BASIC_AUTH"})
_FLOWER_COLUMNS = "name,uuid,state,args,result,received,started,runtime,worker"


def worker_service(home: Path, *, concurrency: int = 2, pool: str = "prefork") -> Service:
    """Return the service of a Celery worker that works for the broker of ``home``.

    It is ready when it answers over the broker. To stop, it waits for tasks during the soft shutdown time
    (10 s), then cancels them and returns their messages.

    Args:
        home: Folder of the supervisor; the broker is looked up there unless the environment names one.
        concurrency: Tasks at the same time.
        pool: ``prefork``, or ``threads`` for many tasks that mostly wait.
    """
    name = f"agentic@{socket.gethostname()}"
    options = ["--hostname", name, "--concurrency", str(concurrency), "--pool", pool, "--loglevel", "info"]
    return Service(
        "worker",
        _celery("worker", *options, "--without-mingle", "--without-gossip"),
        # SIGTERM then means: end soon and return unfinished work, not: finish however long it takes.
        {**_environment(home), "REMAP_SIGTERM": "SIGQUIT"},
        ready=lambda: _answers(home, name),
        stop_grace_s=25.0,
    )


def beat_service(home: Path) -> Service:
    """Return the service that fires the schedules of the database, and of ``celeryconfig.beat_schedule``."""
    scheduler = "agentic.executors.beat:LedgerScheduler"
    return Service(
        "beat",
        _celery("beat", "--scheduler", scheduler, "--pidfile", "", "--loglevel", "info"),
        _environment(home),
    )


def flower_service(home: Path) -> Service:
    """Return the service of Flower on a free loopback port; its URL, named ``flower``, holds a password.

    Raises:
        MissingServerError: Flower is not installed.
    """
    if importlib.util.find_spec("flower") is None:
        raise MissingServerError("flower", "flower")
    access = server_access(home, "flower")
    login = "" if _OWN_LOGIN & os.environ.keys() else f"{FLOWER_USER}:{access.password}"
    options = ["--address=127.0.0.1", f"--port={access.port}", f"--tasks-columns={_FLOWER_COLUMNS}"]
    return Service(
        "flower",
        [sys.executable, "-m", "agentic.executors.workers.flower", *_APP, "flower", *options],
        {**_environment(home), **({"FLOWER_BASIC_AUTH": login} if login else {})},
        urls={"flower": f"http://{login}{'@' if login else ''}127.0.0.1:{access.port}"},
        ready=lambda: _listens(access.port),
    )


def _celery(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "celery", *_APP, *arguments]


def _environment(home: Path) -> Mapping[str, str]:
    return {"AGENTIC_HOME": str(home.absolute())}


def _answers(home: Path, worker: str) -> bool:
    """Whether the worker answers a ping within a second."""
    # Celery takes 0.25 s to import
    from kombu.exceptions import KombuError

    from agentic.executors.celery import make_app

    with make_app(load_settings(home=home.absolute())) as app, app.connection_for_write() as connection:
        try:
            return bool(app.control.ping(destination=[worker], timeout=1.0, limit=1, connection=connection))
        except Exception as exc:
            if isinstance(exc, (KombuError, *connection.connection_errors)):
                return False
            raise


def _listens(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=1.0):
        return True
