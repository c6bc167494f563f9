"""``agentic worker`` and ``agentic beat``: Celery's processes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.settings import load_settings
from agentic.executors.commands.run.running import checked_dispatcher
from agentic.executors.commands.shared.database import current_database
from agentic.executors.workers.keeping import Keeper, is_kept

if TYPE_CHECKING:
    from celery import Celery


class Pool(StrEnum):
    """How a worker runs several agents concurrently."""

    PREFORK = "prefork"
    THREADS = "threads"
    SOLO = "solo"


class WorkerLogLevel(StrEnum):
    """The lowest level to log."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def worker(
    *,
    concurrency: Annotated[
        int, typer.Option("--concurrency", "-c", min=1, help="Number of agents run at once.")
    ] = 2,
    pool: Annotated[
        Pool, typer.Option(help="Processes, or threads (for work that mostly waits).")
    ] = Pool.PREFORK,
    queues: Annotated[str | None, typer.Option(help="Queues to serve (comma-separated).")] = None,
    loglevel: Annotated[WorkerLogLevel, typer.Option(help="Lowest log level.")] = WorkerLogLevel.INFO,
    hostname: Annotated[str | None, typer.Option(help="Worker name: agentic@<host>.")] = None,
) -> None:
    """Run agents from the broker until stopped.

    After SIGTERM or Ctrl-C running agents get ten seconds to finish; interrupted
    work can be run again.
    """
    settings = load_settings()
    # Celery reads this on import: SIGTERM then means end soon, not end when all is done.
    os.environ.setdefault("REMAP_SIGTERM", "SIGQUIT")
    current_database(settings).dispose()
    checked_dispatcher(settings)

    is_child = is_kept()
    options = ["--concurrency", str(concurrency), "--pool", pool.value, "--loglevel", loglevel.value]
    options += ["--queues", queues] if queues else []
    options += ["--hostname", hostname or "agentic@%h"]
    if pool is not Pool.PREFORK and settings.stall_s and settings.sweep_s and not is_child:
        raise typer.Exit(Keeper(options).run())

    from agentic.executors.celery import app

    raise typer.Exit(run_worker(app, ["worker", *options, "--without-mingle", "--without-gossip"]))


def run_worker(app: Celery, arguments: Sequence[str]) -> int:
    """Run a Celery worker in this process; return the exit code of the process.

    The code is 0 after a request to stop, and another one when it ended by itself, so that a service
    manager restarts it (``Restart=on-failure``). Celery's own ``worker_main`` loses the code.
    """
    from celery.bin.celery import celery
    from celery.worker import state

    celery.params[0].default = app
    try:
        code: object = celery.main(args=[*arguments], standalone_mode=False)
    finally:
        celery.params[0].default = None
    # Not "in (None, False)": the code 0 of a signal equals False.
    signs: list[object] = [state.should_stop, state.should_terminate]
    was_asked = any(sign is not None and sign is not False for sign in signs)
    if isinstance(code, str) or (was_asked and code in (None, os.EX_OK)):
        return os.EX_OK  # a text: it was stopped by remote control, and reports it
    return code if isinstance(code, int) and code else os.EX_SOFTWARE


def beat(
    *,
    loglevel: Annotated[WorkerLogLevel, typer.Option(help="Lowest log level.")] = WorkerLogLevel.INFO,
) -> None:
    """Start due schedules until stopped; several beats may run at once."""
    settings = load_settings()
    current_database(settings).dispose()
    checked_dispatcher(settings)

    from agentic.executors.celery import app

    app.start(["beat", "--pidfile", "", "--loglevel", loglevel.value])
