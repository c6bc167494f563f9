"""The ledger: the authoritative record of runs and activations; all other parts follow it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from agentic.core.audit import Decision
from agentic.core.graph.checkpoints.store import StoredCheckpoint
from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger.records import (
    ActivationId,
    ActivationOutcome,
    ActivationRow,
    ActivationStatus,
    Claimed,
    Dispatchable,
    EventBatch,
    Lease,
    LeaseState,
    LedgerStep,
    NewRun,
    RunRow,
    Settled,
    StateChanges,
)
from agentic.core.types import RunId

OnCommit = Callable[[Any], object]
"""Called with the session of the transaction: an SQLAlchemy ``Session`` in the stores of this project."""


class Runs(Protocol):
    """Runs, within a transaction."""

    def now(self) -> float:
        """Return the store's clock, in seconds since the epoch; it is the same for all workers."""
        ...

    def add_run(self, new: NewRun) -> RunId:
        """Accept a run and return its id; a repeated idempotency key returns the id of the earlier run.

        Raises:
            RunExistsError: Another run has its id.
        """
        ...

    def run(self, run_id: RunId, *, lock: bool = False) -> RunRow | None:
        """Return a run.

        Args:
            run_id: The run.
            lock: Until this transaction ends, no other can change the run or close its activations.
        """
        ...

    def advance(self, run_id: RunId, superstep: int, revision: int, step: LedgerStep) -> bool:
        """Write a step, if the run is still where it was when the step was decided.

        The run takes superstep, revision and status from the step's checkpoint, and its error and times.
        Open activations of the superstep that it leaves or interrupted are skipped; their claims are void.
        Of the activations that are due now, each executor's first ``lanes`` are pending and the others
        blocked; activations with a result are done. If one exists already, because its superstep was
        interrupted, it is created again with a higher fence. When the run ends or rests, the activation that
        waits for it becomes pending.

        A step without activations that stays in a running superstep does not change its activations. A run
        that failed or was cancelled can continue: this clears the request to cancel it.

        Returns:
            False when another process moved the run. Nothing is written.
        """
        ...

    def request_cancel(self, run_id: RunId, reason: str) -> bool:
        """Request that a run is cancelled: claims of it stop. False when it has ended."""
        ...

    def pause(self, run_id: RunId, *, is_paused: bool) -> bool:
        """Stop claims of a run, or resume it and dispatch it again. False when it has ended."""
        ...

    def note(self, run_id: RunId, note: str | None) -> None:
        """Record why a run does not continue."""
        ...

    def list_runs(
        self, *, statuses: Collection[RunStatus] | None = None, workflow: str | None = None, limit: int = 50
    ) -> Sequence[RunRow]:
        """Return runs, the newest first; runs of the same time come in any order."""
        ...

    def children(self, run_id: RunId) -> Sequence[RunRow]:
        """Return the child runs of a run that have not ended."""
        ...

    def neglected_runs(self, *, cancel_grace_s: float, limit: int = 100) -> Sequence[RunRow]:
        """Return runs that need a decision because the process that should have decided is gone.

        A run is neglected when its superstep has no open activation, or when its deadline or the deadline of
        a request has passed. A run that must be cancelled is neglected when none of its activations runs, or
        when the request is older than ``cancel_grace_s``.
        """
        ...


