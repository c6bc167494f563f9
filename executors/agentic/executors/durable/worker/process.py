"""Works on the durable runs of all projects in one worker process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from contextlib import AsyncExitStack
from functools import partial

from celery import Celery

from agentic.core.bus import Bus, BusError, Buses, open_buses
from agentic.core.bus.projections.buckets import learnt_patterns
from agentic.core.bus.projections.patterns import KvHistory
from agentic.core.graph.model.events import WorkflowEvent
from agentic.core.graph.model.history import ExecutorHistory
from agentic.core.ledger import ActivationId
from agentic.core.logging import get_logger
from agentic.core.settings import Settings
from agentic.core.threads import in_thread
from agentic.core.types import ExecutorId, RunId
from agentic.executors.agents.ending import end_cut_off
from agentic.executors.agents.observing import Observers
from agentic.executors.agents.outcome import ExecutionOutcome
from agentic.executors.agents.runner import begin_here, begin_waiting, find_both, first_of, outcome_of
from agentic.executors.agents.workflows import make_catalog
from agentic.executors.durable.errors import RunFailedError
from agentic.executors.durable.publish.live import LiveEvents
from agentic.executors.durable.publish.messages import MessageDispatcher
from agentic.executors.durable.reconcile.reconciler import Reconciler, Swept
from agentic.executors.durable.runs.catalog import WorkflowCatalog
from agentic.executors.durable.runs.service import RunService
from agentic.executors.durable.worker.host import RunHost
from agentic.executors.durable.worker.ledger_executor import patiently
from agentic.executors.durable.worker.pool import WorkerPool
from agentic.executors.durable.worker.process_names import process_name
from agentic.executors.durable.worker.worker import OnClaim, Worked
from agentic.executors.errors import AgentNotRunnableError, ExecutionFailedError
from agentic.executors.workers.dispatch import agent_queue
from agentic.executors.workers.stalling import Stalled
from agentic.mappers import Database, ProjectModel
from agentic.mappers.ledger.ledger import SqlLedger

log = get_logger(__name__)


class ProjectHistory:
    """Looks up past runs of a project; implements :class:`~agentic.core.graph.HistorySource`.

    When the bus is unavailable, no run fails: the history is empty, and the log says so.

    Args:
        bus_of: Returns the bus of a project, or None.
        project: Name of the project.
    """

    def __init__(self, bus_of: Callable[[str], Bus | None], project: str) -> None:
        self._bus_of = bus_of
        self._project = project

    async def history(self, executor_id: ExecutorId) -> ExecutorHistory:
        """Return the known history of an executor, which may be empty."""
        bus = self._bus_of(self._project)
        if bus is None:
            return ExecutorHistory()
        try:
            return await KvHistory(learnt_patterns(bus, self._project)).history(executor_id)
        except BusError as exc:
            log.warning("history.unavailable", executor_id=executor_id, reason=str(exc))
            return ExecutorHistory()


class RunProcess:
    """Works on the durable runs of any project; made after fork, connects on first use.

    Args:
        settings: The settings of this process.
        database: Holds the ledger.
        app: Sends the messages.
        queues: The queues this process works on.
        is_alone: Whether this process does one activation at a time.
        worker: Its readable name; host and process id by default.
    """

    def __init__(
        self,
        settings: Settings,
        database: Database,
        app: Celery,
        queues: Collection[str],
        *,
        is_alone: bool = False,
        worker: str | None = None,
    ) -> None:
        self._settings = settings
        self._database = database
        self._app = app
        self._opened = AsyncExitStack()
        self._live: LiveEvents | None = None
        self._buses: Buses | None = None
        self._queues = queues
        self._is_alone = is_alone
        self._worker = process_name() if worker is None else worker
        self._observers = Observers(database)
        self._catalogs: list[WorkflowCatalog] = []
        self._services: dict[str, RunService] = {}
        self._dispatchers: list[MessageDispatcher] = []
        self._ledgers: list[SqlLedger] = []
        self._lock = threading.Lock()

    def service(self, project_id: str) -> RunService:
        """Return the service for the runs of a project."""
        with self._lock:
            found = self._services.get(project_id)
            if found is None:
                dispatcher = MessageDispatcher(self._app, project_id)
                self._dispatchers.append(dispatcher)
                project = self._name_of(project_id)
                past = ProjectHistory(self._bus_of, project)
                ledger = SqlLedger(self._database, project_id=project_id)
                self._ledgers.append(ledger)
                host = RunHost(
                    store=ledger,
                    catalog=self._catalog_of(project_id),
                    dispatcher=dispatcher,
                    queues=self._queues,
                    worker=self._worker,
                    lease_s=self._settings.lease_s,
                    is_alone=self._is_alone,
                    tell=partial(self._tell, project),
                    history=past,
                    on_cut=partial(end_cut_off, project_id=project_id),
                )
                found = self._services[project_id] = RunService(host)
            return found

    async def activate(
        self, project_id: str, wanted: ActivationId, *, on_claim: OnClaim | None = None
    ) -> Worked:
        """Do an activation, and continue with the next; calls ``on_claim`` with each that begins.

        Raises:
            LedgerUnavailableError: The ledger cannot be used.
        """
        await self._connect()
        service = await self._patient_service(project_id)
        return await WorkerPool(service.host, on_claim=on_claim).work(wanted)

    async def run_agent(
        self, execution_id: str, agent_id: str, *, is_again: bool = False, on_claim: OnClaim | None = None
    ) -> ExecutionOutcome:
        """Work on an execution in place; one that already began is left to its workers.

        Args:
            execution_id: The execution.
            agent_id: Its agent.
            is_again: The message came back, because the process that had it was killed.
            on_claim: Called with each activation that begins.

        Raises:
            UnknownExecutionError: The agent has no such execution.
            ExecutionFailedError: It failed.
            RunFailedError: Other runs failed, which had priority.
            LedgerUnavailableError: The ledger cannot be used.
        """
        await self._connect()
        execution, agent = await patiently(
            lambda: in_thread(find_both, self._database, execution_id, agent_id)
        )
        service = await self._patient_service(agent.project_id)
        try:
            # The run's start may have killed the message's last process: the reconciler decides.
            first = (
                first_of(execution)
                if is_again
                else await patiently(partial(begin_here, service, self._database, execution, agent))
            )
        except AgentNotRunnableError:
            self._observers.refused(agent.project.name, execution_id)
            raise
        worked = await WorkerPool(service.host, on_claim=on_claim).work(first)
        outcome = await patiently(lambda: in_thread(outcome_of, self._database, execution_id, agent_id))
        if execution_id in worked.failed:
            raise ExecutionFailedError(outcome.error or worked.failed[RunId(execution_id)])
        if worked.failed:  # of other runs, which had priority: Flower must show their end, too
            raise RunFailedError(worked.failed)
        return outcome

    async def sweep(self, project_id: str) -> Swept:
        """Recover abandoned work in a project.

        Raises:
            LedgerUnavailableError: The ledger cannot be used.
        """
        service = self.service(project_id)
        begun = await begin_waiting(service, self._database, project_id)
        swept = await Reconciler(service.host).sweep()
        swept.dispatched += begun
        return swept

    async def take_from(self, project_id: str, stalled: Stalled) -> None:
        """Take back the activations of a stalled process in a project.

        Raises:
            LedgerUnavailableError: The ledger cannot be used.
        """
        await Reconciler(self.service(project_id).host).take_from(stalled)

    async def aclose(self) -> None:
        """Close all that this and the workflows have opened on the event loop."""
        for catalog in self._catalogs:
            await catalog.aclose()
        if self._live is not None:
            await self._live.aclose()
        await self._opened.aclose()
        await in_thread(self._observers.close)

    async def _patient_service(self, project_id: str) -> RunService:
        if (found := self._services.get(project_id)) is not None:
            return found
        return await patiently(lambda: in_thread(self.service, project_id))

    async def _connect(self) -> None:
        """Set up live events and the history, if there is a bus; it connects on first use."""
        if self._live is None and self._settings.nats is not None:
            self._buses = await self._opened.enter_async_context(open_buses(self._settings))
            self._live = LiveEvents(self._buses.of)

    def _catalog_of(self, project_id: str) -> WorkflowCatalog:
        """Return a project's own catalog: it has no agents of other projects."""
        catalog = make_catalog(
            self._settings, self._database, project_id, self._worker, partial(agent_queue, self._app)
        )
        self._catalogs.append(catalog)
        return catalog

    def _bus_of(self, project: str) -> Bus | None:
        return None if self._buses is None else self._buses.of(project)

    def _tell(self, project: str, event: WorkflowEvent) -> None:
        self._observers.tell(project, event)
        if self._live is not None:
            self._live.tell(project, event)

    def _name_of(self, project_id: str) -> str:
        with self._database.reading() as session:
            project = session.get(ProjectModel, project_id)
            return project_id if project is None else project.name

    def close(self) -> None:
        """End the threads after all pending calls to the ledger and the broker."""
        for service in self._services.values():
            service.close()
        for dispatcher in self._dispatchers:
            dispatcher.close()
        # A command makes one of these for each of hundreds of decisions: open connections would run out.
        for ledger in self._ledgers:
            ledger.rest()
