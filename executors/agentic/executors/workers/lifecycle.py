"""The resources that a worker process keeps between tasks: loop, database, durable runs; made after fork."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import TypeVar

import billiard
from celery import Celery, current_task
from celery.beat import Service
from celery.concurrency.prefork import TaskPool as ProcessPool
from celery.exceptions import Reject, SoftTimeLimitExceeded
from celery.signals import (
    after_setup_logger,
    after_setup_task_logger,
    beat_init,
    celeryd_init,
    worker_process_init,
    worker_process_shutdown,
    worker_ready,
    worker_shutdown,
)
from celery.utils.log import mlevel
from celery.worker.consumer import Consumer

from agentic.core.garbage import tune_gc
from agentic.core.hooks import get_registry
from agentic.core.ledger import ActivationId
from agentic.core.logging import configure_logging, mask_handlers
from agentic.core.services.orphans import end_with_parent
from agentic.core.settings import Settings, load_settings
from agentic.core.terminal import harmless
from agentic.core.threads import in_thread
from agentic.executors.agents.outcome import ExecutionOutcome
from agentic.executors.durable.worker.ledger_executor import patiently
from agentic.executors.durable.worker.process import RunProcess
from agentic.executors.durable.worker.process_names import process_name
from agentic.executors.durable.worker.worker import Worked
from agentic.executors.errors import BrokerUnavailableError
from agentic.executors.workers.loop import LoopClosedError, LoopThread
from agentic.executors.workers.pulse import close_pulse, make_folder
from agentic.executors.workers.stopping import SoftStop, let_interrupt_terminate
from agentic.executors.workers.task_progress import TaskProgress
from agentic.mappers import Database
from agentic.migrations import require_current

T = TypeVar("T")

STOPPED = "its worker was stopped"
MAIN_PROCESS = "MainProcess"


class WorkerProcess:
    """The connections of one process; the tasks of a thread pool share them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.database = Database.configured(settings)
        self._loop = LoopThread(self._finish)
        self._is_checked = False
        self._runs: RunProcess | None = None

    def run_agent(
        self, app: Celery, execution_id: str, agent_id: str, *, is_again: bool = False
    ) -> ExecutionOutcome:
        """Start an execution, and work on it in place; see :meth:`RunProcess.run_agent`.

        Raises:
            AgenticError: It failed; or the database is missing or not migrated, or lacks the execution.
            Reject: The worker stops; its current work is returned.
        """
        runs = self._runs_of(app)
        progress = TaskProgress(current_task)
        run = partial(runs.run_agent, execution_id, agent_id, is_again=is_again, on_claim=progress)
        return self._do(self._checked(run))

    def activate(self, app: Celery, project_id: str, wanted: ActivationId) -> Worked:
        """Do an activation of a durable run, and the next ones in place; wait until that is done.

        Raises:
            AgenticError: The database is missing or not migrated, or cannot be used.
            Reject: The worker stops; its current work is returned.
        """
        runs = self._runs_of(app)
        progress = TaskProgress(current_task)
        return self._do(self._checked(partial(runs.activate, project_id, wanted, on_claim=progress)))

    async def _checked(self, do: Callable[[], Awaitable[T]]) -> T:
        if not self._is_checked:
            await patiently(lambda: in_thread(self.check_database))
        return await do()

    async def _finish(self) -> None:
        if self._runs is not None:
            await self._runs.aclose()

    def _do(self, work: Coroutine[object, object, T]) -> T:
        try:
            return self._loop.run(work, explain=_why)
        except LoopClosedError as exc:
            raise Reject(str(exc), requeue=True) from None

    def _runs_of(self, app: Celery) -> RunProcess:
        with _lock:
            self._runs = self._runs or self._run_process(app)
            return self._runs

    def _run_process(self, app: Celery) -> RunProcess:
        is_alone = billiard.current_process().name != MAIN_PROCESS  # one of the prefork pool
        return RunProcess(
            self.settings,
            self.database,
            app,
            app.amqp.queues.consume_from,
            is_alone=is_alone,
            worker=process_name(current_task.request.hostname),
        )

    def check_database(self) -> None:
        """Refuse a database that lacks tables; a complete one is not checked again.

        Raises:
            DatabaseNotMigratedError: Some are missing or old.
        """
        if not self._is_checked:
            require_current(self.database, get_registry())
            self._is_checked = True

    def close(self) -> None:
        """End all running work, then close the loop and the database."""
        self._loop.close(STOPPED)
        close_pulse()
        if self._runs is not None:
            self._runs.close()
        self.database.dispose()


