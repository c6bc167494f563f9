"""The ledger: the authoritative record of runs and activations; all else is told of it, or wakes for it."""

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
    NewRun,
    RunRow,
    Settled,
    StateChanges,
    Step,
)
from agentic.core.types import RunId

OnCommit = Callable[[Any], object]
"""Called with the session of the transaction: an SQLAlchemy ``Session`` in the stores of this project."""


class Runs(Protocol):
    """Runs, within a transaction."""

    def now(self) -> float:
        """Return the store's clock, in seconds since the epoch; no two workers disagree about it."""
        ...

    def add_run(self, new: NewRun) -> RunId:
        """Accept a run; return its id, or that of the run which was accepted with the same idempotency key.

        Raises:
            RunExistsError: Another run has its id.
        """
        ...

    def run(self, run_id: RunId, *, lock: bool = False) -> RunRow | None:
        """Return a run.

        Args:
            run_id: The run.
            lock: Let no other transaction change it, or close an activation of it, until this one ends.
        """
        ...

    def advance(self, run_id: RunId, superstep: int, revision: int, step: Step) -> bool:
        """Write a step, if the run still stands where it stood when the step was decided.

        The run takes over superstep, revision and status of the step's checkpoint, its error and times.
        Activations that are open in the superstep it leaves, or broke off, are skipped, and their claims are
        worth nothing any more.
        Of those that are due now, each executor's first ``lanes`` are pending and the others blocked; those
        with a result are done. One that exists, as its superstep was broken off, is made anew with a higher
        fence. When the run ends, and when it comes to rest, the activation that waits for it is pending.

        A step without activations that stays in a running superstep leaves those of it as they are. A run
        that failed or was cancelled can go on: then it is not to be cancelled any more.

        Returns:
            False when the run stands elsewhere, as somebody else decided. Nothing is written.
        """
        ...

    def request_cancel(self, run_id: RunId, reason: str) -> bool:
        """Ask for a run to be cancelled: nothing of it is claimed any more. False when it has ended."""
        ...

    def pause(self, run_id: RunId, *, is_paused: bool) -> bool:
        """Let nothing of a run be claimed, or let it go on, and be told of anew. False when it has ended."""
        ...

    def note(self, run_id: RunId, note: str | None) -> None:
        """Say why a run does not go on."""
        ...

    def list_runs(
        self, *, statuses: Collection[RunStatus] | None = None, workflow: str | None = None, limit: int = 50
    ) -> Sequence[RunRow]:
        """Return runs, the newest first; those of one moment come in any order."""
        ...

    def children(self, run_id: RunId) -> Sequence[RunRow]:
        """Return the child runs of a run that have not ended."""
        ...

    def neglected_runs(self, *, cancel_grace_s: float, limit: int = 100) -> Sequence[RunRow]:
        """Return runs that somebody has to decide about, as whoever should have done so is gone.

        Those whose superstep has no open activation; whose deadline, or that of a request, has passed; that
        are to be cancelled and of which nothing runs, or it was asked for more than ``cancel_grace_s`` ago.
        """
        ...


