"""Durable runs for programs that block: submit one, wait for its result."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Self

from agentic.core.graph.model.events import WorkflowEvent
from agentic.core.graph.model.result import RunResult, RunStatus
from agentic.core.hooks import get_registry
from agentic.core.ledger import RunRow
from agentic.core.settings import Settings, load_settings
from agentic.core.threads import in_thread
from agentic.executors.agents.ending import end_cut_off
from agentic.executors.agents.observing import Observers
from agentic.executors.agents.workflows import make_catalog
from agentic.executors.durable.runs.handle import AsyncRunHandle
from agentic.executors.durable.runs.local import HostOptions, LocalRuns
from agentic.executors.durable.runs.service import RunService, Submission
from agentic.executors.durable.worker.host import RunHost
from agentic.executors.durable.worker.process_names import process_name
from agentic.executors.workers.loop import LoopThread
from agentic.mappers import Database
from agentic.mappers.catalog.projects import ensure_project
from agentic.mappers.ledger.ledger import SqlLedger
from agentic.migrations import require_current


class RunHandle:
    """An accepted durable run.

    Args:
        client: The client of this process.
        handle: The run.
    """

    def __init__(self, client: RunClient, handle: AsyncRunHandle) -> None:
        self._client = client
        self._handle = handle

    @property
    def run_id(self) -> str:
        """The run."""
        return self._handle.run_id

    def row(self) -> RunRow:
        """Return the run's row in the ledger.

        Raises:
            UnknownRunError: The run does not exist.
        """
        return self._client.loop.run(self._handle.row())

    def status(self) -> RunStatus:
        """Return the run's status.

        Raises:
            UnknownRunError: The run does not exist.
        """
        return self._client.loop.run(self._handle.status())

    def result(self, timeout_s: float | None = None) -> RunResult:
        """Wait until the run has ended, or waits for answers, and return its result.

        A failed run has a result, too: its ``error`` says why.

        Raises:
            UnknownRunError: The run does not exist.
            TimeoutError: The run is still active.
        """
        return self._client.loop.run(self._handle.result(timeout_s))

    def events(self, after: int = 0) -> list[WorkflowEvent]:
        """Return the run's durable events after a sequence number, in order."""
        return self._client.loop.run(self._handle.events(after))

    def answer(self, responses: Mapping[str, object], *, answered_by: str = "") -> None:
        """Answer requests of the run, by request id.

        Raises:
            RunEndedError: It has completed.
            CancelledRunError: It is cancelled, or will be; :meth:`resume` continues it.
            LateAnswerError: The request has expired by the clock of the database.
            UnknownRequestError: An answer matches no open request; nothing is changed.
            AnswerError: An answer has the wrong type; nothing is changed.
        """
        self._client.loop.run(self._handle.answer(responses, answered_by))

    def resume(self) -> None:
        """Continue a failed or cancelled run from where it stopped.

        Raises:
            RunEndedError: It has completed.
        """
        self._client.loop.run(self._handle.resume())

    def cancel(self, reason: str = "cancelled") -> bool:
        """Request the run's cancellation; False when it has already ended."""
        return self._client.loop.run(self._handle.cancel(reason))

    def pause(self, *, is_paused: bool = True) -> bool:
        """Pause the run, or continue it; False when it has already ended."""
        return self._client.loop.run(self._handle.pause(is_paused=is_paused))