_processes: dict[int, WorkerProcess] = {}
_lock = threading.Lock()


def current_process() -> WorkerProcess:
    """Return the resources of this process, made on first use: a fork would share them."""
    with _lock:
        process = _processes.get(os.getpid())
        if process is None:
            process = _processes[os.getpid()] = WorkerProcess(load_settings())
        return process


_folders: list[Path] = []


@worker_shutdown.connect
def remove_folder(**_facts: object) -> None:
    """Remove the pulse folder of this worker's processes."""
    while _folders:
        rmtree(_folders.pop(), ignore_errors=True)


@worker_process_shutdown.connect  # a child of the prefork pool
@worker_shutdown.connect  # the worker itself, where tasks run in it: the pools threads and solo
def close_process(**_facts: object) -> None:
    """Close the resources of this process."""
    process = _processes.get(os.getpid())
    if process is not None:
        process.close()


@worker_process_init.connect
def bind_process(**_facts: object) -> None:
    """End each process of the prefork pool with its worker; the pool ``solo`` sends this signal, too."""
    if billiard.current_process().name != MAIN_PROCESS:
        end_with_parent()


@worker_ready.connect
def prepare_stop(sender: Consumer, **_facts: object) -> None:
    """Make each signal that stops a worker mean the same in each pool."""
    if not isinstance(sender.pool, ProcessPool):
        SoftStop(close_process, sender.app.conf.worker_soft_shutdown_timeout).install()
    elif os.environ.get("REMAP_SIGTERM") == "SIGQUIT":
        let_interrupt_terminate()


@celeryd_init.connect
def prepare_worker(
    conf: Mapping[str, object], options: Mapping[str, str | int | None], **_facts: object
) -> None:
    """Refuse to start without a broker; set structlog to the worker's log level.

    Celery then sets up its own logging. Pool processes inherit all of this.
    """
    _require_broker(conf)
    load_plugins()
    tune_gc()
    _folders.append(make_folder())
    level = logging.getLevelName(mlevel(options.get("loglevel") or logging.WARNING))
    configure_logging(level, load_settings().log_format)


def load_plugins() -> None:
    """Load the plugins before the pool forks: else each of its processes would do it at its first task.

    That takes half a second, which would count toward the task's time limit. A plugin's fault is kept as
    its error.
    """
    registry = get_registry()
    _ = registry.platforms, registry.workflows  # loaded on first use, then kept


@after_setup_logger.connect
@after_setup_task_logger.connect
def mask_logs(logger: logging.Logger, **_facts: object) -> None:
    """Mask the secrets that this process has read in the log lines of libraries and of beat."""
    mask_handlers(logger)


@beat_init.connect
def prepare_beat(sender: Service, **_facts: object) -> None:
    """Refuse to start without a broker."""
    _require_broker(sender.app.conf)


def _require_broker(conf: Mapping[str, object]) -> None:
    if not conf["broker_url"]:
        # Celery would try an AMQP server on this machine forever.
        error = BrokerUnavailableError(None)
        sys.stderr.write(f"agentic: {harmless(str(error))}\n")
        raise SystemExit(error.exit_code)


def _why(interruption: BaseException) -> str:
    """Return why a run is stopped from outside."""
    if isinstance(interruption, SoftTimeLimitExceeded):
        return "its time limit passed"
    return STOPPED