class Activations(Protocol):
    """Activations, within a transaction."""

    def claim(
        self, activation_id: ActivationId, worker: str, lease_s: float, *, waits: bool = True
    ) -> Claimed | None:
        """Take an activation, if it may run now.

        It has to be pending, and its ``not_before`` past; its run has to be running, at this superstep,
        neither paused nor to be cancelled; and fewer activations have to be running than its run, and its
        project, allow.

        Args:
            activation_id: Which one.
            worker: Who claims it.
            lease_s: How long the claim lasts unless it is extended.
            waits: Whether to wait for who decides about its run at this moment; else it may not run now.

        Returns:
            None when it may not. Drop the message that told of it.
        """
        ...

    def first_in_line(self, queue: str, limit: int = 1) -> Sequence[ActivationId]:
        """Return what goes first of what is due in a queue, the best first.

        The order is that of :meth:`claimable`. Whether a limit forbids to claim it is not looked at, so that
        this takes next to no time, however many there are.
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
        """Return what could be claimed now, the best first.

        The highest priority goes first, then the run that began first: a child run began when the outermost
        one around it did. So what is under way ends before new runs begin.

        Args:
            queues: Of these queues.
            run_id: Of this run.
            above: Of a higher priority than this.
            limit: No more than this.
        """
        ...

    def extend(self, leases: Sequence[Lease], lease_s: float) -> Sequence[LeaseState]:
        """Extend leases; return what was found of each, in order."""
        ...

    def settle(self, lease: Lease, settled: Settled) -> bool:
        """Say what becomes of a claimed activation.

        When one is closed, the next blocked one of its executor is pending, or all of them are skipped. One
        that waits for a child run is its parent from then on; if that does not run, it is pending at once.

        Returns:
            False when the lease is worth nothing any more. Undo what belongs to it.
        """
        ...

    def keep_effect(self, lease: Lease, origin: str, key: str, text: str) -> bool:
        """Record what a call came to that must not be repeated. False when the lease is worth nothing.

        Args:
            lease: Of the activation that called.
            origin: Name of the activation's first entry; effects belong to it.
            key: Names the call within the activation.
            text: What it came to, as JSON.
        """
        ...

    def effects(self, run_id: RunId, origin: str) -> Mapping[str, str]:
        """Return what was recorded of calls, by key."""
        ...

    def has_open(self, run_id: RunId, superstep: int) -> bool:
        """Whether a superstep waits for an activation still."""
        ...

    def outcomes(self, run_id: RunId, superstep: int) -> Sequence[ActivationOutcome]:
        """Return the closed activations of a superstep, in planner order."""
        ...

    def activation(self, activation_id: ActivationId, *, lock: bool = False) -> ActivationRow | None:
        """Return an activation.

        Args:
            activation_id: Which one.
            lock: Let no other transaction change it, or extend its lease, until this one ends.
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
        """Let an activation that waits for a person run again. False when it does not."""
        ...

    def mark_dispatched(self, ids: Collection[ActivationId], *, is_dispatched: bool = True) -> None:
        """Note that workers were told of activations now, or that they have to be told anew."""
        ...

    def undispatched(self, *, older_than_s: float, limit: int = 100) -> Sequence[Dispatchable]:
        """Return pending activations that are due and no worker was told of for so long, the best first."""
        ...


class RunStates(Protocol):
    """Checkpoints and events, within a transaction; :meth:`Runs.advance` writes them."""

    def load(self, run_id: RunId) -> StoredCheckpoint:
        """Return a run's newest checkpoint.

        Raises:
            CheckpointNotFoundError: There is no such run.
        """
        ...

    def changes_since(self, run_id: RunId, revision: int) -> StateChanges:
        """Return what a run's newest checkpoint has that the one of ``revision`` had not.

        Raises:
            CheckpointNotFoundError: There is no such run, or older checkpoints were removed.
        """
        ...

    def events(self, run_id: RunId, *, after: int = 0, limit: int = 1000) -> Sequence[EventBatch]:
        """Return batches of durable events with a sequence above ``after``, in order."""
        ...

    def unpublished(self, limit: int = 100) -> Sequence[EventBatch]:
        """Return batches that nobody noted as published, those of a run in order."""
        ...

    def mark_published(self, batches: Sequence[EventBatch]) -> int:
        """Note that batches were published; return how many of them nobody had noted before."""
        ...


class Decisions(Protocol):
    """Decisions that no event tells of, within a transaction. None is ever changed, or removed."""

    def add_decisions(self, decisions: Sequence[Decision]) -> None:
        """Write decisions down; one whose id is there already is left out."""
        ...

    def decisions(self, *, unpublished: bool = False, limit: int = 1000) -> Sequence[Decision]:
        """Return decisions in the order they were written down.

        Args:
            unpublished: Only those that nobody noted as published.
            limit: No more than this.
        """
        ...

    def mark_decisions(self, ids: Sequence[str]) -> None:
        """Note that decisions were published."""
        ...


class LedgerTransaction(Runs, Activations, RunStates, Decisions, Protocol):
    """One transaction: what is written in it is kept when it ends well, and else not at all."""

    def part(self) -> AbstractContextManager[None]:
        """Begin a part: when the block raises, what was written in it is undone, and nothing before it."""
        ...

    def apply(self, functions: Sequence[OnCommit]) -> None:
        """Call functions with the session of this transaction, each in a part of its own.

        A function may commit or roll back on its session: that touches only what it wrote itself.

        Raises:
            NoDatabaseError: The store has no session to give.
            Exception: What a function raised.
        """
        ...


class LedgerStore(Protocol):
    """Keeps the ledger of one project. Every store passes ``agentic.core.testing.LedgerContract``.

    Its methods block. All of them, and those of a transaction, raise :class:`LedgerUnavailableError` when
    the store cannot be reached or used, and :class:`LedgerConflictError` when a transaction has to be begun
    again.
    """

    def transaction(self) -> AbstractContextManager[LedgerTransaction]:
        """Begin a transaction. Those that write take turns, or are told of a conflict."""
        ...

    def close(self) -> None:
        """Close the connections of this process."""
        ...
