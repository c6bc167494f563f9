"""Puts together the parts of one process for a project's durable runs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from agentic.core.graph.model.events import WorkflowEvent
from agentic.core.graph.model.history import HistorySource
from agentic.core.ledger import LedgerStore
from agentic.core.ledger.records import DEFAULT_QUEUE
from agentic.core.types import RunId
from agentic.executors.durable.runs.catalog import WorkflowCatalog
from agentic.executors.durable.runs.handle import AsyncRunHandle
from agentic.executors.durable.runs.starting import Submission, start_run
from agentic.executors.durable.worker.claiming import Claimant
from agentic.executors.durable.worker.host import Dispatcher, OnCut, RunHost
from agentic.executors.durable.worker.leases import LEASE_S, Leases
from agentic.executors.durable.worker.ledger_executor import DirectLedgerExecutor, LedgerExecutor
from agentic.executors.durable.worker.process_names import process_name
from agentic.executors.durable.worker.run_cache import RunCache


@dataclass(frozen=True, slots=True, kw_only=True)
class HostOptions:
    """How a process works on durable runs.

    Attributes:
        queues: The queues it works on.
        lease_s: How long a claim outlives it.
        is_alone: Whether it does one activation at a time.
        tell: Receives events, durable and live.
        history: The source for ``ctx.history()``, unless the workflow names another.
        only: The one run to work on, with its child runs; None for any.
        worker: Readable name of this process; host and process id by default.
        on_cut: Writes further changes when a run ends without its code.
        on_refused: Called with the reason why this process cannot run a claim; all may claim it again.
    """

    queues: Collection[str] = (DEFAULT_QUEUE,)
    lease_s: float = LEASE_S
    is_alone: bool = False
    tell: Callable[[WorkflowEvent], None] | None = None
    history: HistorySource | None = None
    only: RunId | None = None
    worker: str = field(default_factory=process_name)
    on_cut: OnCut | None = None
    on_refused: Callable[[Exception], None] | None = None


def make_host(
    store: LedgerStore, catalog: WorkflowCatalog, dispatcher: Dispatcher, options: HostOptions
) -> RunHost:
    """Return the shared parts of a process; nothing is connected or started yet.

    Args:
        store: The ledger.
        catalog: Finds the workflows.
        dispatcher: Notifies workers of activations.
        options: How this process works.
    """
    ledger_executor = DirectLedgerExecutor(store) if options.is_alone else LedgerExecutor(store)
    return RunHost(
        ledger_executor=ledger_executor,
        catalog=catalog,
        run_cache=RunCache(ledger_executor, catalog),
        leases=Leases(store, options.lease_s),
        dispatcher=dispatcher,
        tell=options.tell,
        history=options.history,
        on_cut=options.on_cut,
        on_refused=options.on_refused,
        me=Claimant(
            worker=options.worker,
            queues=frozenset(options.queues),
            lease_s=options.lease_s,
            only=options.only,
        ),
    )


class RunService:
    """Accepts runs and returns their handles; workers do the work.

    Args:
        host: The parts of this process.
    """

    def __init__(self, host: RunHost) -> None:
        self.host = host

    async def submit(self, workflow: str, message: object, how: Submission | None = None) -> AsyncRunHandle:
        """Accept a run.

        Args:
            workflow: Its name: from a plugin, or ``package.module:factory`` of a trusted package.
            message: Given to every start executor.
            how: Its id, priority and idempotency key.

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
        run_id = await start_run(self.host, workflow, message, how or Submission())
        return AsyncRunHandle(self.host, run_id)

    def handle(self, run_id: str) -> AsyncRunHandle:
        """Return the handle of an accepted run."""
        return AsyncRunHandle(self.host, run_id)

    def close(self) -> None:
        """End the threads after all pending calls to the ledger."""
        self.host.leases.close()
        self.host.ledger_executor.close()