class RunClient:
    """Submits durable runs of a project; with the dispatcher ``local`` it works on them, too.

    Use it as a context manager, or call :meth:`close`. A missing project is created.

    Args:
        settings: Name the database, the broker, the dispatcher and the project.

    Raises:
        AgenticError: The database cannot be used, or lacks tables.
    """

    def __init__(self, settings: Settings) -> None:
        self._database = Database.configured(settings)
        require_current(self._database, get_registry())
        with self._database.writing() as session:
            self._project_id = ensure_project(session, settings.project).id
        self._opened = AsyncExitStack()
        self.loop = LoopThread(self._opened.aclose)
        try:
            self._service = self.loop.run(self._start(settings))
        except BaseException:
            self.loop.close("it could not start")
            self._database.dispose()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, workflow: str, message: object, how: Submission | None = None) -> RunHandle:
        """Accept a run; see :func:`submit`."""
        return RunHandle(self, self.loop.run(self._service.submit(workflow, message, how)))

    def handle(self, run_id: str) -> RunHandle:
        """Return the handle of an accepted run."""
        return RunHandle(self, self._service.handle(run_id))

    def close(self) -> None:
        """Stop; this process's activations return to the ledger."""
        self.loop.close("its process ends")
        self._service.close()
        self._database.dispose()

    async def _start(self, settings: Settings) -> RunService:
        store = SqlLedger(self._database, project_id=self._project_id)
        observers = Observers(self._database)
        self._opened.push_async_callback(in_thread, observers.close)
        options = HostOptions(
            lease_s=settings.lease_s,
            tell=partial(observers.tell, settings.project),
            on_cut=partial(end_cut_off, project_id=self._project_id),
        )
        catalog = make_catalog(settings, self._database, self._project_id, process_name())
        if settings.dispatcher == "local":
            return await self._opened.enter_async_context(LocalRuns(store, catalog, options=options))
        from agentic.executors.celery import make_app
        from agentic.executors.durable.publish.messages import MessageDispatcher

        dispatcher = MessageDispatcher(make_app(settings), self._project_id)
        self._opened.callback(dispatcher.close)
        return RunService(RunHost(store=store, catalog=catalog, dispatcher=dispatcher, **options))


_clients: dict[int, RunClient] = {}
_lock = threading.Lock()


def submit(
    workflow: str,
    message: object,
    *,
    run_id: str | None = None,
    idempotency_key: str | None = None,
    priority: int = 0,
) -> RunHandle:
    """Accept a durable run: it will reach its end, whatever happens to this process.

    With ``AGENTIC_DISPATCHER=celery`` workers work on it; else this process does while it lives, and any
    other process with the same database continues it.

    Args:
        workflow: A plugin's workflow by name, or ``package.module:factory`` of a package that
            ``AGENTIC_WORKFLOW_MODULES`` names.
        message: Given to every start executor.
        run_id: Its name, without ``/``; a new one when omitted.
        idempotency_key: A second submission with the same key gives the first one's run.
        priority: 0 to 9; higher goes first.

    Raises:
        UnknownWorkflowError: No workflow has this name.
        MessageTypeError: A start executor does not take ``message``.
        UnencodableError: ``message`` cannot be stored.
        UnstorableTypesError: Runs of the workflow cannot be stored.
        RunExistsError: Another run has this id.
        PriorityError: The priority is invalid.
        InvalidRunIdError: The id is invalid.
        IdempotencyKeyError: The key cannot be stored.
        LedgerUnavailableError: The ledger cannot be used; nothing was accepted.
    """
    how = Submission(run_id=run_id, idempotency_key=idempotency_key, priority=priority)
    return current_client().submit(workflow, message, how)


def current_client() -> RunClient:
    """Return the client of this process, made on first use."""
    with _lock:
        client = _clients.get(os.getpid())
        if client is None:
            client = _clients[os.getpid()] = RunClient(load_settings())
            _at_exit(client.close)
        return client


def _at_exit(close: Callable[[], object]) -> None:
    """Register ``close`` to be called while threads can still start, because it may need them.

    ``atexit`` runs after the pools of :mod:`concurrent.futures` have ended. :mod:`threading` ends those
    pools, and calls first the function that was registered last.
    """
    import concurrent.futures.thread  # noqa: F401  # registers the end of the pools, before this

    register: Callable[[Callable[[], object]], object] = getattr(
        threading, "_register_atexit", atexit.register
    )
    register(close)
