"""Accepts durable runs of a project."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from agentic.core.graph.names import checked_run_id, is_storable
from agentic.core.ids import new_id
from agentic.core.ledger import Dispatchable, LedgerTransaction, NewRun
from agentic.core.ledger.records import MAX_PRIORITY
from agentic.core.types import RunId
from agentic.executors.durable.errors import IdempotencyKeyError, PriorityError
from agentic.executors.durable.runs.beginning import begin
from agentic.executors.durable.runs.handle import AsyncRunHandle
from agentic.executors.durable.worker.host import RunHost, mark, pending


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """How to accept a run.

    Attributes:
        run_id: Its name, without ``/``; a new one when omitted.
        idempotency_key: A second submission with the same key gives the first one's run.
        priority: 0 to 9; higher goes first.
        is_told: Whether workers are notified at once; else the submitting process works on it.
    """

    run_id: str | None = None
    idempotency_key: str | None = None
    priority: int = 0
    is_told: bool = True


class RunService:
    """Accepts runs and returns their handles; workers do the work.

    Args:
        host: The parts of this process.
    """

    def __init__(self, host: RunHost) -> None:
        self.host = host

    async def submit(self, workflow: str, message: object, how: Submission | None = None) -> AsyncRunHandle:
        """Accept a run and notify workers.

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
        host, how = self.host, how or Submission()
        if not 0 <= how.priority <= MAX_PRIORITY:
            raise PriorityError(how.priority)
        if how.idempotency_key is not None and not is_storable(how.idempotency_key):
            raise IdempotencyKeyError(how.idempotency_key)
        run_id = RunId(new_id()) if how.run_id is None else checked_run_id(how.run_id)
        registered = await asyncio.to_thread(host.catalog.get, workflow)
        cached_run, plan = begin(registered, run_id, message, time.time())
        new = NewRun(
            step=plan.step,
            workflow=workflow,
            idempotency_key=how.idempotency_key,
            priority=how.priority,
            max_parallel=registered.workflow.config.max_parallel,
        )

        def write(ledger: LedgerTransaction) -> tuple[RunId, list[Dispatchable]]:
            is_known = ledger.run(run_id) is not None
            accepted = ledger.add_run(new)
            if is_known or accepted != run_id:
                return accepted, []
            if plan.on_commit:
                ledger.apply(plan.on_commit)
            others = pending(plan.step.activations, workflow, how.priority)
            mark(ledger, others)
            return accepted, others

        accepted, others = await host.ledger_executor.do(write)
        if others:  # it is new
            host.take(cached_run, plan)
        if how.is_told:
            await host.spread(others)
        return AsyncRunHandle(host, accepted)

    def handle(self, run_id: str) -> AsyncRunHandle:
        """Return the handle of an accepted run."""
        return AsyncRunHandle(self.host, run_id)

    def close(self) -> None:
        """End the threads after all pending calls to the ledger."""
        self.host.leases.close()
        self.host.ledger_executor.close()