class Activations(Protocol):
    """Activations, within a transaction."""

    def claim(
        self, activation_id: ActivationId, worker: str, lease_s: float, *, waits: bool = True
    ) -> Claimed | None:
        """Claim an activation, if it may run now.

        It must be pending, and its ``not_before`` must be past. Its run must be running, at this superstep,
        neither paused nor cancelled. The limits of its run and of its project must allow one more.

        Args:
            activation_id: The activation.
            worker: The worker that claims it.
            lease_s: How long the claim lasts unless it is extended.
            waits: Whether to wait while another process decides about the run; if not, return None.

        Returns:
            None when it may not run. Drop the message that announced it.
        """
        ...

    def first_in_line(self, queue: str, limit: int = 1) -> Sequence[ActivationId]:
        """Return the first of the due activations in a queue, the best first.

        The order is the same as in :meth:`claimable`. Limits are not checked, so this takes almost no time,
        however many activations there are.
        """
        ...

    def claimable(
        self,
        queues: Collection[str],
        *,
        run_id: RunId | None = None,
        above: int | None = None,
        limit: int = 1,
    ) -> Sequence[Dispatchable]:
        """Return the activations that can be claimed now, the best first.

        The highest priority goes first, then the run that began first: a child run counts from the start of
        the outermost run around it. So older runs end before new runs begin.

        Args:
            queues: Only from these queues.
            run_id: Only from this run.
            above: Only with a higher priority than this.
            limit: At most this number.
        """
        ...

    def extend(self, leases: Sequence[Lease], lease_s: float) -> Sequence[LeaseState]:
        """Extend leases; return the state of each, in order."""
        ...

    def settle(self, lease: Lease, settled: Settled) -> bool:
        """Write the new state of a claimed activation.

        Closing one makes the next blocked one of its executor pending, or skips all of them. An activation
        that waits for a child run becomes its parent; if the child does not run, it is pending at once.

        Returns:
            False when the lease is no longer valid. Undo everything that belongs to it.
        """
        ...

    def keep_effect(self, lease: Lease, origin: str, key: str, text: str) -> bool:
        """Record the result of a call that must not be repeated. False when the lease is not valid.

        Args:
            lease: Lease of the activation that called.
            origin: Name of the activation's first entry; effects belong to it.
            key: Names the call within the activation.
            text: The result, as JSON.
        """
        ...

    def effects(self, run_id: RunId, origin: str) -> Mapping[str, str]:
        """Return the recorded results of calls, by key."""
        ...

    def has_open(self, run_id: RunId, superstep: int) -> bool:
        """Whether a superstep still waits for an activation."""
        ...

    def outcomes(self, run_id: RunId, superstep: int) -> Sequence[ActivationOutcome]:
        """Return the closed activations of a superstep, in planner order."""
        ...

    def activation(self, activation_id: ActivationId, *, lock: bool = False) -> ActivationRow | None:
        """Return an activation.

        Args:
            activation_id: The activation.
            lock: Until this transaction ends, no other can change it or extend its lease.
        """
        ...

    def list_activations(
        self,
        *,
        run_id: RunId | None = None,
        statuses: Collection[ActivationStatus] | None = None,
        limit: int = 1000,
    ) -> Sequence[ActivationRow]:
        """Return activations: the newest superstep first, in planner order within it."""
        ...

    def expired(self, limit: int = 100) -> Sequence[ActivationRow]:
        """Return running activations whose lease has ended."""
        ...

    def retry(self, activation_id: ActivationId) -> bool:
        """Run an activation again that waits for a person. False when it does not wait."""
        ...

    def mark_dispatched(self, ids: Collection[ActivationId], *, is_dispatched: bool = True) -> None:
        """Record that activations were dispatched now, or must be dispatched again."""
        ...

    def undispatched(self, *, older_than_s: float, limit: int = 100) -> Sequence[Dispatchable]:
        """Return pending activations that are due and were not dispatched for that time, the best first."""
        ...


class RunStates(Protocol):
    """Checkpoints and events, within a transaction; :meth:`Runs.advance` writes them."""

    def load(self, run_id: RunId) -> StoredCheckpoint:
        """Return a run's newest checkpoint.

        Raises:
            CheckpointNotFoundError: The run does not exist.
        """
        ...

    def changes_since(self, run_id: RunId, revision: int) -> StateChanges:
        """Return the changes from a run's checkpoint of ``revision`` to its newest one.

        Raises:
            CheckpointNotFoundError: The run does not exist, or older checkpoints were removed.
        """
        ...

    def events(self, run_id: RunId, *, after: int = 0, limit: int = 1000) -> Sequence[EventBatch]:
        """Return batches of durable events with a sequence above ``after``, in order."""
        ...

    def unpublished(self, limit: int = 100) -> Sequence[EventBatch]:
        """Return batches not marked as published, in order within each run."""
        ...

    def mark_published(self, batches: Sequence[EventBatch]) -> int:
        """Mark batches as published; return how many were not marked before."""
        ...


class Decisions(Protocol):
    """Decisions that no event reports, within a transaction. They are never changed or removed."""

    def add_decisions(self, decisions: Sequence[Decision]) -> None:
        """Record decisions; a decision whose id exists already is skipped."""
        ...

    def decisions(self, *, unpublished: bool = False, limit: int = 1000) -> Sequence[Decision]:
        """Return decisions in the order they were recorded.

        Args:
            unpublished: Only decisions that are not marked as published.
            limit: At most this number.
        """
        ...

    def mark_decisions(self, ids: Sequence[str]) -> None:
        """Mark decisions as published."""
        ...


class LedgerTransaction(Runs, Activations, RunStates, Decisions, Protocol):
    """One transaction: its writes are kept only when it ends without an error."""

    def savepoint(self) -> AbstractContextManager[None]:
        """Begin a part: when the block raises, only the writes of the block are undone."""
        ...

    def apply(self, functions: Sequence[OnCommit]) -> None:
        """Call functions with the session of this transaction, each in its own part.

        A function may commit or roll back on its session: this affects only its own writes.

        Raises:
            NoDatabaseError: The store has no session.
            Exception: The error of a function.
        """
        ...


class LedgerStore(Protocol):
    """Keeps the ledger of one project. Every store passes ``agentic.core.testing.LedgerContract``.

    Its methods block. All of them, and the methods of a transaction, raise :class:`LedgerUnavailableError`
    when the store cannot be reached or used, and :class:`LedgerConflictError` when a transaction must be
    started again.
    """

    def transaction(self) -> AbstractContextManager[LedgerTransaction]:
        """Begin a transaction. Writers take turns, or get a conflict error."""
        ...

    def close(self) -> None:
        """Close the connections of this process."""
        ...
