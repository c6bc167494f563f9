"""The durable runs of all projects, as one worker process works on them."""

from __future__ import annotations

import threading
from collections.abc import Collection

from celery import Celery

from agentic.core.hooks import get_registry
from agentic.core.ledger import ActivationId
from agentic.core.settings import Settings
from agentic.executors.durable.catalog import WorkflowCatalog
from agentic.executors.durable.messages import MessageDispatcher
from agentic.executors.durable.reconciler import Reconciler, Swept
from agentic.executors.durable.service import HostOptions, RunService, make_host
from agentic.executors.durable.worker import DurableWorker, Worked
from agentic.mappers import Database
from agentic.mappers.ledger import SqlLedger


class RunProcess:
    """Works on the durable runs of any project; made after fork, connects when first used.

    Args:
        settings: Of this process.
        database: Holds the ledger.
        app: Sends the messages.
        queues: What this process works off.
        is_alone: Whether this process does one activation at a time.
    """

    def __init__(
        self,
        settings: Settings,
        database: Database,
        app: Celery,
        queues: Collection[str],
        *,
        is_alone: bool = False,
    ) -> None:
        self._settings = settings
        self._database = database
        self._app = app
        self._queues = frozenset(queues)
        self._catalog = WorkflowCatalog(get_registry().workflows, settings.workflow_modules)
        self._services: dict[str, RunService] = {}
        self._dispatchers: list[MessageDispatcher] = []
        self._is_alone = is_alone
        self._lock = threading.Lock()

    def service(self, project_id: str) -> RunService:
        """Return what works on the runs of a project."""
        with self._lock:
            found = self._services.get(project_id)
            if found is None:
                dispatcher = MessageDispatcher(self._app, project_id)
                self._dispatchers.append(dispatcher)
                host = make_host(
                    SqlLedger(self._database, project_id=project_id),
                    self._catalog,
                    dispatcher,
                    HostOptions(queues=self._queues, lease_s=self._settings.lease_s, is_alone=self._is_alone),
                )
                found = self._services[project_id] = RunService(host)
            return found

    async def activate(self, project_id: str, wanted: ActivationId) -> Worked:
        """Do an activation, and go on with what follows it.

        Raises:
            LedgerUnavailableError: The ledger cannot be used.
        """
        return await DurableWorker(self.service(project_id).host).work(wanted)

    async def sweep(self, project_id: str) -> Swept:
        """See to what nobody works on in a project.

        Raises:
            LedgerUnavailableError: The ledger cannot be used.
        """
        return await Reconciler(self.service(project_id).host).sweep()

    def close(self) -> None:
        """End the threads; what was asked of the ledger and the broker is done first."""
        for service in self._services.values():
            service.close()
        for dispatcher in self._dispatchers:
            dispatcher.close()
