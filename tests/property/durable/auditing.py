"""A ledger in memory that notes what changes in it, and takes rows that join its transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from agentic.core.ledger import (
    ActivationId,
    Claimed,
    Lease,
    LedgerStep,
    LedgerTransaction,
    MemoryLedger,
    NewRun,
    OnCommit,
    RunRow,
    Settled,
)
from agentic.core.ledger.memory import _Transaction
from agentic.core.ledger.memory_rows import Rows
from agentic.core.types import RunId


@dataclass(frozen=True)
class Stepped:
    """A run began, or went on.

    Attributes:
        at: When.
        step: What was written.
        has_open: Whether something is open now in the superstep where the run stands.
    """

    at: float
    step: LedgerStep
    has_open: bool


@dataclass(frozen=True)
class Taken:
    """An activation was claimed.

    Attributes:
        at: When.
        lease: Of the claim.
        around: Its run, the run around that one, and so on.
        running_count: Claims there are now, over all runs.
    """

    at: float
    lease: Lease
    around: Sequence[RunRow]
    running_count: int


@dataclass(frozen=True)
class Closed:
    """A claim was settled.

    Attributes:
        at: When.
        lease: Of the claim.
        settled: What became of it.
        lease_until: When it would have ended.
    """

    at: float
    lease: Lease
    settled: Settled
    lease_until: float


@dataclass(frozen=True)
class Recorded:
    """What an activation's call of ``ctx.once`` came to was recorded."""

    at: float
    key: str


@dataclass(frozen=True)
class Called:
    """An activation did what it does through ``ctx.once``."""

    at: float
    key: str


Change = Stepped | Taken | Closed | Recorded | Called


class Row(NamedTuple):
    """What a function wrote that joined a transaction."""

    kind: str
    text: str


class Session:
    """What functions write to that join a transaction; what is undone with it leaves no row.

    Attributes:
        rows: What was kept.
    """

    def __init__(self, ledger_rows: Rows) -> None:
        self._journal = ledger_rows.journal
        self.rows: list[Row] = []

    def add(self, row: Row) -> None:
        """Write a row."""
        self.rows.append(row)
        self._journal.add(partial(self.rows.__delitem__, -1))


class AuditedLedger(MemoryLedger):
    """Notes every change that was kept.

    Attributes:
        changes: They, in order.
        session: What functions that join a transaction are given.
    """

    def __init__(self, clock: Callable[[], float], *, max_running: int | None = None) -> None:
        super().__init__(clock, max_running=max_running)
        self.changes: list[Change] = []
        self.session = Session(self._rows)

    @contextmanager
    def transaction(self) -> Iterator[LedgerTransaction]:
        """Begin a transaction."""
        with super().transaction():
            yield _Audited(self._rows, self)


class _Audited(_Transaction):
    def __init__(self, rows: Rows, ledger: AuditedLedger) -> None:
        super().__init__(rows)
        self._ledger = ledger

    def add_run(self, new: NewRun) -> RunId:
        count = len(self._rows.runs)
        run_id = super().add_run(new)
        if len(self._rows.runs) > count:
            self._note_step(new.step)
        return run_id

    def advance(self, run_id: RunId, superstep: int, revision: int, step: LedgerStep) -> bool:
        is_written = super().advance(run_id, superstep, revision, step)
        if is_written:
            self._note_step(step)
        return is_written

    def claim(
        self, activation_id: ActivationId, worker: str, lease_s: float, *, waits: bool = True
    ) -> Claimed | None:
        claimed = super().claim(activation_id, worker, lease_s, waits=waits)
        if claimed is not None:
            running_count = self._rows.activations.count("running")
            around = list(self._around(activation_id.run_id))
            self._note(Taken(self.now(), claimed.lease, around, running_count))
        return claimed

    def settle(self, lease: Lease, settled: Settled) -> bool:
        row = self.activation(lease.id)
        is_settled = super().settle(lease, settled)
        if is_settled and row is not None:
            self._note(Closed(self.now(), lease, settled, row.lease_until or 0.0))
        return is_settled

    def keep_effect(self, lease: Lease, origin: str, key: str, text: str) -> bool:
        is_kept = super().keep_effect(lease, origin, key, text)
        if is_kept:
            self._note(Recorded(self.now(), f"{lease.id.run_id}:{origin}"))
        return is_kept

    def apply(self, functions: Sequence[OnCommit]) -> None:
        """Call functions with the session, each in a part of its own."""
        for function in functions:
            with self.savepoint():
                function(self._ledger.session)

    def _around(self, run_id: RunId) -> Iterator[RunRow]:
        run = self.run(run_id)
        while run is not None:
            yield run
            run = None if run.parent is None else self.run(run.parent.run_id)

    def _note_step(self, step: LedgerStep) -> None:
        metadata = step.checkpoint.metadata
        self._note(Stepped(self.now(), step, self.has_open(metadata.run_id, metadata.superstep)))

    def _note(self, change: Change) -> None:
        changes = self._ledger.changes
        changes.append(change)
        self._rows.journal.add(partial(changes.__delitem__, -1))
